"""Sessions with labels for the memories that must be learned from them: ``tests/data/extraction``."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from opencode_memory.learning.extraction.events import (
    AssistantText,
    Compaction,
    Event,
    Feedback,
    Message,
    SessionInfo,
    ToolCall,
    ToolStatus,
    UserText,
)

FOLDER: Final = Path(__file__).parents[2] / "tests" / "data" / "extraction"
SETS: Final = ("frozen", "tuning", "practice")
_REJECTED: Final = "with the following feedback: "


@dataclass(frozen=True, slots=True)
class Expected:
    """A memory that must or may be learned.

    Attributes:
        categories: Acceptable categories.
        words: Lists of alternatives; the text has to contain one word of each list.
        none: Words that the text must not contain.
        optional: Whether it may be missing.
    """

    categories: tuple[str, ...]
    words: tuple[tuple[str, ...], ...]
    none: tuple[str, ...]
    optional: bool

    def fits(self, category: str, content: str) -> bool:
        """Return whether a memory matches."""
        return category in self.categories and self.says(content)

    def says(self, content: str) -> bool:
        """Return whether a text contains the words, regardless of its category."""
        text = content.lower()
        return all(any(word.lower() in text for word in any_of) for any_of in self.words) and not any(
            word.lower() in text for word in self.none
        )


@dataclass(frozen=True, slots=True)
class LabelledSession:
    """One session of a labelled sequence."""

    info: SessionInfo
    project: str
    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class Labelled:
    """A sequence of sessions and the expected memories."""

    id: str
    about: str
    sessions: tuple[LabelledSession, ...]
    expected: tuple[Expected, ...]


def read(name: str) -> Iterator[Labelled]:
    """Read one of the sets."""
    with (FOLDER / f"{name}.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            found = json.loads(line)
            yield Labelled(
                id=found["id"],
                about=found["about"],
                sessions=tuple(_session(found["id"], session) for session in found["sessions"]),
                expected=tuple(expected(label) for label in found["expected"]),
            )


def expected(found: dict[str, Any]) -> Expected:
    """Read the expected memories."""
    return Expected(
        categories=tuple(found["category"]),
        words=tuple((words,) if isinstance(words, str) else tuple(words) for words in found["all"]),
        none=tuple(found.get("none", ())),
        optional=bool(found.get("optional", False)),
    )


def _session(sequence: str, found: dict[str, Any]) -> LabelledSession:
    name = f"{sequence}:{found['id']}"
    messages = [_message(name, number, event) for number, event in enumerate(found["events"]) if event["type"] != "end"]
    info = SessionInfo(id=name, directory=found["directory"])
    return LabelledSession(info, found["project"], tuple(messages))


def _message(session: str, number: int, event: dict[str, Any]) -> Message:
    name = f"msg_{number:04}"
    digest = hashlib.blake2b(f"{session}:{number}".encode(), digest_size=16).hexdigest()
    return Message(id=name, at_ms=1_780_000_000_000 + number * 1000, events=(_event(event),), digest=digest)


def _event(event: dict[str, Any]) -> Event:
    kind = event["type"]
    if kind == "user":
        return UserText(text=event["text"])
    if kind == "assistant":
        return AssistantText(text=event["text"])
    if kind == "compaction":
        return Compaction(summary=event["text"])
    error = event.get("error", "")
    if _REJECTED in error:
        return Feedback(tool=event["tool"], input=event["input"], text=error.split(_REJECTED, 1)[1])
    return ToolCall(
        tool=event["tool"],
        input=event["input"],
        status=ToolStatus(event["status"]),
        exit=event.get("exit"),
        output=event.get("output", ""),
        error=error,
    )


def labels(sequences: Sequence[Labelled]) -> int:
    """Return the number of memories that must be learned."""
    return sum(not label.optional for sequence in sequences for label in sequence.expected)
