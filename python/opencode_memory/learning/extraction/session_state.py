"""State of a session between two messages: small, and stored as JSON after each batch."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Final, Self, TypeVar

from opencode_memory.learning.extraction.candidate import Candidate

_T = TypeVar("_T")
MOST_FAILURES: Final = 12
MOST_FILES: Final = 40
MOST_COMMANDS: Final = 60
MOST_PENDING: Final = 60
MOST_REMOVED: Final = 1000
MOST_SAID: Final = 3000
MOST_BLOCKERS: Final = 20
MOST_TURNS: Final = 10
MOST_WRITTEN: Final = 100
MOST_TURN_BYTES: Final = 128 * 1024
"""Size of all turns in a stored state. The store refuses a state of more than 512 KiB."""
LONGEST_TEXT: Final = 1500
MOST_OF_ONE: Final = 10
LONGEST_NAME: Final = 200
_FIELDS: Final = {"given": "injected", "said": "proposed"}
"""Attributes by the names of their members in stored JSON, where the two differ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A failed command and the edits since its failure.

    Attributes:
        command: The command line.
        complaints: Error messages of its first and its last failure.
        files: Files edited since the failure.
        change: The last edit, summarised in one line.
        edits: Each edit since the failure: the file, and hashes of the old and new text.
    """

    command: str
    complaints: tuple[str, ...]
    files: tuple[str, ...] = ()
    change: str = ""
    edits: tuple[tuple[str, int, int], ...] = ()

    def trim(self) -> Self:
        """Truncate all parts to their maximum lengths."""
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


_Named = tuple[str, Failure]
"""A failing command by its normalised form."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A message of the user, and the work of the session before it. An undo of the message goes back to that.

    Attributes:
        message: Id of the message.
        latest: Id of the message before it; empty if there is none.
        files: As in ``SessionState``, like the following ones.
        own_files: Those of them that a fork has edited itself.
        failures: Failing commands.
        passed: Number of successes of each command.
        solved: Complaints that edits have solved.
        findings: Number of findings of the agent.
        own: Number of messages that are no copies.
    """

    message: str
    latest: str = ""
    files: tuple[str, ...] = ()
    own_files: tuple[str, ...] = ()
    failures: tuple[tuple[str, Failure], ...] = ()
    passed: tuple[tuple[str, int], ...] = ()
    solved: tuple[str, ...] = ()
    findings: int = 0
    own: int = 0

    def as_json(self, places: Mapping[_Named, int]) -> dict[str, Any]:
        """Convert to a JSON object without empty members.

        Args:
            places: Places of all failures in the list that ``from_json`` gets.
        """
        value = {name: value for name, value in asdict(self).items() if value and name != "failures"}
        return value | ({"failed": [places[named] for named in self.failures]} if self.failures else {})

    @classmethod
    def from_json(cls, value: dict[str, Any], known: Sequence[_Named]) -> Self:
        """Build a turn from a stored JSON object. Earlier versions stored the failures in it.

        Args:
            value: The object.
            known: Failures of the state and of its turns.
        """
        return cls(
            message=value["message"],
            latest=value.get("latest", ""),
            files=tuple(value.get("files", ())),
            own_files=tuple(value.get("own_files", ())),
            failures=(
                *_read_failures(value.get("failures", ())),
                *(known[place] for place in value.get("failed", ())),
            ),
            passed=_read_pairs(value.get("passed", ())),
            solved=tuple(value.get("solved", ())),
            findings=value.get("findings", 0),
            own=value.get("own", 0),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CopiedWork:
    """The work in messages that a fork copied, before its first own message.

    Attributes:
        latest: Id of the last copied message.
        passed: Number of successes of each command, by its normalised form.
        failing: Normalised forms of the failing commands.
    """

    latest: str
    passed: tuple[tuple[str, int], ...] = ()
    failing: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Convert to members of a stored state. A purge erases texts in its members, but not in objects below them."""
        return {"copied_until": self.latest, "copied_passed": self.passed, "copied_failing": self.failing}

    @classmethod
    def take_from_json(cls, value: dict[str, Any]) -> Self | None:
        """Remove the members from a stored state, and build an object from them; None if it has none."""
        latest = value.pop("copied_until", None)
        passed = _read_pairs(value.pop("copied_passed", ()))
        failing = tuple(value.pop("copied_failing", ()))
        return None if latest is None else cls(latest=latest, passed=passed, failing=failing)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionState:
    """State that is kept of a session.

    Attributes:
        goal: The user's first request.
        goal_from: Id of the message with that request.
        outcome: The agent's last message that reports work.
        outcome_from: Id of that message.
        latest: Id of the newest message.
        turns: The last messages of the user, with the work before each.
        retracted: Candidates that the user has retracted, each with the id of the message that did it.
        action: The agent's last actions and texts; used to recognise corrections.
        offer: The agent's last text that offered options.
        offered_ago: Number of user messages since the offer.
        pretending: Whether a role play is going on.
        pretending_from: Id of the message that began it.
        failures: Failing commands, by their normalised form.
        passed: Number of successes of each command, by its normalised form.
        files: Edited files, the last one first.
        copied: The work of the messages that were copied; None if the session is no fork, or did not go on.
        own_files: Files edited by messages that are no copies, if ``copied`` is not None.
        pending: Candidates that the user's next message may still retract.
        released: Statements of the user's last message that are stored already; the next message may retract them, too.
        undone_since: Id of the first message that the user has undone and may redo; None if there is none.
        removed: Ids of undone messages that were removed, until what they stored is taken back.
        written: Changes of memories by the agent's tools, the newest last: the message, the memory, the operation.
        taken: Memories of undone messages that were taken back and that a redo brings back, each with the number of the
            operation that stored it.
        injected: Hashes of memories that were injected into the session.
        proposed: Hashes of statements that were already proposed from the session.
        blockers: Topics and texts of unresolved blockers that were found in the session.
        typed: Hashes of what the user typed; see ``provenance``.
        foreign: Hashes of instructions that tools returned and the user had not typed before.
        own: Number of messages that were not copied from the session that this one was forked from.
        findings: Number of findings of the agent.
        solved: Normal forms of the complaints that edits have solved.
    """

    goal: str = ""
    goal_from: str = ""
    outcome: str = ""
    outcome_from: str = ""
    latest: str = ""
    turns: tuple[Turn, ...] = ()
    retracted: tuple[tuple[str, Candidate], ...] = ()
    action: str = ""
    offer: str = ""
    offered_ago: int = 0
    pretending: bool = False
    pretending_from: str = ""
    failures: tuple[tuple[str, Failure], ...] = ()
    passed: tuple[tuple[str, int], ...] = ()
    files: tuple[str, ...] = ()
    copied: CopiedWork | None = None
    own_files: tuple[str, ...] = ()
    pending: tuple[Candidate, ...] = field(default=())
    released: tuple[Candidate, ...] = field(default=())
    undone_since: str | None = None
    removed: tuple[str, ...] = ()
    written: tuple[tuple[str, str, int], ...] = ()
    taken: tuple[tuple[str, int], ...] = ()
    injected: tuple[int, ...] = ()
    proposed: tuple[int, ...] = ()
    typed: tuple[int, ...] = ()
    foreign: tuple[int, ...] = ()
    blockers: tuple[tuple[str, str], ...] = ()
    own: int = 0
    findings: int = 0
    solved: tuple[str, ...] = ()

    def trim(self) -> Self:
        """Drop the oldest entries of each part beyond its limit."""
        turns = self.turns[-MOST_TURNS:]
        return replace(
            self,
            failures=tuple((key, failure.trim()) for key, failure in self.failures[-MOST_FAILURES:]),
            blockers=self.blockers[-MOST_BLOCKERS:],
            passed=self.passed[-MOST_COMMANDS:],
            files=tuple(name[-LONGEST_NAME:] for name in self.files[:MOST_FILES]),
            own_files=tuple(name[-LONGEST_NAME:] for name in self.own_files[:MOST_FILES]),
            solved=self.solved[-MOST_FAILURES:],
            pending=self.pending[-MOST_PENDING:],
            released=self.released[-MOST_OF_ONE:],
            turns=turns,
            retracted=tuple((by, one) for by, one in self.retracted[-MOST_OF_ONE:] if turns and by >= turns[0].message),
            removed=self.removed[-MOST_REMOVED:],
            written=self.written[-MOST_WRITTEN:],
            taken=self.taken[-MOST_REMOVED:],
            goal=self.goal[:LONGEST_TEXT],
            outcome=self.outcome[:LONGEST_TEXT],
            action=self.action[-LONGEST_TEXT:],
            offer=self.offer[-LONGEST_TEXT:],
            proposed=self.proposed[-MOST_SAID:],
        )

    def to_json(self) -> str:
        """Serialise to JSON; the names of its members are stored and must stay."""
        turns, earlier = self._turns_as_json()
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
            "typed": self.typed,
            "foreign": self.foreign,
            "own": self.own,
            "findings": self.findings,
            "solved": self.solved,
            "blockers": self.blockers,
            "failures": [(key, asdict(failure)) for key, failure in self.failures],
            "pending": [candidate.as_json() for candidate in self.pending],
            # An earlier version does not know these names.
            **({"goal_from": self.goal_from} if self.goal_from else {}),
            **({"outcome_from": self.outcome_from} if self.outcome_from else {}),
            **({"pretending_from": self.pretending_from} if self.pretending_from else {}),
            **(self.copied.as_json() if self.copied else {}),
            **({"own_files": self.own_files} if self.own_files else {}),
            **({"latest": self.latest} if self.latest else {}),
            **({"turns": turns} if turns else {}),
            **({"earlier_failures": [(key, asdict(failure)) for key, failure in earlier]} if earlier else {}),
            **({"released": [candidate.as_json() for candidate in self.released]} if self.released else {}),
            **({"retracted": [(by, one.as_json()) for by, one in self.retracted]} if self.retracted else {}),
            **({"undone_since": self.undone_since} if self.undone_since else {}),
            **({"removed": self.removed} if self.removed else {}),
            **({"written": self.written} if self.written else {}),
            **({"taken": self.taken} if self.taken else {}),
        }
        return _dump(value)

    def _turns_as_json(self) -> tuple[list[dict[str, Any]], list[_Named]]:
        """Return the newest turns that fit, and their failures that the state does not have any more.

        Most failures are the same in several turns, so each is stored once.
        """
        places = {named: place for place, named in enumerate(self.failures)}
        found: list[dict[str, Any]] = []
        size = 0
        for turn in reversed(self.turns):
            new = [named for named in dict.fromkeys(turn.failures) if named not in places]
            with_new = places | {named: place for place, named in enumerate(new, len(places))}
            value = turn.as_json(with_new)
            size += sum(len(_dump(one).encode()) for one in (value, *(asdict(failure) for _, failure in new)))
            if size > MOST_TURN_BYTES:
                break
            places = with_new
            found.insert(0, value)
        return found, list(places)[len(self.failures) :]

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Parse stored JSON; missing members (``{}``) get their defaults."""
        value: dict[str, Any] = {_FIELDS.get(name, name): stored for name, stored in json.loads(text).items()}
        failures = _read_failures(value.pop("failures", ()))
        pending = tuple(Candidate.from_json(candidate) for candidate in value.pop("pending", ()))
        released = tuple(Candidate.from_json(candidate) for candidate in value.pop("released", ()))
        blockers = _read_pairs(value.pop("blockers", ()))
        passed = _read_pairs(value.pop("passed", ()))
        copied = CopiedWork.take_from_json(value)
        written = tuple((message, id_, operation) for message, id_, operation in value.pop("written", ()))
        taken = _read_pairs(value.pop("taken", ()))
        known_failures = (*failures, *_read_failures(value.pop("earlier_failures", ())))
        turns = tuple(Turn.from_json(turn, known_failures) for turn in value.pop("turns", ()))
        retracted = tuple((by, Candidate.from_json(candidate)) for by, candidate in value.pop("retracted", ()))
        # A later version may have stored members that this one does not know.
        known = {one.name for one in fields(cls)}
        plain: dict[str, Any] = {
            name: tuple(stored) if isinstance(stored, list) else stored
            for name, stored in value.items()
            if name in known
        }
        return cls(
            failures=failures,
            copied=copied,
            pending=pending,
            released=released,
            passed=passed,
            written=written,
            taken=taken,
            turns=turns,
            retracted=retracted,
            blockers=blockers,
            **plain,
        )


def _dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _read_pairs(stored: Iterable[tuple[str, _T]]) -> tuple[tuple[str, _T], ...]:
    return tuple((key, value) for key, value in stored)


def _read_failures(stored: Iterable[tuple[str, dict[str, Any]]]) -> tuple[tuple[str, Failure], ...]:
    return tuple((key, Failure.from_json(failure)) for key, failure in stored)
