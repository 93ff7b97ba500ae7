"""Statements that give a part of the system its one value: "the API always listens on port 8080"."""

from __future__ import annotations

import re
from typing import Final

from opencode_memory.learning.extraction.gate.verdict import Verdict, make_verdict
from opencode_memory.learning.extraction.gate.work_at_hand import is_complaint
from opencode_memory.models import Category

_ATTRIBUTE: Final = (
    r"(?:port|path|host|hostname|branch|bucket|region|schema|database|folder|directory|queue|topic|namespace|"
    r"time ?zone|version|prefix|charset|encoding)"
)
_FIXED_VALUE: Final = re.compile(
    r"^(?:the |our |every |all )(?:[\w./-]+ ){1,4}?"
    r"(?:(?:must|should|has to|have to|needs to) always(?: \w+){1,2}|always \w+|(?:is|are) always(?: \w+)?)"
    r"(?: (?:on|at|in|from|to|with|under|into|by))?(?: the| a| our)? "
    rf"(?:{_ATTRIBUTE} [`\"']?(?=\S*[\d/_.-])\S+|[`\"']?(?=\S*[\d/_-])[\w./-]+[`\"']? {_ATTRIBUTE}\b)",
    re.IGNORECASE,
)
_FIXED_AMOUNT: Final = re.compile(
    r"^(?:the |our |every |all )?(?:(?!the\b)[\w./-]+ ){1,4}?(?:timeout|limit|interval|ttl|threshold|retention|quota|size|length|"
    r"coverage|resolution|frame ?rate|budget) (?:(?:is|are) always|(?:must|should|has to) always be) (?:at (?:most|least) )?[1-9]",
    re.IGNORECASE,
)
_EXCEPTION: Final = re.compile(
    r"\b(?:even (?:when|if|though)|although|though|no matter|whatever|regardless|instead of the|not the|but)\b",
    re.IGNORECASE,
)
"""Words of a complaint: "always listens on port 3000 even when I set PORT"."""


def find_fixed_value(sentence: str) -> Verdict | None:
    """Return the rule that a part of the system always has one value, such as a port, a path or a time-out."""
    is_fixed = _FIXED_VALUE.search(sentence) or _FIXED_AMOUNT.search(sentence)
    if not is_fixed or _EXCEPTION.search(sentence) or is_complaint(sentence):
        return None
    return make_verdict(Category.CONVENTION, "fixed value", sentence)
