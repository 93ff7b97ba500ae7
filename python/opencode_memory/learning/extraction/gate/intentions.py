"""Intentions for later and blocked work: "in the future I'd like to …", "we are blocked by …"."""

from __future__ import annotations

import re
from typing import Final

from opencode_memory.learning.extraction.gate.verdict import Verdict
from opencode_memory.models import Category

_LATER: Final = (
    r"(?:in (?:the|a) (?:near |distant )?future|in future|eventually|down the (?:road|line)|later on|some ?day|"
    r"long[- ]term|after (?:the )?(?:launch|release|mvp)|in v\d|"
    r"when we(?:'re| are) ready to \w+|once we(?:'re| are) (?:live|in production))"
)
_WE: Final = r"(?:we|i)(?:'ll| will|'d like| would like| want|'d love| plan| intend|'re going| are going|'re planning| are planning| might want| may want)"
_INTENDS: Final = re.compile(
    rf"^(?:and |but |so |also )*{_LATER},? {_WE}\b|^{_WE}\b.{{5,160}}\b{_LATER}\W*$", re.IGNORECASE
)
_BLOCKED: Final = re.compile(
    r"^(?:we|i)(?:'re| are|'m| am) (?:currently |still |now |completely )?blocked\b(?=\s*(?:by|on|until|because|:|"
    r",|-|–))|^(?:we|i)(?:'re| are|'m| am) (?:still )?waiting (?:for|on) .{3,80} (?:before|so we|until) ",
    re.IGNORECASE,
)


def find_intention(sentence: str) -> Verdict | None:
    """Return the intention or the blocker that a sentence states, if any."""
    if _BLOCKED.search(sentence):
        return Verdict(category=Category.BLOCKER, rule="blocked", text=sentence)
    if _INTENDS.search(sentence):
        return Verdict(category=Category.IDEA, rule="for later", text=sentence)
    return None
