"""Checks of the doctor: their results, their output and the fixes for their problems."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Final

from opencode_memory.cli.output import Output, Styled
from opencode_memory.text.formatting import format_count

if TYPE_CHECKING:
    from opencode_memory.maintenance.health import Finding


class Level(StrEnum):
    """Result of a check."""

    OK = "ok"
    NOTE = "note"
    PROBLEM = "problem"


_COLORS: Final = {Level.OK: "green", Level.NOTE: "yellow", Level.PROBLEM: "red"}


@dataclass(frozen=True, slots=True)
class Check:
    """A check and its result.

    Attributes:
        name: Short name of the check.
        level: Its result.
        text: The finding.
        hint: The next step for the user, if any.
    """

    name: str
    level: Level
    text: str
    hint: str | None = None


def print_check(out: Output, check: Check) -> None:
    """Print a check on one line, without its hint."""
    out.line(Styled(f"{check.level:<8}", color=_COLORS[check.level]), f"{check.name:<14}", check.text)


def to_check(finding: Finding) -> Check:
    """Convert a finding about the health of a store to a check."""
    level = Level.PROBLEM if finding.is_problem else Level.NOTE
    return Check(finding.name, level, finding.text, finding.hint)


def check_embeddings(pending: int, mismatch: str | None) -> Iterator[Check]:
    """Report the reasons why memories are not found by meaning.

    Args:
        pending: Number of memories without vectors.
        mismatch: The reason why recall searches by words only, if it does.
    """
    if pending:
        found = "it" if pending == 1 else "them"
        text = f"{format_count(pending, 'memory')} without vectors; only words find {found} so far"
        yield Check("embeddings", Level.NOTE, text, "opencode-memory reindex")
    if mismatch is not None:
        yield Check("embeddings", Level.PROBLEM, mismatch, "opencode-memory reindex")


class FixKind(StrEnum):
    """Action that fixes a problem."""

    SETUP = "setup"
    SETUP_PROJECT = "setup --project"
    START = "serve --detach"
    CHMOD = "chmod"


@dataclass(frozen=True, slots=True)
class Fix:
    """An action that fixes a problem.

    Attributes:
        kind: The action.
        path: The file or folder whose permissions to set.
        mode: The permissions.
    """

    kind: FixKind
    path: Path | None = None
    mode: int | None = None


@dataclass(frozen=True, slots=True)
class FixableCheck(Check):
    """A failed check with a safe fix.

    Attributes:
        fix: The fix.
    """

    fix: Fix | None = None
