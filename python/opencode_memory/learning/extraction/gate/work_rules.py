"""Rules about things of the work: "all migrations must …", "commits should never …", "no … without asking me"."""

from __future__ import annotations

import re
from typing import Final

from opencode_memory.learning.extraction.gate.subjects_of_work import is_about_work
from opencode_memory.learning.extraction.gate.verdict import Verdict, make_verdict
from opencode_memory.learning.extraction.gate.work_at_hand import is_complaint
from opencode_memory.models import Category

_CONSENT: Final = re.compile(
    r"\b(?:don'?t|do not|never|no)\b.{3,120}\b(?:without (?:asking|telling|checking with|consulting|my|me|first|"
    r"explicit|permission|approval|consent|confirmation)|unless (?:i|you|explicitly|asked|told|requested|we)\b|"
    r"until i (?:say|tell|approve|confirm|ask))",
    re.IGNORECASE,
)
_NAMED_RULE: Final = re.compile(
    r"\b(?:our|the team'?s|my|house|the project'?s|this project'?s) (?:\w+ ){0,2}?(?:rule|convention|policy|"
    r"standard|style ?guide|guideline|practice|workflow|naming scheme)s?\b(?: (?:on|for|about|of|"
    r"in) [\w -]{2,40})?\s*(?:is|are|says|requires?|:)\s",
    re.IGNORECASE,
)
_AUTHORING: Final = re.compile(
    r"\b(?:all|every|each|any)(?: new| future)? (?:[\w./-]+ ){1,3}(?:should|must|need to|needs to|has to|have to|"
    r"shall) (?:always |only )?be (?:written|named|placed|stored|kept|typed|tested|documented|formatted|committed|"
    r"reviewed|prefixed|put|implemented|validated|covered)\b"
    r"|^(?:please )?(?:use|write|put|keep|name|store) .{2,60} (?:for|in) (?:all|every|any) (?:new|future) \w+",
    re.IGNORECASE,
)
_NO_X: Final = re.compile(
    r"^no (?!error|issue|problem|change|need|idea|such|difference)[\w -]{2,40} (?:in|on|for) .{2,40}\b(?:ever|"
    r"please|at all|anywhere|period)\W*$",
    re.IGNORECASE,
)
_WORK_RULE: Final = re.compile(
    r"^(?P<subject>.{2,60}?)\s+(?:should|must|shall|has to|have to|need to|needs to|can|may|will|is to|"
    r"are to)\s+(?:always|never|only ever|only|not ever|at all times)\b",
    re.IGNORECASE,
)
_NOT_FOR: Final = re.compile(
    r"\b(?:should|must) (?:not|never) be used (?:to|for|as|in|with|outside|by)\b|\b(?:shouldn'?t|mustn'?t) be used "
    r"(?:to|for|as|in|with|outside|by)\b",
    re.IGNORECASE,
)
_BEHAVES: Final = re.compile(
    r"\b(?:always|never|only) (?:be )?(?:return|show|load|fetch|exit|display|work|match|start|handle|send|receive|"
    r"accept|get|give|see|wait|call|fire|throw|fail|pass|render|visible|called|null|empty|shown|"
    r"loaded|executed|triggered|ready|true|false|available|positive|negative|running|selected|enabled|disabled|"
    r"open|closed|sent|returned)\w*\b",
    re.IGNORECASE,
)
"""A behaviour of the program, "the query should always return a row", and no rule about how to write it."""
_WORK_STATE: Final = re.compile(
    r"^(?P<subject>.{2,60}?) (?:is|are) (?:always|never) (?:written|named|stored|kept|formatted|generated|"
    r"reviewed|squashed|rebased|tagged|versioned|committed|merged|signed)\b",
    re.IGNORECASE,
)
_ALL: Final = re.compile(
    r"^(?:for )?(?:all|every|each|any)(?: new)? (?P<subject>(?:[\w./-]+ ){0,2}[\w./-]+),? (?:must|should|"
    r"needs? (?:to|an?)|ha(?:s|ve) to|shall|goes|go|lives?|use|uses|we use|use|are written|is written|start|"
    r"starts)\b(?! (?:work|pass|be (?:fixed|green|working)|show|still))",
    re.IGNORECASE,
)
_REASONED: Final = re.compile(
    r"^(?:please |also |and )*(?:do not|don'?t|never|avoid) [a-z].{6,120}?[,;–—-]\s*(?:because |since |as |"
    r"otherwise |so (?:that )?)?(?:we|our)(?:'re|'ll| are| do| don'?t| want| need| have| use| rely| lose)\b",
    re.IGNORECASE,
)


def find_work_rule(sentence: str) -> Verdict | None:
    """Return the rule about things of the work that a sentence states."""
    if _CONSENT.search(sentence):
        return make_verdict(Category.CONVENTION, "needs consent", sentence)
    if _NAMED_RULE.search(sentence):
        return make_verdict(Category.CONVENTION, "rule of the team", sentence)
    if is_complaint(sentence):
        return None
    rule = _WORK_RULE.search(sentence) or _WORK_STATE.search(sentence) or _ALL.search(sentence)
    is_rule = _AUTHORING.search(sentence) or (_NO_X.search(sentence) and is_about_work(sentence))
    if is_rule or (rule and is_about_work(rule["subject"]) and not _BEHAVES.search(sentence)):
        return make_verdict(Category.CONVENTION, "rule about the work", sentence)
    if _NOT_FOR.search(sentence):
        return make_verdict(Category.CONVENTION, "rule about the work", sentence)
    if _REASONED.search(sentence):
        return make_verdict(Category.CONVENTION, "prohibition with a reason", sentence)
    return None
