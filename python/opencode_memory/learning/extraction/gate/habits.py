"""Habits, wishes and limits: "we always …", "in this project …", "I want … every time", "we do not support …"."""

from __future__ import annotations

import re
from typing import Final

from opencode_memory.learning.extraction.gate.fragments import EACH_TIME, NO_ORDER
from opencode_memory.learning.extraction.gate.subjects_of_work import is_about_work
from opencode_memory.learning.extraction.gate.verdict import Verdict, make_verdict
from opencode_memory.learning.extraction.gate.work_at_hand import is_complaint
from opencode_memory.learning.extraction.subjects import find_alternatives
from opencode_memory.models import Category

_WE: Final = re.compile(
    r"\b(?:we|you(?= (?:will|should|must|shall|can|need|have)\b))(?:'ll| will| should| must| shall| can| do|"
    r" need to| want to| have to|"
    r" would)?\s+(?:be )?(?:basically |really |almost |just )?(?:always|"
    rf"never)\s+(?:be )?(?P<verb>(?!{NO_ORDER})[a-z]+|be \w+ing|\w+ing)"
    r"|\bi (?:always|never) (?:use|want|prefer|commit|write|push|deploy|test|run|put|keep|name|merge|squash|"
    r"rebase|review|indent|format|sign|store)\b",
    re.IGNORECASE,
)
_MODAL_BE: Final = re.compile(
    r"\bwe (?:should|must|shall|can|will|want to|need to) (?:always|never) be\b|\bwe (?:should|must) (?:always|"
    r"never) have\b|\b(?:you|we) should(?:n'?t| not) be \w+ing\b",
    re.IGNORECASE,
)
_ONLY: Final = re.compile(
    r"\bwe(?:'ll| will| should| must|'re| are)? only (?:ever )?(?:use|using|support|supporting|target|targeting|"
    r"deploy|deploying|ship|shipping|allow|accept|merge|release|test|testing|write|commit|publish|run)\b",
    re.IGNORECASE,
)
_BY_DEFAULT: Final = re.compile(
    r"\bwe(?:'ll| will| should| want to)? by default\b|\bwe (?:use|run|deploy|write|commit|go|test|build|"
    r"do)\b.*\bby default\b|^by default,? (?:we|you|use|run|write|assume|always)\b|^use .+ by default\b",
    re.IGNORECASE,
)
_IN_PROJECT: Final = re.compile(
    r"^(?:in (?:this|our) (?:project|repo(?:sitory)?|codebase|code base|monorepo|team|company),?|(?:in|for) (?:this|our) "
    r"(?:project|repo(?:sitory)?|codebase|code base|monorepo):(?! run\b)) (?!i\b|can\b|"
    r"could\b|there\b|it\b|please (?!use)|add\b|create\b|fix\b|make\b|change\b|we (?:need|want|see|get|can|"
    r"could)\b)\w"
    r"|^all .{3,80}\b(?:is|are) .{3,80}\bnever\b|\b(?:in|for|across|throughout) (?:this|our|the whole|"
    r"the entire) (?:project|repo(?:sitory)?|codebase|code base|team|monorepo|organi[sz]ation),? (?:we|all|every|"
    r"always|never|use|please use|you (?:should|must))\b"
    r"|\bwe (?:use|write|store|format|name|call|prefer|avoid|follow|test|deploy|commit|never|always|only|don'?t|"
    r"do not)\b.{3,80}\b(?:(?:in|across|throughout) (?:this|our|the whole|the entire) (?:project|repo(?:sitory)?|"
    r"codebase|code base|monorepo)|everywhere)\b",
    re.IGNORECASE,
)
_WANT: Final = re.compile(
    rf"\b(?:i|we)(?: would|'d)? (?:want|like|expect|need|prefer)\b(?:(?!\bmay\b|\bmight\b).)*\b(?:{EACH_TIME}|"
    r"each and every|always|at all times|from now on)\b|"
    r"\bi (?:don'?t|do not) want\b.{3,80}\bever\W*$|\bi (?:basically |really )?(?:never|do(?: not|"
    r"n'?t) ever) want\b|\bi (?:don'?t|do not) (?:ever )?want (?:you|us|claude|cursor|the ai|the agent|agents)\b|"
    r"\bmake sure (?:that )?(?:.{3,80}) (?:each|every) time\b",
    re.IGNORECASE,
)
_ADDRESSES: Final = re.compile(
    r"\b(?:you|your|u|claude|cursor|codex|ai|agents?|commit|plans?|answers?|diffs?)\b", re.IGNORECASE
)
_LIKES: Final = re.compile(
    r"\bi(?:'m| am) (?:really )?not a (?:big |huge )?fan of (?!this|that|the|it|how)\w|\bi (?:like|want|"
    r"prefer) my (?P<subject>[\w ]{3,40})|^(?:please )?stop \w+ing (?!this|that|"
    r"it)(?:\w.{3,80})?\b(?:when(?:ever)? i|every ?time|each time|all the time|unless)\b",
    re.IGNORECASE,
)
_OWN_HANDS: Final = re.compile(
    r"\bi(?:'ll| will|'d rather| want to| prefer to| always)? (?:commit|push|merge|deploy|release|tag|publish|rebase)\b"
    r"(?:(?! if\b)[^.;])*\b(?:manually|myself|by hand|on my own)\b",
    re.IGNORECASE,
)
"""Steps that the user takes without the agent: "I will commit manually"."""
_OUT_OF_SCOPE: Final = re.compile(
    r"\bwe (?:do not|don'?t|won'?t|needn'?t)(?: (?:need|have|want) to)? (?:maintain|support|keep|preserve|provide|"
    r"care about|worry about)\b(?!\W*$)|\bi (?:do not|don'?t) want to (?:have|maintain|support|depend on|rely on)\b(?! (?:to|it|"
    r"this|that|them)\b)",
    re.IGNORECASE,
)
"""Limits of the project: "we do not need to maintain backward compatibility"."""
_USES: Final = re.compile(
    r"^(?:(?:in|for|on|at) [\w -]{2,30},? )?we (?:use|run (?:on|with)|deploy (?:to|with|from)|host (?:on|with)|ship (?:to|with)|"
    r"store|write|test (?:with|on)|build with|format with|target|are on|work with) "
    r"(?!.*\b(?:this|that|these|those|it|here|which|currently trying)\b)",
    re.IGNORECASE,
)
_NAMED: Final = re.compile(r"[`\d_/]|(?<=[a-z,] )[A-Z]|\b[a-z]+[A-Z]")
"""A sentence that names something, for example "we use Postgres for the orders"."""
_PREFERRED: Final = re.compile(
    r"\b(?:is|are) (?:the |our |my |always |generally |strongly |much )*preferred\b|\b(?:preferred|"
    r"recommended) (?:approach|way|method|style|tool|option|pattern|format|choice) (?:is|for)\b",
    re.IGNORECASE,
)


