"""DevMemBench: a developer's sessions with a coding assistant, over several projects, all in one store.

Read from ``sessions.json`` and ``questions.json``. Evidence names sessions, not messages. Questions for
abstention have no evidence.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from ..conversations import Conversation, Question, QuestionSet, Turn
from .json_file import layout_of, read_json

ABSTENTION: Final = "abstention"


def load(folder: Path) -> Iterator[Conversation]:
    """Yield the one conversation of a folder."""
    sessions, questions = (read_json(folder / name) for name in ("sessions.json", "questions.json"))
    with layout_of(DEVMEMBENCH.title, folder):
        conversation = _conversation(sessions, questions)
    yield conversation


def _conversation(sessions: Sequence[Mapping[str, Any]], asked: Sequence[Mapping[str, Any]]) -> Conversation:
    turns = tuple(
        Turn(
            id=f"{session['sessionId']}:{position}",
            session=session["sessionId"],
            position=position,
            speaker=message["role"],
            text=message["content"],
            time=datetime.fromisoformat(session["metadata"]["date"]).replace(tzinfo=UTC),
        )
        for session in sessions
        for position, message in enumerate(session["messages"])
    )
    questions = tuple(
        Question(
            id=question["questionId"],
            category=question["questionType"],
            text=question["question"],
            turns=frozenset(),
            sessions=frozenset(question["haystackSessionIds"]),
            is_answerable=question["questionType"] != ABSTENTION,
        )
        for question in asked
    )
    return Conversation("all", turns, questions, max(turn.time for turn in turns) + timedelta(days=1))


DEVMEMBENCH: Final = QuestionSet("devmembench", "DevMemBench", "devmembench", load)
