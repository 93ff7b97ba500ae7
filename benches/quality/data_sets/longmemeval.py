"""LongMemEval: each question has its own haystack of chat sessions, and therefore its own store.

Read from ``longmemeval_s*.json`` or ``longmemeval_oracle*.json``, the first that exists. The turns marked
``has_answer`` are the evidence; a question without marked turns is judged by its sessions. Ids that end with ``_abs``
ask for missing information.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from ..conversations import Conversation, DataError, Question, QuestionSet, Turn
from .json_file import layout_of, read_json

_PATTERNS: Final = ("longmemeval_s*.json", "longmemeval_oracle*.json")
_WEEKDAY: Final = re.compile(r"\s*\(\w+\)\s*")
_TIME_FORMAT: Final = "%Y/%m/%d %H:%M"
_ABSTENTION_ENDING: Final = "_abs"


def load(folder: Path) -> Iterator[Conversation]:
    """Yield a conversation for each question of the file in a folder."""
    path = next((found for pattern in _PATTERNS for found in sorted(folder.glob(pattern))), None)
    if path is None:
        raise DataError(f"{folder} holds no {' and no '.join(_PATTERNS)}")
    for entry in read_json(path):
        with layout_of(LONGMEMEVAL.title, path):
            conversation = _conversation(entry)
        yield conversation


def _conversation(entry: Mapping[str, Any]) -> Conversation:
    turns: list[Turn] = []
    evidence: set[str] = set()
    seen: set[str] = set()
    for session, date, said in zip(
        entry["haystack_session_ids"], entry["haystack_dates"], entry["haystack_sessions"], strict=True
    ):
        if session in seen:
            continue  # A haystack may hold the same filler twice.
        seen.add(session)
        for position, message in enumerate(said):
            if not message["content"].strip():
                continue
            turn = Turn(
                id=f"{session}:{position}",
                session=session,
                position=position,
                speaker=message["role"],
                text=message["content"],
                time=_time(date),
            )
            turns.append(turn)
            if message.get("has_answer"):
                evidence.add(turn.id)
    id_ = entry["question_id"]
    is_answerable = not id_.endswith(_ABSTENTION_ENDING)
    question = Question(
        id=id_,
        category=entry["question_type"],
        text=entry["question"],
        turns=frozenset(evidence) if is_answerable else frozenset(),
        sessions=frozenset(entry["answer_session_ids"]) & seen if is_answerable else frozenset(),
        is_answerable=is_answerable,
    )
    return Conversation(id_, tuple(turns), (question,), _time(entry["question_date"]))


def _time(text: str) -> datetime:
    return datetime.strptime(_WEEKDAY.sub(" ", text), _TIME_FORMAT).replace(tzinfo=UTC)


LONGMEMEVAL: Final = QuestionSet("longmemeval", "LongMemEval", "longmemeval", load)
