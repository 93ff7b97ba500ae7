"""Messages that are labelled with the memories that they need, and these memories."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

FOLDER: Final = Path(__file__).parents[2] / "tests" / "data" / "injection"
SETS: Final = ("tuning", "held_out")


@dataclass(frozen=True, slots=True)
class Message:
    """A message of a user to a coding agent.

    Attributes:
        id: Unique in both sets.
        project: Project of the message.
        kind: Kind of the message.
        text: Text of the user.
        relevant: Ids of the memories that should be added.
        also: Ids of the memories that may be added.
    """

    id: str
    project: str
    kind: str
    text: str
    relevant: frozenset[str]
    also: frozenset[str]


def messages(name: str) -> list[Message]:
    """Read one of the sets."""
    return [
        Message(
            id=found["id"],
            project=found["project"],
            kind=found["kind"],
            text=found["text"],
            relevant=frozenset(found["relevant"]),
            also=frozenset(found["also"]),
        )
        for found in _lines(f"{name}.jsonl")
    ]


def memories() -> Iterator[dict[str, Any]]:
    """Read the memories of all projects, as fields of the file."""
    return _lines("memories.jsonl")


def _lines(name: str) -> Iterator[dict[str, Any]]:
    with (FOLDER / name).open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)
