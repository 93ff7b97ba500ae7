"""Folds earlier statements into the newest one on the same subject: "changed 3 d ago; before: SQLite".

The store decides which statements have one subject (``MemoryStore.earlier``). These pure functions only arrange the
memories of one view. A statement that may hold in other circumstances is not folded: it follows the newer one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from typing import Final

from opencode_memory.models import Earlier, Hit, Memory
from opencode_memory.text.clock import age
from opencode_memory.text.display import one_line

BEFORE_BYTES: Final = 160
"""Length of an earlier statement in its newer one; it is only named, and the newer one is shown in full."""


@dataclass(frozen=True, slots=True)
class Folded:
    """A memory with the earlier statements that it replaces for a reader.

    Attributes:
        memory: The newest statement.
        before: The earlier ones, newest first.
        beside: Ids of earlier statements of the view that may still hold.
    """

    memory: Memory
    before: tuple[Memory, ...] = ()
    beside: tuple[str, ...] = ()


def fold(
    memories: Sequence[Memory], earlier: Mapping[str, Sequence[Earlier]], *, others: Iterable[Memory] = ()
) -> list[Folded]:
    """Fold earlier statements into newer ones.

    The order stays, but a newer statement takes the place of the first earlier one of its subject.

    Args:
        memories: The memories of one view, best first.
        earlier: From ``MemoryStore.earlier`` for the ids of ``memories`` and ``others``.
        others: Memories that are not in the view, but take the place of an earlier statement in it.
    """
    by_id = {memory.id: memory for memory in chain(others, memories)}
    later: dict[str, list[str]] = {}
    replaced: set[str] = set()
    for id_ in by_id:
        for statement in earlier.get(id_, ()):
            later.setdefault(statement.memory.id, []).append(id_)
            if statement.is_replaced:
                replaced.add(statement.memory.id)
    placed: dict[str, None] = {}
    for memory in memories:
        for id_ in _latest_first(memory.id, later):
            if id_ not in replaced:
                placed.setdefault(id_)
    return [
        Folded(
            by_id[id_],
            before_of(id_, earlier),
            tuple(statement.memory.id for statement in earlier.get(id_, ()) if statement.memory.id in placed),
        )
        for id_ in placed
    ]


def fold_hits(
    hits: Sequence[Hit], earlier: Mapping[str, Sequence[Earlier]], *, others: Iterable[Hit] = ()
) -> list[tuple[Hit, tuple[Memory, ...]]]:
    """Fold the hits of a recall, with the arguments of ``fold``; return each hit with its earlier statements."""
    by_id = {hit.memory.id: hit for hit in chain(others, hits)}
    folded = fold([hit.memory for hit in hits], earlier, others=[hit.memory for hit in by_id.values()])
    return [(by_id[fold.memory.id], fold.before) for fold in folded]


def before_of(id_: str, earlier: Mapping[str, Sequence[Earlier]]) -> tuple[Memory, ...]:
    """Return the statements that are folded into a memory, newest first."""
    found: dict[str, Memory] = {}
    waiting = [id_]
    while waiting:
        for statement in earlier.get(waiting.pop(), ()):
            if statement.is_replaced and statement.memory.id not in found and not statement.memory.is_on_request:
                found[statement.memory.id] = statement.memory
                waiting.append(statement.memory.id)
    return tuple(sorted(found.values(), key=lambda memory: memory.time, reverse=True))


def format_before(memory: Memory, before: Iterable[Memory], *, at: datetime) -> str:
    """Say in a few words that a statement changed; empty if there is no earlier one.

    The text of the earlier statement is on one line, but not escaped.
    """
    last = next(iter(before), None)
    if last is None:
        return ""
    return f"changed {age(memory.time, at=at)}; before: {one_line(last.content, BEFORE_BYTES)}"


def format_later(later: Memory | None, *, at: datetime) -> str:
    """Quote what the user said later about a memory, with its age; empty for nothing. The quotation is not escaped."""
    if later is None:
        return ""
    return f'said later, {age(later.time, at=at)}: "{one_line(later.content, BEFORE_BYTES)}"'


def _latest_first(id_: str, later: Mapping[str, Sequence[str]]) -> list[str]:
    """Return all later statements on the subject of a memory, latest first, and the memory itself."""
    found: dict[str, None] = {}
    waiting = [id_]
    while waiting:
        id_ = waiting.pop()
        if id_ not in found:
            found[id_] = None
            waiting += later.get(id_, ())
    return [*reversed(found)]
