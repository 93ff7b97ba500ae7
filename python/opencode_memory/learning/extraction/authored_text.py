"""A person's own words in a message: without what is private, what we put there, what is pasted, quoted or ordered as text.

Everything that is left out is left out for cues only. What was put there by a memory is returned apart, because nothing
that repeats it may be learned.
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
    """What a message says.

    Attributes:
        text: The person's own words, line by line; quotes of several words are ``«…»``.
        injected: What a memory had put into the message.
    """

    text: str
    injected: tuple[str, ...]


def extract_authored_text(message: str) -> AuthoredText:
    """Return a person's own words in a message."""
    text = strip_private(message)
    injected = tuple(match[2].strip() for match in _GIVEN.finditer(text))
    for block in (_GIVEN, _BLOCK, _FENCE):
        text = block.sub("\n", text)
    lines = [line for line in text.split("\n") if not _PASTED_LINE.match(line)]
    return AuthoredText("\n".join(_QUOTED.sub(_mask_quote, line) for line in lines), injected)


def strip_private(text: str) -> str:
    """Remove what a person marked as private; what was never closed is private to its end."""
    return _PRIVATE.sub(" ", text)


def _mask_quote(match: re.Match[str]) -> str:
    # A name in quotes is still a name; from three words on somebody else speaks.
    return QUOTE if len(match[0].split()) > 2 else match[0]  # noqa: PLR2004  see above
