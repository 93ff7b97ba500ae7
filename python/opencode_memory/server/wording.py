"""Wording of memories: tells an agent what a stored text lacks to stand alone."""

from __future__ import annotations

import re
from typing import Final

_REFERS: Final = re.compile(
    r"^\W*(?:(?:no|yes|ok|okay|well|actually|sure|right)\b[,.!:;]\W*)?"
    r"(?P<word>it|it's|its|this|that|that's|these|those|they|they're|them|he|she|the above|the latter|the former"
    r"|the same|same here|as above|option [a-d1-9]|the (?:first|second|third|last) (?:one|option))\b",
    re.IGNORECASE,
)
_ANSWERS: Final = re.compile(r"^\W*(?P<word>no|nope|yes|yeah|ok|okay)\b[,.!:;]", re.IGNORECASE)
_NAMED_NEXT: Final = re.compile(
    r"^\W*(?:this|that|these|those) (?:is\b|was\b|are\b)?\s*(?:project|repo(?:sitory)?|code ?base|package|library)\b",
    re.IGNORECASE,
)


def describe_gap(content: str, tool: str) -> str:
    """Return a hint for a text that begins with a reference or an answer; empty if it names its subject.

    Args:
        content: The stored text.
        tool: Name of the tool that corrects it.
    """
    found = _REFERS.match(content) or _ANSWERS.match(content)
    if found is None or _NAMED_NEXT.match(content):
        return ""
    return (
        f'Its text begins with "{found["word"]}", which means nothing in a later session: name the subject'
        f' with {tool}, for example "Use X, not Y".'
    )
