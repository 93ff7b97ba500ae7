"""Answers of a recall: hits among memories and among turns of sessions, with their explanations."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from opencode_memory.models.memory import Memory


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """One thing that spoke for a hit.

    Attributes:
        name: ``words``, ``meaning``, or the name of a boost.
        raw: The value before normalisation: BM25 score, cosine, age in days ….
        rank: Place among the candidates of that signal, counted from 1; None for boosts.
        contribution: Its part of the hit's score.
        detail: The same in words.
    """

    name: str
    raw: float
    rank: int | None
    contribution: float
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why a hit is where it is; the contributions add up to the score."""

    signals: tuple[Signal, ...]

    def __str__(self) -> str:
        return "; ".join(signal.detail for signal in self.signals)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A memory that answers a recall.

    Attributes:
        memory: The memory.
        score: Compares hits of the same recall only.
        rank: Its place, counted from 1.
        relevance: How relevant it is by itself: its cosine and a weighted share of the query's words. Comparable
            between recalls. None if it was added because it contradicts another hit.
        floor: The relevance that at least one hit of the answer had to reach.
        explanation: Why it is at its place, if the recall was asked to explain.
    """

    memory: Memory
    score: float
    rank: int
    relevance: float | None = None
    floor: float | None = None
    explanation: Explanation | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What one side said in one message of a session of a coding agent.

    Attributes:
        database: The file of the agent that holds the session.
        session: Id of the session.
        message: Id of the message.
        project: The project of the session; None for none.
        speaker: ``user`` or ``assistant``.
        time: When it was said.
        position: Place among the turns of the session, from 0.
        digest: Identifies the text that was indexed.
        title: Title of the session; empty until the text is read.
        text: The text, with secrets redacted; empty until it is read.
    """

    database: str
    session: str
    message: str
    project: str | None
    speaker: str
    time: datetime
    position: int
    digest: bytes
    title: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionHit:
    """A turn of a session that answers a recall; the attributes are those of ``Hit``."""

    turn: Turn
    score: float
    rank: int
    explanation: Explanation | None = None
    relevance: float | None = None
    floor: float | None = None


class Sources(StrEnum):
    """The data that a search covers."""

    MEMORIES = "memories"
    SESSIONS = "sessions"
    ALL = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class Earlier:
    """An earlier statement on the subject of a memory, or a global one that speaks against a memory of a project.

    Attributes:
        memory: The other statement, active or superseded.
        is_replaced: Whether the later memory takes its place. Otherwise both may hold, in other circumstances.
    """

    memory: Memory
    is_replaced: bool
