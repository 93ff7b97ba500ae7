"""Patterns of text in a message that the user did not type: private sections, injected text, code and logs.

Learning and context recognise the same forms of pasted lines, and each adds forms of its own. All patterns of forms are
written for ``re.VERBOSE`` and match from the start of a line.
"""

from __future__ import annotations

import re
from typing import Final

MEMORY_TAG: Final = r"memor(?:y|ies)|recall(?:ed)?|knowledge"
"""Names of tags around memories that a plugin injected."""
SYSTEM_TAG: Final = r"system-reminder|additional[-_]context|relevant[-_]\w+"
"""Names of tags around text that the agent's host injected."""

INDENTED: Final = r"\s{4,}\S | \t\S"
TABLE_ROW: Final = r"\s*\|.*\|\s*$"
DIFF_HEADER: Final = r"diff\ --git|@@|\+\+\+\ |---\ |index\ [0-9a-f]{6}"
STACK_FRAME: Final = r"\s*at\ [\w.$<>/]+[(:]"
TRACE_START: Final = r'\s*(?:Traceback|File\ "|Caused\ by:)'
LOG_TIME: Final = r"\s*\[?\d{4}-\d\d-\d\d[T\ ]\d\d:\d\d"
LOG_LEVEL: Final = r"(?:ERROR|WARN(?:ING)?|INFO|DEBUG|FATAL|TRACE|PANIC)\b"
CODE_START: Final = (
    r"\s*(?:import|from|const|let|var|def|class|function|public|private|return|export|func|fn|SELECT|INSERT|CREATE)"
    r"\b.*[;{(=:]\s*$"
)
CODE_END: Final = r".*[;{}]\s*$"

_PRIVATE: Final = re.compile(r"<\s*private\b[^>]*>.*?(?:<\s*/\s*private\s*>|\Z)", re.IGNORECASE | re.DOTALL)


_COMMAND: Final = re.compile(
    r"\A\s*/(?:remember|recall|forget|memory|plan|loop|cancel-loop|review)(?=\s|\Z).*", re.DOTALL
)


def compile_forms(*forms: str) -> re.Pattern[str]:
    """Compile a pattern that matches a line of any of these forms."""
    return re.compile("|".join(f"(?:{form})" for form in forms), re.VERBOSE)


def strip_private(text: str) -> str:
    """Remove the sections that the user marked as private. A section that is not closed extends to the end."""
    return _PRIVATE.sub(" ", text)


def strip_command(text: str) -> str:
    """Return nothing for a message that is one of our slash commands: it was carried out when it was typed."""
    return _COMMAND.sub("", text)
