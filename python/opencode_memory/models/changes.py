"""Results of writes, and the history of memories."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from opencode_memory.models.memory import Memory, Trust


class RememberStatus(StrEnum):
    """Outcome of ``remember``."""

    STORED = "stored"
    MERGED = "merged"
    UPDATED = "updated"
    KEPT = "kept"


@dataclass(frozen=True, slots=True, kw_only=True)
class RememberResult:
    """Result of writing a memory.

    Attributes:
        id: The memory that holds the text now.
        status: ``stored``: a new memory. ``merged``: the same text was there, and its metadata was added.
            ``updated``: its topic was there, and now has this text. ``kept``: the topic is held by a memory of higher
            trust; the text was stored beside it as a candidate for review.
        redactions: Kinds of secrets that were replaced before storing.
        replaced: Ids of older memories on the same subject that this one replaced. They are superseded; ``undo`` brings
            them back.
    """

    id: str
    status: RememberStatus
    redactions: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryEntry:
    """One change of one memory, oldest first in ``MemoryStore.history``.

    Attributes:
        operation: Number of the operation; changes that were made together share it.
        id: The memory.
        at: When.
        kind: ``create``, ``edit``, ``merge``, ``supersede``, ``archive``, ``restore``, ``delete``, ``pin``, ``undo`` ….
        actor: The writer: ``user``, ``agent``, ``extracted``, ``tool`` or ``imported``.
        undone: Whether an ``undo`` took it back.
        before: The memory before the change; None when the change created it.
        after: The memory after the change; None when the change removed it.
    """

    operation: int
    id: str
    at: datetime
    kind: str
    actor: Trust
    undone: bool
    before: Memory | None
    after: Memory | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """Changes that were made together.

    Attributes:
        operation: Its number.
        at: When.
        actor: The writer.
        kinds: The kinds of its changes with their counts, the most frequent first.
        undone: Whether all of it was undone.
        left: How many of its changes were not undone.
        changes: Its first changes, at most ten.
    """

    operation: int
    at: datetime
    actor: Trust
    kinds: tuple[tuple[str, int], ...]
    undone: bool
    left: int
    changes: tuple[HistoryEntry, ...]

    @property
    def size(self) -> int:
        """The number of its changes."""
        return sum(count for _, count in self.kinds)
