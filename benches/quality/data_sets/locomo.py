"""LoCoMo: two people chat over months, in dated sessions; one conversation is one store.

Read from ``locomo.json``, or ``locomo10.json`` as it is published. A shared picture is represented by its
caption, in the words of the set's own prompts. All questions with evidence count, including the adversarial ones
(category 5), because the statement that they twist is in the conversation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from ..conversations import Conversation, Question, QuestionSet, Turn, located
from .json_file import layout_of, read_json

CATEGORIES: Final = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}

_FILES: Final = ("locomo.json", "locomo10.json")
_SESSION: Final = re.compile(r"session_(\d+)")
_DIALOG_ID: Final = re.compile(r"D:?(\d+):(\d+)")
_TIME_FORMAT: Final = "%I:%M %p on %d %B, %Y"


def load(folder: Path) -> Iterator[Conversation]:
    """Yield the conversations of a folder."""
    path = next((folder / name for name in _FILES if (folder / name).exists()), folder / _FILES[0])
    for sample in read_json(path):
        with layout_of(LOCOMO.title, path):
            conversation = _conversation(sample)
        yield conversation


def dialog_ids(evidence: Sequence[str]) -> list[str]:
    """Return the dialog ids of an annotation, including forms such as ``D8:6; D9:17`` and ``D:11:26``."""
    return [f"D{session}:{turn}" for part in evidence for session, turn in _DIALOG_ID.findall(part)]


def _conversation(sample: Mapping[str, Any]) -> Conversation:
    dialog = sample["conversation"]
    numbers = sorted(int(match[1]) for name in dialog if (match := _SESSION.fullmatch(name)))
    times = {number: _time(dialog[f"session_{number}_date_time"]) for number in numbers}
    turns = tuple(
        Turn(
            id=said["dia_id"],
            session=f"session_{number}",
            position=position,
            speaker=said["speaker"],
            text=_text(said),
            time=times[number],
        )
        for number in numbers
        for position, said in enumerate(dialog[f"session_{number}"])
    )
    questions = []
    for index, asked in enumerate(sample["qa"]):
        places, sessions = located(turns, dialog_ids(asked["evidence"]))
        category = CATEGORIES[asked["category"]]
        questions.append(Question(f"{sample['sample_id']}:{index}", category, asked["question"], places, sessions))
    return Conversation(sample["sample_id"], turns, tuple(questions), max(times.values()) + timedelta(days=1))


def _text(said: Mapping[str, Any]) -> str:
    caption = said.get("blip_caption")
    return f"{said['text']} and shared {caption}." if caption else str(said["text"])


def _time(text: str) -> datetime:
    return datetime.strptime(text, _TIME_FORMAT).replace(tzinfo=UTC)


LOCOMO: Final = QuestionSet("locomo", "LoCoMo", "locomo", load)
