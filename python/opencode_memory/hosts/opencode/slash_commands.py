"""Definitions of the slash commands for OpenCode.

The server's answer replaces the text of a template. The model reads the template only if the server does not answer in
time, so a template tells the model what to do in that case. The frame keeps its text from being learned as the user's.
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
"""A placeholder that stays empty. Without a placeholder, OpenCode would append the user's text to the template, and run
any ``!`…` `` in it as a shell command. The plugin adds the text if the server does not answer."""
_MISSING: Final = "The memory server did not answer in time."


def frame(text: str) -> str:
    """Put the text of a command for the model into its frame."""
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
                "The user asked to remember the text below, and it may not be stored. Store it word for"
                " word with memory_remember or memory-write; if neither is there, or it fails, say that it was not"
                " stored."
            ),
        ),
        "recall": _command(
            "Answer from memory",
            _fallback(
                "Look up the question below with memory_recall or memory-read and answer it from the result, with"
                " ids; if neither is there, or it fails, say that the memory could not be searched."
            ),
        ),
        "forget": _command(
            "Archive a memory by its id, or find it by words",
            _fallback("It may not be forgotten. Tell the user so, and that `opencode-memory archive ID` forgets it."),
        ),
        "memory": _command(
            "Show what is remembered here, and what waits for review",
            _fallback("Tell the user so, and that `opencode-memory doctor` finds out why. Do nothing else."),
        ),
        "plan": _command(
            "Show the plans of this project",
            _fallback("Tell the user so, and that `opencode-memory plan list` lists the plans. Do nothing else."),
        ),
        "loop": _command(
            "Run the newest plan in a loop",
            _fallback("No loop was started. Tell the user so. Do nothing else."),
        ),
        "cancel-loop": _command(
            "Cancel a loop",
            _fallback("No loop was cancelled. Tell the user so, and that `opencode-memory loop cancel` does it."),
        ),
        "review": _command(
            "Review changes against the project's memory",
            frame(f"{READ_ONLY}\n{HOW}\n{WHAT}") + NO_ARGUMENTS,
            subtask=True,
        ),
    }
)
"""Definitions by the name of the command."""
