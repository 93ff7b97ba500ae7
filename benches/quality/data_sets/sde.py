"""sde-bench: coding decisions that the user states in one chat, among chats about other parts of the code.

Read from ``tasks.json`` and ``decoys.json``. A bug report is the question, the chat of its task the evidence. Tasks
whose rule a second chat amends form a store of their own, without the tasks that they repeat; there the second chat is
the evidence. One chat is one session, and one day lies between two chats.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from ..conversations import Conversation, Question, QuestionSet, Turn
from .json_file import layout_of, read_json

ONCE: Final = "decided once"
AMENDED: Final = "amended"

_FIRST_DAY: Final = datetime(2026, 1, 5, 9, tzinfo=UTC)
_SEED: Final = 7
_AMENDED_NAME: Final = "-amended"

Chat = Sequence[Mapping[str, str]]


def load(folder: Path) -> Iterator[Conversation]:
    """Yield two stores: the tasks that are decided once, and those that are amended with the others around them."""
    with layout_of(SDE.title, folder):
        tasks = read_json(folder / "tasks.json")
        decoys = {f"decoy-{number}": [one["turns"]] for number, one in enumerate(read_json(folder / "decoys.json"))}
        once = [task for task in tasks if not _is_amended(task)]
        amended = [task for task in tasks if _is_amended(task)]
        repeated = {task["task_id"].replace(_AMENDED_NAME, "") for task in amended}
        around = [task for task in once if task["task_id"] not in repeated]
    yield _conversation(ONCE, once, once, decoys)
    yield _conversation(AMENDED, amended, [*around, *amended], decoys)


def earlier_session(session: str) -> str:
    """Return the chat that the chat of an amended task corrects."""
    return session.removesuffix("/1") + "/0"


def _is_amended(task: Mapping[str, Any]) -> bool:
    return isinstance(task["conversations"][0], list)


def _conversation(
    name: str, asked: Sequence[Mapping[str, Any]], tasks: Sequence[Mapping[str, Any]], decoys: Mapping[str, list[Chat]]
) -> Conversation:
    chats = dict(decoys)
    chats |= {
        task["task_id"]: task["conversations"] if _is_amended(task) else [task["conversations"]] for task in tasks
    }
    # The order of the chats of one task stays, and other chats may lie between them.
    sessions = [(id_, number) for id_, parts in chats.items() for number in range(len(parts))]
    order = random.Random(_SEED)
    places = sorted(order.random() for _ in sessions)
    order.shuffle(places)
    days = dict(zip(sessions, places, strict=True))
    for id_, parts in chats.items():
        for number, day in enumerate(sorted(days[id_, number] for number in range(len(parts)))):
            days[id_, number] = day
    turns: list[Turn] = []
    for day, (id_, number) in enumerate(sorted(sessions, key=lambda session: days[session])):
        turns += _turns(f"{id_}/{number}", chats[id_][number], _FIRST_DAY + timedelta(days=day))
    last = {id_: f"{id_}/{len(parts) - 1}" for id_, parts in chats.items()}
    questions = tuple(
        Question(task["task_id"], name, task["bug_report"], frozenset(), frozenset({last[task["task_id"]]}))
        for task in asked
    )
    return Conversation(name, tuple(turns), questions, _FIRST_DAY + timedelta(days=len(sessions)))


def _turns(session: str, chat: Chat, begin: datetime) -> Iterator[Turn]:
    for position, said in enumerate(chat):
        yield Turn(
            id=f"{session}:{position}",
            session=session,
            position=position,
            speaker=said["role"],
            text=said["text"],
            time=begin + timedelta(minutes=position),
        )


SDE: Final = QuestionSet("sde", "sde-bench", "sde-bench", load)
