"""What every question set is turned into: conversations of turns, and questions with the places of their answers.

Nothing here knows a file format or the store. A turn's id is unique in its conversation; a question's in its set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path


class DataError(Exception):
    """A data directory lacks a file, or a file has not the layout that its set is published in."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One message: what becomes one memory. ``position`` counts from 0 in its session."""

    id: str
    session: str
    position: int
    speaker: str
    text: str
    time: datetime


@dataclass(frozen=True, slots=True)
class Question:
    """A question and where its answer was said.

    Attributes:
        id: Unique in the set.
        category: One of the set's categories.
        text: What is asked.
        turns: Ids of the turns that hold the answer; empty when the set only names sessions.
        sessions: Ids of the sessions that hold it.
        is_answerable: False when the set asks on purpose for what was never said.
    """

    id: str
    category: str
    text: str
    turns: frozenset[str]
    sessions: frozenset[str]
    is_answerable: bool = True


@dataclass(frozen=True, slots=True)
class Conversation:
    """Turns in the order in which they were said, and what is asked at the moment ``asked_at``."""

    id: str
    turns: tuple[Turn, ...]
    questions: tuple[Question, ...]
    asked_at: datetime


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """A published set of questions.

    Attributes:
        name: What the command line calls it.
        title: What people call it.
        folder: Where it lies in the data directory.
        load: Reads the conversations of that folder, one after the other; raises ``DataError``.
    """

    name: str
    title: str
    folder: str
    load: Callable[[Path], Iterator[Conversation]]


def located(turns: tuple[Turn, ...], ids: list[str]) -> tuple[frozenset[str], frozenset[str]]:
    """Return the turns among ``ids`` that exist, and the sessions that they are in.

    An annotation that names no turn can be found by nobody, so it is not counted against anybody.
    """
    session_of = {turn.id: turn.session for turn in turns}
    found = [id_ for id_ in ids if id_ in session_of]
    return frozenset(found), frozenset(session_of[id_] for id_ in found)
