"""The ledger: which memories were added to which message of a session, and whether they helped.

A decision is final, also if it is "nothing" or "too late". It is replayed byte for byte whenever its session is sent
again. This module only records decisions; ``context`` makes them. A purge overrides replay: it erases every decision
that quotes an erased memory.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from opencode_memory.errors import InvalidInputError
from opencode_memory.models import ALL_PROJECTS
from opencode_memory.store import arguments

if TYPE_CHECKING:
    from opencode_memory._core import Engine

_NOT_YET: Final = datetime(1970, 1, 1, tzinfo=UTC)


class State(StrEnum):
    """State of a decision; only ``offered`` changes, to ``shown`` or ``late``."""

    OFFERED = "offered"
    SHOWN = "shown"
    NOTHING = "nothing"
    LATE = "late"
    ERASED = "erased"


class Outcome(StrEnum):
    """Effect of a memory that was shown."""

    USED = "used"
    CONTRADICTED = "contradicted"


# Looking a member up by value costs more than everything else in building a decision.
_STATES: Final = {member.value: member for member in State}
_OUTCOMES: Final = {None: None} | {member.value: member for member in Outcome}


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A memory in the text of a decision.

    Attributes:
        memory: Its id.
        key: The version of its text.
        score: Its score.
        why: The reasons for showing it, for people.
        outcome: Its effect, if that was recorded; a new decision has none.
    """

    memory: str
    key: int
    score: float
    why: str
    outcome: Outcome | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The decision on one message.

    Attributes:
        session: The session.
        message: The message, unique in its session.
        project: The project of the session; None if it has none.
        at: The time of the decision; set by the store.
        state: Its state.
        text: The text added to the message, byte for byte. An offered decision has one. A shown decision may have none
            if it is sent once and never replayed. Other decisions have none.
        tokens: Length of the text in tokens.
        shown: The memories in the text, in their order.
        about: How the decision was made, as JSON. Never the text of a memory, because a purge looks for memories in
            ``shown`` only. Empty once the decision is erased.
    """

    session: str
    message: str
    project: str | None = None
    at: datetime = _NOT_YET
    state: State
    text: str = ""
    tokens: int = 0
    shown: tuple[Shown, ...] = ()
    about: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Usefulness:
    """Numbers of sessions that were shown a memory, that used it, and that contradicted it."""

    shown: int
    used: int
    contradicted: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSummary:
    """A session with decisions.

    Attributes:
        session: Its id.
        project: The project of its last decision.
        messages: Number of messages with a decision.
        shown: Number of different memories shown.
        last_at: Time of the last decision.
    """

    session: str
    project: str | None
    messages: int
    shown: int
    last_at: datetime


class Ledger:
    """The decisions of a store; ``MemoryStore.ledger`` is one."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def decide(self, decision: Decision) -> Decision:
        """Write a decision unless the message has one already; return the decision that is stored.

        Secrets in its text, in ``about`` and in the reasons are redacted. Show the returned decision, not the given.

        Raises:
            ConflictError: A memory in it was removed meanwhile; recall again.
        """
        decided = self._engine.decide(
            {
                "session": arguments.text(decision.session, field="session"),
                "message": arguments.text(decision.message, field="message"),
                "project": arguments.project_name(decision.project),
                "state": arguments.text(decision.state, field="state"),
                "text": arguments.text(decision.text, field="text"),
                "tokens": arguments.count(decision.tokens, field="tokens"),
                "about": arguments.json_object(decision.about, field="about") or "{}",
                "shown": [_row(shown) for shown in decision.shown],
            }
        )
        return _decision(decided)

    def settle(self, session: str, message: str, state: State) -> bool:
        """Record whether an offered decision arrived; false if that was recorded before, or for an unknown decision.

        Args:
            session: Its session.
            message: Its message.
            state: ``shown`` or ``late``. A late text was not shown, so it is removed.
        """
        return self._engine.settle(
            arguments.text(session, field="session"),
            arguments.text(message, field="message"),
            arguments.text(state, field="state"),
        )

    def decisions(self, session: str) -> list[Decision]:
        """Return the decisions of a session, in order of time."""
        return [_decision(found) for found in self._engine.decisions(arguments.text(session, field="session"))]

    def sessions(self, *, project: str | None = ALL_PROJECTS, limit: int = 20) -> list[SessionSummary]:
        """Return sessions with decisions, newest first.

        Args:
            project: Only decisions of this project; None for those of no project.
            limit: Maximum number of sessions.
        """
        everywhere = project == ALL_PROJECTS
        found = self._engine.decided_sessions(
            None if everywhere else arguments.project_name(project), everywhere, arguments.count(limit, field="limit")
        )
        return [SessionSummary(**(session | {"last_at": arguments.moment(session["last_at"])})) for session in found]

    def find(self, prefix: str) -> list[str]:
        """Return sessions whose id starts or ends with ``prefix``, newest first; for a full id only that session."""
        return self._engine.find_sessions(arguments.text(prefix, field="session"))

    def find_original(self, *, project: str | None, created: Sequence[int]) -> str | None:
        """Return a session that was shown memories beside a message created at one of these times.

        A block or the answer of a slash command shows them.

        A fork of a session copies its messages with their times. So it finds the session that it was forked from.

        Args:
            project: The project of the session; None if it has none.
            created: Times of creation of messages, in Unix milliseconds.
        """
        times = [arguments.count(time, field="created") for time in created]
        return self._engine.find_original_session(arguments.project_name(project), times)

    def note(self, session: str, memories: Sequence[str], outcome: Outcome) -> int:
        """Record the effect of memories that were shown to a session.

        ``used`` may turn into ``contradicted``, never the other way.

        Returns:
            The number of memories whose outcome changed.
        """
        return self._engine.note_outcome(
            arguments.text(session, field="session"),
            arguments.texts(memories, field="memories"),
            arguments.text(outcome, field="outcome"),
        )

    def usefulness(self, memories: Sequence[str]) -> dict[str, Usefulness]:
        """Return the usefulness of memories by id; each session counts once."""
        ids = arguments.texts(memories, field="memories")
        return {
            id_: Usefulness(shown=shown, used=used, contradicted=contradicted)
            for id_, (shown, used, contradicted) in zip(ids, self._engine.usefulness(ids), strict=True)
        }


def _row(shown: Shown) -> tuple[str, int, float, str]:
    if shown.outcome is not None:
        raise InvalidInputError("outcome: a new decision has none; note it later", field="outcome")
    score = arguments.number(shown.score, field="score")
    if score is None:
        raise InvalidInputError("score: is missing", field="score")
    return (
        arguments.text(shown.memory, field="memory"),
        arguments.count(shown.key, field="key"),
        score,
        arguments.text(shown.why, field="why"),
    )


def _decision(found: dict[str, Any]) -> Decision:
    return Decision(
        session=found["session"],
        message=found["message"],
        project=found["project"],
        at=arguments.moment(found["at"]),
        state=_STATES[found["state"]],
        text=found["text"],
        tokens=found["tokens"],
        shown=tuple(
            Shown(memory=memory, key=key, score=score, why=why, outcome=_OUTCOMES[outcome])
            for memory, key, score, why, outcome in found["shown"]
        ),
        about=json.loads(found["about"]),
    )
