"""What stands beside the messages of OpenCode's sessions: each decision once, and what came of what was shown.

A decision, "nothing" and "too late" included, is final, and replayed byte for byte whenever its session is sent again.
Nothing here decides; it only says what was decided first. A purge goes before replay: it erases every decision that
quotes what it erases.
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
    """What became of a decision; only ``offered`` moves on by itself, to ``shown`` or ``late``."""

    OFFERED = "offered"
    SHOWN = "shown"
    NOTHING = "nothing"
    LATE = "late"
    ERASED = "erased"


class Outcome(StrEnum):
    """What a memory that was shown came to."""

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
        score: What it scored.
        why: What spoke for it, for people.
        outcome: What it came to, as far as that was noted; a new decision has none.
    """

    memory: str
    key: int
    score: float
    why: str
    outcome: Outcome | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What was decided for one message.

    Attributes:
        session: The session.
        message: The message, unique in its session.
        project: The project that the session works on; None for none.
        at: When; the store says, whatever is given.
        state: What became of it.
        text: What stands beside the message, byte for byte. What is offered has one; what is shown may be without,
            if it is sent once and never replayed; nothing else has one.
        tokens: How long that is, or was, for a model.
        shown: The memories in the text, in their order.
        about: How it came about, JSON; never the text of a memory, since a purge looks for memories in ``shown``.
            Empty once it is erased.
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
    """To how many sessions a memory was shown, to how many of them it was of use, and how many found it to be wrong."""

    shown: int
    used: int
    contradicted: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSummary:
    """A session that something was decided for.

    Attributes:
        session: Its id.
        project: The project of its last decision.
        messages: How many messages were decided on.
        shown: How many memories were shown to it, each counted once.
        last_at: When the last decision was made.
    """

    session: str
    project: str | None
    messages: int
    shown: int
    last_at: datetime


class Ledger:
    """The decisions of a store; ``MemoryStore.ledger`` is it."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def decide(self, decision: Decision) -> Decision:
        """Write a decision, unless one was made on this message before; return the one that counts, as it is stored.

        Secrets in its text, in ``about`` and in what spoke for a memory are replaced, so what is returned is shown.

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
                "shown": [_row(one) for one in decision.shown],
            }
        )
        return _decision(decided)

    def settle(self, session: str, message: str, state: State) -> bool:
        """Say whether a decision that was offered arrived; false when it was settled before, or is not known.

        Args:
            session: Its session.
            message: Its message.
            state: ``shown`` or ``late``; what came late was not shown, so its text goes.
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
        """Return sessions that something was decided for, the newest first.

        Args:
            project: Only decisions of this project; None for those of no project.
            limit: How many at most.
        """
        everywhere = project == ALL_PROJECTS
        found = self._engine.decided_sessions(
            None if everywhere else arguments.project_name(project), everywhere, arguments.count(limit, field="limit")
        )
        return [SessionSummary(**(one | {"last_at": arguments.moment(one["last_at"])})) for one in found]

    def find(self, prefix: str) -> list[str]:
        """Return the sessions whose id starts or ends with this, the newest first; a full id is that session alone."""
        return self._engine.find_sessions(arguments.text(prefix, field="session"))

    def note(self, session: str, memories: Sequence[str], outcome: Outcome) -> int:
        """Note what memories that were shown to a session came to.

        ``used`` may turn into ``contradicted``, never the other way.

        Returns:
            For how many memories that is news.
        """
        return self._engine.note_outcome(
            arguments.text(session, field="session"),
            arguments.texts(memories, field="memories"),
            arguments.text(outcome, field="outcome"),
        )

    def usefulness(self, memories: Sequence[str]) -> dict[str, Usefulness]:
        """Say what memories have come to, each of them by its id; a session that saw one often counts once."""
        ids = arguments.texts(memories, field="memories")
        return {
            id_: Usefulness(shown=shown, used=used, contradicted=contradicted)
            for id_, (shown, used, contradicted) in zip(ids, self._engine.usefulness(ids), strict=True)
        }


def _row(one: Shown) -> tuple[str, int, float, str]:
    if one.outcome is not None:
        raise InvalidInputError("outcome: a new decision has none; note it later", field="outcome")
    score = arguments.number(one.score, field="score")
    if score is None:
        raise InvalidInputError("score: is missing", field="score")
    return (
        arguments.text(one.memory, field="memory"),
        arguments.count(one.key, field="key"),
        score,
        arguments.text(one.why, field="why"),
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
