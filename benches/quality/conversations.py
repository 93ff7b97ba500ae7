"""Common form of all question sets: conversations of turns, and questions with the places of their answers.

This module knows neither file formats nor the store. The id of a turn is unique in its conversation, the id of a
question in its set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path


class DataError(Exception):
    """A file of a data directory is missing or does not have the layout of its set."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One message, which becomes one memory. ``position`` counts from 0 in its session."""

    id: str
    session: str
    position: int
    speaker: str
    text: str
    time: datetime


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the places of its answer.

    Attributes:
        id: Unique in the set.
        category: One of the set's categories.
        text: The question.
        turns: Ids of the turns that contain the answer; empty if the set names sessions only.
        sessions: Ids of the sessions that contain it.
        is_answerable: False if the set deliberately asks for missing information.
    """

    id: str
    category: str
    text: str
    turns: frozenset[str]
    sessions: frozenset[str]
    is_answerable: bool = True


@dataclass(frozen=True, slots=True)
class Conversation:
    """Turns in chronological order, and the questions that are asked at ``asked_at``."""

    id: str
    turns: tuple[Turn, ...]
    questions: tuple[Question, ...]
    asked_at: datetime


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """A published set of questions.

    Attributes:
        name: Its name on the command line.
        title: Its published name.
        folder: Its folder in the data directory.
        load: Yields the conversations of that folder; raises ``DataError``.
    """

    name: str
    title: str
    folder: str
    load: Callable[[Path], Iterator[Conversation]]


def located(turns: tuple[Turn, ...], ids: list[str]) -> tuple[frozenset[str], frozenset[str]]:
    """Return the turns among ``ids`` that exist, and their sessions.

    Annotations that name no existing turn are dropped, because no system could find them.
    """
    session_of = {turn.id: turn.session for turn in turns}
    found = [id_ for id_ in ids if id_ in session_of]
    return frozenset(found), frozenset(session_of[id_] for id_ in found)
