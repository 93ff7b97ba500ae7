"""Extracts the text that the user typed: strips private sections, injected memories, pasted blocks and quotations.

The removed parts are only left out of the search for cues. Injected memories are returned separately, because text
that repeats them must not be learned.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_PRIVATE: Final = re.compile(r"<\s*private\b[^>]*>.*?(?:<\s*/\s*private\s*>|\Z)", re.IGNORECASE | re.DOTALL)
_GIVEN: Final = re.compile(
    r"<\s*((?:project|user|global|opencode)?[-_ ]?(?:memor(?:y|ies)|recall(?:ed)?|knowledge)(?:[-_]\w+)*"
    r"|system-reminder|additional[-_]context|relevant[-_]\w+)\b[^>]*>"
    r"(.*?)(?:<\s*/\s*\1\s*>|\Z)",
    re.IGNORECASE | re.DOTALL,
)
_BLOCK: Final = re.compile(
    r"<\s*(file|attachment|document|example|code|pre|log|output|content|skill_content)\b[^>]*>.*?(?:<\s*/\s*\1\s*>|\Z)",
    re.IGNORECASE | re.DOTALL,
)
_FENCE: Final = re.compile(r"^[ \t]*(`{3,}|~{3,})[^\n]*\n.*?(?:^[ \t]*\1[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
_PASTED_LINE: Final = re.compile(
    r"""^(?:
        \s{4,}\S | \t\S                                         # indented
      | \s*>                                                    # quoted
      | \s*\|.*\|\s*$                                           # a table
      | (?:diff\ --git|@@|\+\+\+\ |---\ |index\ [0-9a-f]{6})    # a diff
      | [+-]\s*(?://|/\*|\#|\w+\s*[({=;]|\s{2,})                # its lines
      | \s*at\ [\w.$<>/]+[(:]                                   # a stack
      | \s*(?:Traceback|File\ "|Caused\ by:|\s*\^+\s*$)
      | \s*\[?\d{4}-\d\d-\d\d[T\ ]\d\d:\d\d                     # a log
      | \s*\[?\d{1,2}:\d\d(?::\d\d)?\]?[\ \t]+\S+               # a chat
      | \s*(?:ERROR|WARN(?:ING)?|INFO|DEBUG|FATAL|TRACE|PANIC)\b[:\ \]]
      | .*\b(?:FATAL|ERROR|Exception|Error):\s
      | \s*(?:From|To|Subject|Date|Sent|Cc):\s
      | \s*[$\#%❯]\s\S                                          # a terminal
      | \s*[\w.-]+@[\w.-]+:.*[$\#]\s
      | \s*(?:import|from|const|let|var|def|class|function|public|private|return|export|func|fn|SELECT|INSERT|CREATE)
        \b.*[;{(=:]\s*$
      | .*[;{}]\s*$
    )""",
    re.VERBOSE,
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
    lines = [line for line in text.split("\n") if not _PASTED_LINE.match(line)]
    return AuthoredText("\n".join(_QUOTED.sub(_mask_quote, line) for line in lines), injected)


def strip_private(text: str) -> str:
    """Remove private sections; an unclosed section is private to the end of the text."""
    return _PRIVATE.sub(" ", text)


def _mask_quote(match: re.Match[str]) -> str:
    # A quoted name stays. Three or more quoted words are probably somebody else's statement.
    return QUOTE if len(match[0].split()) > 2 else match[0]  # noqa: PLR2004  see above
