"""Extracts the text that the user typed: strips private sections, injected memories, pasted blocks and quotations.

The removed parts are only left out of the search for cues. Injected memories are returned separately, because text
that repeats them must not be learned.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from opencode_memory.text.pasted import (
    CODE_END,
    CODE_START,
    DIFF_HEADER,
    INDENTED,
    LOG_LEVEL,
    LOG_TIME,
    MEMORY_TAG,
    STACK_FRAME,
    SYSTEM_TAG,
    TABLE_ROW,
    TRACE_START,
    compile_forms,
    strip_private,
)

_GIVEN: Final = re.compile(
    rf"<\s*((?:project|user|global|opencode)?[-_ ]?(?:{MEMORY_TAG})(?:[-_]\w+)*"
    rf"|{SYSTEM_TAG})\b[^>]*>"
    r"(.*?)(?:<\s*/\s*\1\s*>|\Z)",
    re.IGNORECASE | re.DOTALL,
)
_BLOCK: Final = re.compile(
    r"<\s*(file|attachment|document|example|code|pre|log|output|content|skill_content)\b[^>]*>.*?(?:<\s*/\s*\1\s*>|\Z)",
    re.IGNORECASE | re.DOTALL,
)
_FENCE: Final = re.compile(r"^[ \t]*(`{3,}|~{3,})[^\n]*\n.*?(?:^[ \t]*\1[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
_PASTED_LINE: Final = compile_forms(
    r".*[\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]",  # marks of direction and tags, which nobody types
    r".*\x1b",  # coloured output of a program
    INDENTED,
    r"\s*>",  # quoted
    TABLE_ROW,
    DIFF_HEADER,
    r"[+-]\s*(?://|/\*|\#|\w+\s*[({=;]|\s{2,})",  # a changed line of a diff
    STACK_FRAME,
    TRACE_START,
    r"\s*\^+\s*$",  # the marker below a line of a trace
    LOG_TIME,
    r"\s*\[?\d{1,2}:\d\d(?::\d\d)?\]?[\ \t]+\S+",  # a chat
    rf"\s*{LOG_LEVEL}[:\ \]]",
    r".*\b(?:FATAL|ERROR|\w*(?:Exception|Error|Warning)):\s",
    r"\s*[A-Z][a-z]{2}\ +\d{1,2}\ \d\d:\d\d:\d\d\s",  # a system log
    r"\s*(?:From|To|Subject|Date|Sent|Cc):\s",
    r"\s*[$\#%❯]\s\S",  # a terminal
    r"\s*[\w.-]+@[\w.-]+:.*[$\#]\s",
    CODE_START,
    CODE_END,
)
_PROMPT: Final = re.compile(
    r"^\s*(?:[$%❯➜»]\s+\S|\(\w[\w.-]*\)\s+\S+\s*[$%#❯]|[\w.-]+@[\w.-]+[:~\s].*[$%#❯]|PS [A-Z]:\\|C:\\.*>)"
)
_QUOTED: Final = re.compile(
    r"\"[^\"\n]{3,600}\"|“[^”\n]{3,600}”|„[^“”\n]{3,600}[“”]|«[^»\n]{3,600}»|(?<![\w])'(?=\S)[^'\n]{3,600}(?<=\S)'(?![\w])"
)
QUOTE: Final = "«…»"


@dataclass(frozen=True, slots=True)
class AuthoredText:
    """Parts of a message.

    Attributes:
        text: Text that the user typed, line by line; quotations of several words are replaced by ``«…»``.
        injected: Texts that a memory system had put into the message.
    """

    text: str
    injected: tuple[str, ...]


def extract_authored_text(message: str) -> AuthoredText:
    """Split a message into the text that the user typed and injected memories."""
    text = strip_private(message)
    injected = tuple(match[2].strip() for match in _GIVEN.finditer(text))
    for block in (_GIVEN, _BLOCK, _FENCE):
        text = block.sub("\n", text)
    lines = [line for line in _drop_terminal_output(text.split("\n")) if not _PASTED_LINE.match(line)]
    return AuthoredText("\n".join(_QUOTED.sub(_mask_quote, line) for line in lines), injected)


def strip_injected(message: str) -> str:
    """Remove what a memory system or the agent's host put into a message."""
    return _GIVEN.sub("\n", message)


def _drop_terminal_output(lines: list[str]) -> Iterator[str]:
    """Leave out each command after a prompt, and its output up to the next blank line."""
    is_output = False
    for line in lines:
        is_output = bool(_PROMPT.match(line)) or (is_output and bool(line.strip()))
        if not is_output:
            yield line


def _mask_quote(match: re.Match[str]) -> str:
    # A quoted name stays. Three or more quoted words are probably somebody else's statement.
    return QUOTE if len(match[0].split()) > 2 else match[0]  # noqa: PLR2004  see above
