"""Standing orders: orders and habits with a word of time or generality, for example "always run the linter".

The same words stand in complaints ("it never loads", "always shows 0") and in requirements for the product ("the button
should always be blue"). Therefore a form needs more than the word: an imperative, a subject of the team (you, we, I),
or a subject that belongs to the work, such as commits or tests.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from opencode_memory.learning.extraction.gate.subjects_of_work import is_about_product, is_about_work
from opencode_memory.learning.extraction.gate.verdict import Verdict
from opencode_memory.learning.extraction.gate.work_at_hand import is_about_work_at_hand, is_complaint
from opencode_memory.models import Category

_NO_ORDER: Final = (
    r"(?:see|sees|get|gets|hit|hits|reach|hear|know|knew|receive|find|finds|load|loads|work|works|show|appear|match|end|ends|seem|seen|been|gone|had|has|have|was|were|is|are|did|does|said|asked|told|"
    r"wanted|used|happen|notice|think|thought|made|came|went|got|saw|found|became|understood|understand|forget|mind|ever|quite|really|on|off|the|a|an|in|at|as|so|to|going|feel|run into|happy|welcome|there|here|\w+ed|\w+ing|(?!focus)\w+[^su]s)\b"
)
_VERB: Final = rf"(?!{_NO_ORDER})[a-z][a-z'-]+"
_START: Final = r"(?:^|[:;,(–—]\s*|\.\s+|\bplease\s+)"
_LEAD: Final = (
    r"(?:(?:and|oh|btw|also|so|but|then|please|pls|just|ok|yes|no|again|general rule|important|it(?:'s| is) (?:very |really )?(?:important|essential|crucial) (?:that|to)|remember to|be sure to|make sure (?:to|you|that you|we|that we)|try to|"
    r"(?:you|u|we|agents?|claude|cursor|everyone) (?:should|must|need to|have to|shall|are to|can|will)|i want you to|i need you to|i'd like you to|can you|could you|you|u)[,:]?\s+)*"
)
_ALWAYS: Final = r"(?:always|never|never ever|don'?t ever|do not ever|under no circumstances|at all times)"
_FROM_NOW: Final = (
    r"(?:from now on|from now onwards?|from here on(?: out)?|going forwards?|moving forwards?|from this point (?:on|forward)|henceforth|in (?:the )?future|next time|as a (?:general )?rule|"
    r"(?:in|for|across) all (?:of )?(?:my|our) projects|for future (?:tasks|sessions|changes|work|commits|prs)|in every session)"
)
_EACH_TIME: Final = r"(?:every ?time|each time|whenever|any ?time)"

_ORDER: Final = re.compile(rf"{_START}{_LEAD}{_ALWAYS},?\s+(?:please )?(?P<verb>{_VERB})", re.IGNORECASE)
_OPENS_AS_ORDER: Final = re.compile(
    rf"^{_LEAD}(?:always|never|don'?t|do not|no\b|use|run|you|u|we|i|please|only|avoid|under|at all|from|in (?:the )?future|going|for|when|whenever|every|each|before|after|general|global|new rule|rule)\b",
    re.IGNORECASE,
)
"""Beginning of a sentence whose later clause may be an order. In "add a workflow; never from forks" the clause is a detail."""
_TASK: Final = re.compile(
    r"^(?:(?:please|now|then|also|can you|could you|i want you to|let'?s)[,:]? )*(?:write|implement|create|build|generate|draft|design|fix|refactor|spec|add|translate|summari[sz]e|explain)\b(?! (?:a |an |another |this |that |the )?(?:\w+ )?(?:rule|guideline|instruction|docstring|test|type)s?\b)|\bthat(?:'s| is) the (?:bug|problem|issue|reason)\b",
    re.IGNORECASE,
)
_WE: Final = re.compile(
    rf"\b(?:we|you)(?:'ll| will| should| must| shall| can| do| need to| want to| have to| would)?\s+(?:be )?(?:basically |really |almost |just )?(?:always|never)\s+(?:be )?(?P<verb>(?!{_NO_ORDER})[a-z]+|be \w+ing|\w+ing)"
    r"|\bi (?:always|never) (?:use|want|prefer|commit|write|push|deploy|test|run|put|keep|name|merge|squash|rebase|review|indent|format|sign|store)\b",
    re.IGNORECASE,
)
_MODAL_BE: Final = re.compile(
    r"\bwe (?:should|must|shall|can|will|want to|need to) (?:always|never) be\b|\bwe (?:should|must) (?:always|never) have\b|\b(?:you|we) should(?:n'?t| not) be \w+ing\b",
    re.IGNORECASE,
)
_NOW_ON: Final = re.compile(rf"\b{_FROM_NOW}\b", re.IGNORECASE)
_TEAM: Final = re.compile(
    rf"^{_LEAD}{_FROM_NOW}[,:]?\s+(?:please |let'?s |we(?:'ll| will|'re going to| should| must| are going to| gonna)? |you (?:should|must|will|can) |i(?:'d like| want) (?:you|us) to |i want |i prefer |always |never |don'?t |do not |only |make sure |all |every )*"
    rf"(?!i\b|it\b|there\b|you\b|they\b|he\b|she\b|the\b|this\b|that\b|if\b|is\b|my\b|our\b|a\b|an\b|and\b|but\b|so\b|as\b|in\b|on\b|to\b|of\b|more\b|no\b)[a-z][a-z'-]+",
    re.IGNORECASE,
)
_TAIL_OF_ORDER: Final = re.compile(
    rf"^{_LEAD}(?:(?:please|let'?s|don'?t|do not|use|run|ask|tell|show|make|keep|write|put|add|commit|check|avoid|only|stop|work|read|call|name|store|save|test|create|give|include|prefix|follow|treat|stick|respond|answer|reply|skip|wait|verify|update|document|start|split|prefer|format|leave|do|go|consider|focus|limit|assume)\b|we (?:should|must|will|want to|need to|have to|use|do|are going to|gonna|'ll|keep|only|don'?t|do not|always)\b).*\b(?:{_FROM_NOW}|at all times|every ?time|each time|always|ever again|no matter what|any ?more)[\s.!,)]*(?:please)?\W*$",
    re.IGNORECASE,
)
_MOMENT: Final = r"(?!'re|'ve|are\b|have\b|were\b|had\b|finish|complete|get\b|start|begin|continue|proceed|do\b|make\b|code\b|go\b|implement\b|move\b|answer\b|fix|last\b|first\b|can\b|could\b)"
"""Verbs after "when you …" that name this moment instead of a recurring one: "when you are done"."""
_WHENEVER: Final = re.compile(
    rf"^{_LEAD}(?:{_EACH_TIME}|before|after|when|if) (?:you|we) {_MOMENT}[^,]{{2,80}},\s*(?:then |please )*(?:always |never |do not |don'?t |you (?:should|must|need to|have to) |make sure |can you |could you |i want you to |i'd like you to )"
    rf"|^{_LEAD}{_EACH_TIME} (?:you|we) [^,]{{2,80}},\s*(?:then |please |we (?:should|must|always|will) )*(?!i\b|it\b|the\b|there\b|this\b|that\b|they\b|we\b|you\b|what\b|why\b|my\b|our\b|a\b|nothing\b|all\b){_VERB}",
    re.IGNORECASE,
)
_GENERIC_MOMENT: Final = re.compile(
    rf"^{_LEAD}when(?:ever)? (?:you|we) (?:explain|write|show|answer|refactor|name|commit|respond|summari[sz]e|review|create|add|report|propose|suggest|test|build|deploy|change|work with|working with|touch|edit|use|call|run|log|import|document|generate|need) "
    rf"(?:(?!\b(?:the|this|that|these|those|it|them|one)\b)[^,]){{2,70}},\s*(?:then |please )*(?!i\b|it\b|the\b|there\b|this\b|that\b|they\b|we\b|you\b|what\b|why\b|my\b|our\b|a\b|an\b|nothing\b|all\b|some\b|sometimes\b|can\b|could\b){_VERB}"
    rf"|^{_LEAD}when working (?:with|on|in) (?:(?!\b(?:the|this|that|these|those|it)\b)[^,]){{2,60}},\s*(?:please )?{_VERB}"
    rf"|^{_LEAD}(?:before|after|for|on) (?:any|every|each)(?: new)? [^,]{{3,60}}?,? (?:always |please |first )*(?:show|run|ask|tell|check|make|wait|write|read|add|create|update|commit|verify|test|explain|confirm|do not|don'?t|never)\b",
    re.IGNORECASE,
)
"""A recurring moment: the clause names things of a kind ("when you write tests"), not one thing ("when you fix the test")."""
_CONSENT: Final = re.compile(
    r"\b(?:don'?t|do not|never|no)\b.{3,120}\b(?:without (?:asking|telling|checking with|consulting|my|me|first|explicit|permission|approval|consent|confirmation)|unless (?:i|you|explicitly|asked|told|requested|we)\b|until i (?:say|tell|approve|confirm|ask))",
    re.IGNORECASE,
)
_NAMED_RULE: Final = re.compile(
    r"\b(?:our|the team'?s|my|house|the project'?s|this project'?s) (?:\w+ ){0,2}?(?:rule|convention|policy|standard|style ?guide|guideline|practice|workflow|naming scheme)s?\b(?: (?:on|for|about|of|in) [\w -]{2,40})?\s*(?:is|are|says|requires?|:)\s",
    re.IGNORECASE,
)
_LIKES: Final = re.compile(
    r"\bi(?:'m| am) (?:really )?not a (?:big |huge )?fan of (?!this|that|the|it|how)\w|\bi (?:like|want|prefer) my (?P<subject>[\w ]{3,40})|^(?:please )?stop \w+ing (?!this|that|it)(?:\w.{3,80})?\b(?:when(?:ever)? i|every ?time|each time|all the time|unless)\b",
    re.IGNORECASE,
)
_WANT: Final = re.compile(
    rf"\b(?:i|we)(?: would|'d)? (?:want|like|expect|need|prefer)\b(?:(?!\bmay\b|\bmight\b).)*\b(?:{_EACH_TIME}|each and every|always|at all times|from now on)\b|"
    r"\bi (?:don'?t|do not) want\b.{3,80}\bever\W*$|\bi (?:basically |really )?(?:never|do(?: not|n'?t) ever) want\b|\bi (?:don'?t|do not) (?:ever )?want (?:you|us|claude|cursor|the ai|the agent|agents)\b|\bmake sure (?:that )?(?:.{3,80}) (?:each|every) time\b",
    re.IGNORECASE,
)
_WORK_RULE: Final = re.compile(
    r"^(?P<subject>.{2,60}?)\s+(?:should|must|shall|has to|have to|need to|needs to|can|may|will|is to|are to)\s+(?:always|never|only ever|only|not ever|at all times)\b",
    re.IGNORECASE,
)
_ALL: Final = re.compile(
    r"^(?:for )?(?:all|every|each|any)(?: new)? (?P<subject>(?:[\w./-]+ ){0,2}[\w./-]+),? (?:must|should|needs? (?:to|an?)|ha(?:s|ve) to|shall|goes|go|lives?|use|uses|we use|use|are written|is written|start|starts)\b(?! (?:work|pass|be (?:fixed|green|working)|show|still))",
    re.IGNORECASE,
)
_IN_PROJECT: Final = re.compile(
    r"^in (?:this|our) (?:project|repo(?:sitory)?|codebase|code base|monorepo|team|company),? (?!i\b|can\b|could\b|there\b|it\b|please (?!use)|add\b|create\b|fix\b|make\b|change\b|we (?:need|want|see|get|can|could)\b)\w"
    r"|^all .{3,80}\b(?:is|are) .{3,80}\bnever\b|\b(?:in|for|across|throughout) (?:this|our|the whole|the entire) (?:project|repo(?:sitory)?|codebase|code base|team|monorepo|organi[sz]ation),? (?:we|all|every|always|never|use|please use|you (?:should|must))\b"
    r"|\bwe (?:use|write|store|format|name|call|prefer|avoid|follow|test|deploy|commit|never|always|only|don'?t|do not)\b.{3,80}\b(?:(?:in|across|throughout) (?:this|our|the whole|the entire) (?:project|repo(?:sitory)?|codebase|code base|monorepo)|everywhere)\b",
    re.IGNORECASE,
)
_AUTHORING: Final = re.compile(
    r"\b(?:all|every|each|any)(?: new| future)? (?:[\w./-]+ ){1,3}(?:should|must|need to|needs to|has to|have to|shall) (?:always |only )?be (?:written|named|placed|stored|kept|typed|tested|documented|formatted|committed|reviewed|prefixed|put|implemented|validated|covered)\b"
    r"|^(?:please )?(?:use|write|put|keep|name|store) .{2,60} (?:for|in) (?:all|every|any) (?:new|future) \w+",
    re.IGNORECASE,
)
_WORK_STATE: Final = re.compile(
    r"^(?P<subject>.{2,60}?) (?:is|are) (?:always|never) (?:written|named|stored|kept|formatted|generated|reviewed|squashed|rebased|tagged|versioned|committed|merged|signed)\b",
    re.IGNORECASE,
)
_NO_X: Final = re.compile(
    r"^no (?!error|issue|problem|change|need|idea|such|difference)[\w -]{2,40} (?:in|on|for) .{2,40}\b(?:ever|please|at all|anywhere|period)\W*$",
    re.IGNORECASE,
)
_WHEN_I_SAY: Final = re.compile(
    rf"^{_LEAD}(?:{_EACH_TIME}|when|if) i (?:say|type|write|ask (?:you|for)|tell you)\b.{{2,80}}?(?:,| then| you) (?!it\b|the\b|i (?!mean)|there\b|nothing\b|they\b|that\b)[a-z]",
    re.IGNORECASE,
)
_FOR_NOW: Final = re.compile(r"\s*\bfor now\b", re.IGNORECASE)
_HERE: Final = re.compile(r"(?<=\w)(?: over)? here\b(?=\W|$)", re.IGNORECASE)
_HABIT: Final = re.compile(r"\bwe (?:always|never|only|use|don'?t|do not|keep|write)\b", re.IGNORECASE)
_THOSE: Final = re.compile(r"(?<=\bnever want )(?:to see |to get )?(?:those|these)\b", re.IGNORECASE)
_PREFERRED: Final = re.compile(
    r"\b(?:is|are) (?:the |our |my |always |generally |strongly |much )*preferred\b|\b(?:preferred|recommended) (?:approach|way|method|style|tool|option|pattern|format|choice) (?:is|for)\b",
    re.IGNORECASE,
)
_BY_DEFAULT: Final = re.compile(
    r"\bwe(?:'ll| will| should| want to)? by default\b|\bwe (?:use|run|deploy|write|commit|go|test|build|do)\b.*\bby default\b|^by default,? (?:we|you|use|run|write|assume|always)\b|^use .+ by default\b",
    re.IGNORECASE,
)
_NO_MATTER: Final = re.compile(
    r"\b(?:no matter what|under no circumstances?)\b.*\b(?:don'?t|do not|never|must|should|always)\b|\b(?:don'?t|do not|never)\b.*\b(?:no matter what|under (?:no|any) circumstances?)\b",
    re.IGNORECASE,
)
_ONLY: Final = re.compile(
    r"\bwe(?:'ll| will| should| must|'re| are)? only (?:ever )?(?:use|using|support|supporting|target|targeting|deploy|deploying|ship|shipping|allow|accept|merge|release|test|testing|write|commit|publish|run)\b",
    re.IGNORECASE,
)
_REASONED: Final = re.compile(
    r"^(?:please |also |and )*(?:do not|don'?t|never|avoid) [a-z].{6,120}?[,;–—-]\s*(?:because |since |as |otherwise |so (?:that )?)?(?:we|our)(?:'re|'ll| are| do| don'?t| want| need| have| use| rely| lose)\b",
    re.IGNORECASE,
)
_OF_TEAM: Final = re.compile(r"^(?:(?:so|and|but|then|also)\s+)*(?:we|i)\b", re.IGNORECASE)
_CLAUSE_PLACE: Final = re.compile(r"\b(?:exclusively|only) (?:in|on|inside|within)\b", re.IGNORECASE)
_GLOBAL: Final = re.compile(
    r"\b(?:global(?:ly)? (?:rule|preference)|(?:in|for|across) all (?:of )?(?:my|our) (?:projects|repos|repositories))\b",
    re.IGNORECASE,
)


def find_standing_order(sentence: str) -> Verdict | None:
    """Return the standing order that a sentence states, if any."""
    # "We only test on SQLite for now" is a choice; any other sentence with "for now" is about the work at hand.
    lasting = _FOR_NOW.sub("", sentence) if _ONLY.search(sentence) else sentence
    # "We always use tabs here": here is the project.
    placed = _HERE.sub("", lasting) if _HABIT.search(lasting) else lasting
    if is_about_work_at_hand(_THOSE.sub("", placed)) or _TASK.search(sentence):
        return None
    verdict = next(_find_forms(lasting), None)
    if verdict is None or lasting == sentence:
        return verdict
    return replace(verdict, category=Category.DECISION, text=sentence)


def is_global(text: str) -> bool:
    """Return whether a person wants something in all projects."""
    return bool(_GLOBAL.search(text))


def _find_forms(sentence: str) -> Iterator[Verdict]:
    order = (
        (_ORDER.search(sentence) if _OPENS_AS_ORDER.match(sentence) else None)
        or _TEAM.search(sentence)
        or _WHENEVER.search(sentence)
        or _GENERIC_MOMENT.search(sentence)
        or _WHEN_I_SAY.search(sentence)
        or _TAIL_OF_ORDER.search(sentence)
    )
    if order and not (is_about_product(sentence) and not is_about_work(sentence)):
        # An order that names a place, "work only in the app folder", holds until the next such order.
        is_local = _CLAUSE_PLACE.search(sentence) or _OF_TEAM.search(sentence)
        category = Category.CONVENTION if is_local else Category.DIRECTIVE
        yield _verdict(category, "standing order", sentence)
    if _NO_MATTER.search(sentence):
        yield _verdict(Category.CONVENTION, "standing order", sentence)
    if is_about_product(sentence) and not is_about_work(sentence):
        return
    if _WANT.search(sentence):
        yield _verdict(Category.PREFERENCE, "lasting wish", sentence)
    if (
        _WE.search(sentence)
        or _MODAL_BE.search(sentence)
        or _ONLY.search(sentence)
        or _BY_DEFAULT.search(sentence)
        or (_IN_PROJECT.search(sentence) and not is_complaint(sentence))
    ):
        yield _verdict(Category.CONVENTION, "habit of the team", sentence)
    likes = _LIKES.search(sentence)
    if likes and (likes["subject"] is None or is_about_work(likes["subject"])):
        yield _verdict(Category.PREFERENCE, "lasting wish", sentence)
    if _CONSENT.search(sentence):
        yield _verdict(Category.CONVENTION, "needs consent", sentence)
    if _NAMED_RULE.search(sentence):
        yield _verdict(Category.CONVENTION, "rule of the team", sentence)
    if _PREFERRED.search(sentence):
        yield _verdict(Category.PREFERENCE, "preferred way", sentence)
    if is_complaint(sentence):
        return
    if _AUTHORING.search(sentence) or (_NO_X.search(sentence) and is_about_work(sentence)):
        yield _verdict(Category.CONVENTION, "rule about the work", sentence)
    rule = _WORK_RULE.search(sentence) or _WORK_STATE.search(sentence) or _ALL.search(sentence)
    if rule and is_about_work(rule["subject"]):
        yield _verdict(Category.CONVENTION, "rule about the work", sentence)
    if _REASONED.search(sentence):
        yield _verdict(Category.CONVENTION, "prohibition with a reason", sentence)


def _verdict(category: Category, rule: str, sentence: str) -> Verdict:
    return Verdict(category=category, rule=rule, text=sentence, is_global=is_global(sentence))
