"""The slash commands as OpenCode is told of them.

What the server says takes the place of a template's text; a template is what the model reads when the server does not
answer in time, so it says what to do then. The frame keeps its words from being learned as the user's.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

TAG: Final = "memory-command"
READ_ONLY: Final = (
    "Review code as asked below, and change nothing. Where there is a shell, git diff, git log and git show tell what"
    " changed."
)
WHAT: Final = (
    "What to review (a commit, a branch, a pull request, files; nothing: the changes that are not committed, new files"
    " among them):"
)
HOW: Final = """\
Report what breaks: bugs first, then conventions and decisions of the project that the changes go against (name the
memory's id), missing checks and tests. No matters of taste. Verify each in the code before you report it.
With the tool memory-findings (action=list shows all that are open):
- record each bug and warning: file, line, severity, and a text that is understood without the line number;
- resolve, by id, each open finding that is fixed;
- record, by id, each open finding that is still there.
End with the findings that are open now, the worst first, or say that there are none."""

NO_ARGUMENTS: Final = "$99999"
"""Stays empty, and keeps OpenCode from putting in what was typed, in which it would run what stands in ``!`…` ``; the
plugin puts it there when the server does not answer."""
_MISSING: Final = "The memory server did not answer in time."


def frame(text: str) -> str:
    """Put what a model is told by a command into its frame."""
    return f"<{TAG}>\n{text}\n</{TAG}>"


def _command(description: str, template: str, **more: Any) -> Mapping[str, Any]:
    return MappingProxyType({"description": description, "template": template, **more})


def _fallback(text: str) -> str:
    return frame(f"{_MISSING} {text}") + NO_ARGUMENTS


COMMANDS: Final[Mapping[str, Mapping[str, Any]]] = MappingProxyType(
    {
        "remember": _command(
            "Store a memory, e.g. /remember decision: we use SQLite",
            _fallback(
                "The user asked to remember the text below, and it is not certain that it is stored. Store it word for"
                " word with memory_remember or memory-write; if neither is there, or it fails, say that it was not"
                " stored."
            ),
        ),
        "recall": _command(
            "Answer from memory",
            _fallback(
                "Look the question below up with memory_recall or memory-read and answer it from what that finds, with"
                " ids; if neither is there, or it fails, say that the memory could not be asked."
            ),
        ),
        "forget": _command(
            "Archive a memory by its id, or find it by words",
            _fallback(
                "Nothing is known to be forgotten. Tell the user so, and that `opencode-memory archive ID` does it."
            ),
        ),
        "memory": _command(
            "What is remembered here, and what waits",
            _fallback("Tell the user so, and that `opencode-memory doctor` finds out why. Do nothing else."),
        ),
        "review": _command(
            "Review changes against the project's memory",
            frame(f"{READ_ONLY}\n{HOW}\n{WHAT}") + NO_ARGUMENTS,
            subtask=True,
        ),
    }
)
"""Name of a command to its definition."""