def find_habit(sentence: str) -> Verdict | None:
    """Return the habit of the team, or the lasting wish of the user, that a sentence states."""
    # "I want the canvas to be cleared every time I press space" is a requirement for the product.
    if _WANT.search(sentence) and (is_about_work(sentence) or _ADDRESSES.search(sentence)):
        return make_verdict(Category.PREFERENCE, "lasting wish", sentence)
    if any(form.search(sentence) for form in (_WE, _MODAL_BE, _ONLY, _BY_DEFAULT)):
        return make_verdict(Category.CONVENTION, "habit of the team", sentence)
    if _IN_PROJECT.search(sentence) and not is_complaint(sentence):
        return make_verdict(Category.CONVENTION, "habit of the team", sentence)
    likes = _LIKES.search(sentence)
    if likes and (likes["subject"] is None or is_about_work(likes["subject"])):
        return make_verdict(Category.PREFERENCE, "lasting wish", sentence)
    if (
        _USES.search(sentence)
        and (_NAMED.search(sentence) or find_alternatives(sentence))
        and not is_complaint(sentence)
    ):
        return make_verdict(Category.CONVENTION, "habit of the team", sentence)
    if _OWN_HANDS.search(sentence):
        return make_verdict(Category.PREFERENCE, "lasting wish", sentence)
    if _OUT_OF_SCOPE.search(sentence) and not is_complaint(sentence):
        return make_verdict(Category.DECISION, "limit of the project", sentence)
    if _PREFERRED.search(sentence):
        return make_verdict(Category.PREFERENCE, "preferred way", sentence)
    return None


def names_only_way(sentence: str) -> bool:
    """Return whether a sentence says that the team does only one thing: "we only test on SQLite"."""
    return bool(_ONLY.search(sentence))
