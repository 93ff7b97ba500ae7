"""Summary of a session in a few lines: goal, outcome, files, commands and open problems."""

from __future__ import annotations

from typing import Final

from opencode_memory.learning.extraction.candidate import LONGEST_EVIDENCE, Candidate, shorten
from opencode_memory.learning.extraction.session_state import SessionState
from opencode_memory.models import Category

_MOST_FILES: Final = 8
_MOST_COMMANDS: Final = 5
_LINE: Final = 200


def summarize_session(session: str, state: SessionState) -> Candidate | None:
    """Return the summary of a session; None if no file was edited and no relevant command was run."""
    if not state.goal or not (state.files or state.passed or state.failures):
        return None
    lines = [f"Goal: {state.goal}"]
    if state.outcome:
        lines.append(f"Outcome: {state.outcome}")
    if state.files:
        more = len(state.files) - _MOST_FILES
        lines.append(f"Files: {', '.join(state.files[:_MOST_FILES])}{f' and {more} more' if more > 0 else ''}")
    if state.passed:
        lines.append("Commands: " + ", ".join(f"`{shorten(key, 100)}`" for key, _ in state.passed[-_MOST_COMMANDS:]))
    if state.failures:
        failing = [
            f"`{shorten(failure.command, 100)}` fails{_because(failure.complaints)}"
            for _, failure in state.failures[-2:]
        ]
        lines.append(f"Open: {'; '.join(failing)}")
    return Candidate(
        category=Category.CONVERSATION,
        content="\n".join(shorten(line, 2 * _LINE) for line in lines),
        confidence=1.0,
        rule="summary of a session",
        evidence=shorten(state.goal, LONGEST_EVIDENCE),
        topic=f"session:{session}",
    )


def _because(complaints: tuple[str, ...]) -> str:
    return f": {shorten(complaints[-1], _LINE)}" if complaints else ""
