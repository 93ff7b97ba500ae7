"""Joins hard-wrapped lines, so that a text can be wrapped again to another width without ragged lines."""

from __future__ import annotations

import re
from typing import Final

_WRAPPED_FROM: Final = 40
"""Characters of a line that an editor may have wrapped. The end of a shorter line is meant."""
_BEGINS: Final = re.compile(r"[ \t]*(?:[-*+•>|]|\d+[.)]\s|#{1,6}\s|={3,}|-{3,})|\t| {4}")
_FENCE: Final = re.compile(r"[ \t]*(?:```|~~~)")
_HEADING: Final = re.compile(r"[ \t]*(?:#{1,6}\s|\|)")


def reflow(text: str) -> list[str]:
    r"""Return the paragraphs of a text, one line each. Lists, headings, tables, quotes and code keep their lines.

    >>> reflow("Deploys go through the script, which asks\nfor the version first.\n- one\n- two")
    ['Deploys go through the script, which asks for the version first.', '- one', '- two']
    """
    lines: list[str] = []
    last = ""
    is_code = False
    for line in text.splitlines():
        is_fence = _FENCE.match(line) is not None
        goes_on = (
            len(last) >= _WRAPPED_FROM
            and not is_code
            and not is_fence
            and line.strip() != ""
            and not last.endswith(("  ", "\\"))
            and _HEADING.match(last) is None
            and _BEGINS.match(line) is None
        )
        if goes_on:
            lines[-1] = f"{lines[-1]} {line.strip()}"
        elif line.strip():
            lines.append(line.rstrip())
        is_code ^= is_fence
        last = "" if is_fence or not line.strip() else line
    return lines
