"""What is open in a session between two of its messages: small, and written as JSON after each stretch."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final, Self

from opencode_memory.learning.extraction.candidate import Candidate

MOST_FAILURES: Final = 12
MOST_FILES: Final = 40
MOST_COMMANDS: Final = 60
MOST_PENDING: Final = 60
MOST_SAID: Final = 3000
MOST_BLOCKERS: Final = 20
LONGEST_TEXT: Final = 1500
MOST_OF_ONE: Final = 10
LONGEST_NAME: Final = 200
_FIELDS: Final = {"given": "injected", "said": "proposed"}
"""Attributes by their names in stored JSON, where the two differ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A command that failed, and what was edited since.

    Attributes:
        command: As it was run.
        complaints: What it said at its first and its last failure.
        files: What was edited since it failed.
        change: The last edit, in a line.
        edits: Each edit since: the file, and hashes of what was there before and after.
    """

    command: str
    complaints: tuple[str, ...]
    files: tuple[str, ...] = ()
    change: str = ""
    edits: tuple[tuple[str, int, int], ...] = ()

    def trim(self) -> Self:
        """Forget what has grown too long."""
        return replace(
            self,
            command=self.command[:LONGEST_NAME],
            files=tuple(name[-LONGEST_NAME:] for name in self.files[:MOST_OF_ONE]),
            edits=tuple((file[-LONGEST_NAME:], was, becomes) for file, was, becomes in self.edits[-MOST_OF_ONE:]),
            complaints=tuple(said[:LONGEST_NAME] for said in self.complaints),
            change=self.change[:LONGEST_NAME],
        )

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Self:
        """Build a failure from stored JSON."""
        lists = {
            "complaints": tuple(value["complaints"]),
            "files": tuple(value["files"]),
            "edits": tuple((file, was, becomes) for file, was, becomes in value["edits"]),
        }
        return cls(**{**value, **lists})


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionState:
    """Everything that is remembered of a session.

    Attributes:
        goal: What the person asked for first.
        outcome: What the agent said last.
        action: What the agent did or said just before, for corrections.
        offer: What the agent offered last, if it was options.
        offered_ago: How many messages of the person have come since.
        pretending: Whether a role is being played.
        failures: Commands that fail, by what makes them the same command.
        passed: How often each command succeeded, by the same.
        files: Files that were edited, last first.
        pending: Candidates that wait for the next thing that the person says: they might take it back.
        injected: Hashes of what a memory gave to the session.
        proposed: Hashes of what was proposed from the session already.
        blockers: Topics and texts of blockers that were found in the session and are not over.
        own: Messages that are the session's own, and not copied from the one that it was forked from.
    """

    goal: str = ""
    outcome: str = ""
    action: str = ""
    offer: str = ""
    offered_ago: int = 0
    pretending: bool = False
    failures: tuple[tuple[str, Failure], ...] = ()
    passed: tuple[tuple[str, int], ...] = ()
    files: tuple[str, ...] = ()
    pending: tuple[Candidate, ...] = field(default=())
    injected: tuple[int, ...] = ()
    proposed: tuple[int, ...] = ()
    blockers: tuple[tuple[str, str], ...] = ()
    own: int = 0

    def trim(self) -> Self:
        """Forget the oldest of what has grown too long."""
        return replace(
            self,
            failures=tuple((key, failure.trim()) for key, failure in self.failures[-MOST_FAILURES:]),
            blockers=self.blockers[-MOST_BLOCKERS:],
            passed=self.passed[-MOST_COMMANDS:],
            files=tuple(name[-LONGEST_NAME:] for name in self.files[:MOST_FILES]),
            pending=self.pending[-MOST_PENDING:],
            goal=self.goal[:LONGEST_TEXT],
            outcome=self.outcome[:LONGEST_TEXT],
            action=self.action[-LONGEST_TEXT:],
            offer=self.offer[-LONGEST_TEXT:],
            proposed=self.proposed[-MOST_SAID:],
        )

    def to_json(self) -> str:
        """Return what ``from_json`` reads."""
        value: dict[str, Any] = {
            "goal": self.goal,
            "outcome": self.outcome,
            "action": self.action,
            "offer": self.offer,
            "offered_ago": self.offered_ago,
            "pretending": self.pretending,
            "files": self.files,
            "passed": self.passed,
            "given": self.injected,
            "said": self.proposed,
            "own": self.own,
            "blockers": self.blockers,
            "failures": [(key, asdict(failure)) for key, failure in self.failures],
            "pending": [candidate.as_json() for candidate in self.pending],
        }
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what ``to_json`` gave; what was forgotten (``{}``) begins anew."""
        value: dict[str, Any] = {_FIELDS.get(name, name): stored for name, stored in json.loads(text).items()}
        failures = tuple((key, Failure.from_json(failure)) for key, failure in value.pop("failures", ()))
        pending = tuple(Candidate.from_json(candidate) for candidate in value.pop("pending", ()))
        blockers = tuple((topic, content) for topic, content in value.pop("blockers", ()))
        passed = tuple((key, times) for key, times in value.pop("passed", ()))
        plain: dict[str, Any] = {
            name: tuple(stored) if isinstance(stored, list) else stored for name, stored in value.items()
        }
        return cls(failures=failures, pending=pending, passed=passed, blockers=blockers, **plain)
