"""Histories of concurrent operations on registers, and a search for a linear order of them (Wing and Gong)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation of a client on one register.

    Attributes:
        kind: ``write`` or ``read``; on a lock, whose value is its owner, also ``claim`` and ``release``. A deletion
            writes None.
        value: The written or the read value, or the owner that claims or releases.
        begun: When the client sent it.
        ended: When the client got the answer; infinity if the outcome is unknown.
    """

    kind: str
    value: Any
    begun: float
    ended: float

    @property
    def is_known(self) -> bool:
        """Whether the operation was acknowledged."""
        return self.ended != math.inf


def find_linearization(operations: Sequence[Operation], *, initial: Any = None) -> list[Operation] | None:
    """Return an order in which a register gives the same answers; None if there is none.

    Each operation takes effect at one moment between its begin and its end. A change of unknown outcome takes effect at
    any later moment, or never. Reads of unknown outcome say nothing. A claim needs a lock that is free or already its
    own, and a release needs its own lock.
    """
    wanted = [operation for operation in operations if operation.is_known or operation.kind != "read"]
    known = frozenset(place for place, operation in enumerate(wanted) if operation.is_known)
    seen: set[tuple[frozenset[int], Any]] = set()
    stack: list[tuple[frozenset[int], Any, tuple[int, ...]]] = [(frozenset(), initial, ())]
    while stack:
        done, value, order = stack.pop()
        if known <= done:
            return [wanted[place] for place in order]
        if (done, value) in seen:
            continue
        seen.add((done, value))
        # An operation may come next only if no other operation ended before it began.
        first_end = min(wanted[place].ended for place in known - done)
        for place, operation in enumerate(wanted):
            if place in done or operation.begun > first_end:
                continue
            if _is_possible(operation, value):
                after = {"read": value, "release": None}.get(operation.kind, operation.value)
                stack.append((done | {place}, after, (*order, place)))
    return None


def _is_possible(operation: Operation, value: Any) -> bool:
    match operation.kind:
        case "write":
            return True
        case "claim":
            return value in {None, operation.value}
        case _:
            return bool(value == operation.value)
