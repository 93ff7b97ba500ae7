"""BEAM: long chats with an assistant, of long messages; one chat is one store, one batch of a chat one session.

Read from numbered folders with ``chat.json`` and ``probing_questions.json``. A batch holds the messages from one time
anchor to the next. Questions ask for ten abilities; those for abstention have no answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from ..conversations import Conversation, DataError, Question, QuestionSet, Turn, located
from .json_file import layout_of, read_json

ABSTENTION: Final = "abstention"

_PLAN_REFERENCE: Final = re.compile(r"\s*->->.*\Z", re.DOTALL)
_TIME_FORMAT: Final = "%B-%d-%Y"
_NO_ANCHOR: Final = datetime(2024, 1, 1, tzinfo=UTC)


def load(folder: Path) -> Iterator[Conversation]:
    """Yield the chats of a folder, by number."""
    chats = sorted(folder.glob("*/chat.json"), key=lambda path: (len(path.parent.name), path.parent.name))
    if not chats:
        raise DataError(f"{folder} holds no folder with a chat.json")
    for path in chats:
        questions = read_json(path.with_name("probing_questions.json"))
        batches = read_json(path)
        with layout_of(BEAM.title, path.parent):
            conversation = _conversation(path.parent.name, batches, questions)
        yield conversation


def message_ids(source: Any) -> list[str]:
    """Return the message ids of an annotation, which is a list, a mapping of lists, or lists within lists."""
    if isinstance(source, Mapping):
        return message_ids(list(source.values()))
    if isinstance(source, list):
        return [id_ for part in source for id_ in message_ids(part)]
    return [str(source)]


def without_plan_reference(content: str) -> str:
    """Return a message without its note on how the set was made, for example ``->-> 1,3``."""
    return _PLAN_REFERENCE.sub("", content)


def _conversation(name: str, batches: Sequence[Mapping[str, Any]], abilities: Mapping[str, Any]) -> Conversation:
    turns = []
    time = _NO_ANCHOR
    for batch in batches:
        said = [message for turn in batch["turns"] for message in turn]
        time = _anchor(said) or time
        turns += [
            Turn(
                id=str(message["id"]),
                session=f"batch-{batch['batch_number']}",
                position=position,
                speaker=message["role"],
                text=without_plan_reference(message["content"]),
                time=time,
            )
            for position, message in enumerate(said)
        ]
    questions = []
    for ability, asked in abilities.items():
        for index, question in enumerate(asked):
            places, sessions = located(tuple(turns), message_ids(question.get("source_chat_ids", [])))
            is_answerable = ability != ABSTENTION
            id_ = f"{name}:{ability}:{index}"
            questions.append(Question(id_, ability, question["question"], places, sessions, is_answerable))
    return Conversation(name, tuple(turns), tuple(questions), time + timedelta(days=1))


def _anchor(said: Sequence[Mapping[str, Any]]) -> datetime | None:
    for message in said:
        if message.get("time_anchor"):
            return datetime.strptime(message["time_anchor"], _TIME_FORMAT).replace(tzinfo=UTC)
    return None


BEAM: Final = QuestionSet("beam", "BEAM-100K", "beam-100k", load)
