"""How a check of the doctor is said: what was looked at, how it went, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from opencode_memory.cli.output import Output, Styled


class Level(StrEnum):
    """How a check went."""

    OK = "ok"
    NOTE = "note"
    PROBLEM = "problem"


_COLORS: Final = {Level.OK: "green", Level.NOTE: "yellow", Level.PROBLEM: "red"}


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at.

    Attributes:
        name: What.
        level: How it went.
        text: What was found.
        hint: What to do about it.
    """

    name: str
    level: Level
    text: str
    hint: str | None = None


def print_check(out: Output, check: Check) -> None:
    """Print a check on one line, without its hint."""
    out.line(Styled(f"{check.level:<8}", color=_COLORS[check.level]), f"{check.name:<14}", check.text)


def check_embeddings(pending: int, mismatch: str | None) -> Iterator[Check]:
    """Say what keeps memories from being found by meaning.

    Args:
        pending: How many wait for their vectors.
        mismatch: Why recall goes by words only, None when it does not.
    """
    if pending:
        text = f"{pending:,} memories wait for vectors, and are found by words"
        yield Check("embeddings", Level.NOTE, text, "opencode-memory reindex")
    if mismatch is not None:
        yield Check("embeddings", Level.PROBLEM, mismatch, "opencode-memory reindex")


class FixKind(StrEnum):
    """What helps."""

    SETUP = "setup"
    SETUP_PROJECT = "setup --project"
    START = "serve --detach"
    CHMOD = "chmod"


@dataclass(frozen=True, slots=True)
class Fix:
    """What helps, and where.

    Attributes:
        cure: What helps.
        path: The file or folder whose permissions are set.
        mode: The permissions.
    """

    kind: FixKind
    path: Path | None = None
    mode: int | None = None


@dataclass(frozen=True, slots=True)
class FixableCheck(Check):
    """A check that went wrong, and what is sure to help.

    Attributes:
        remedy: What helps.
    """

    fix: Fix | None = None
