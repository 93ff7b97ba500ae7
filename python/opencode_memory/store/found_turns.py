"""The turns that a search found. Their texts are read when they are shown, because most are left out of an answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias, TypeVar

from opencode_memory.models import Hit, SessionHit, Turn
from opencode_memory.store import records
from opencode_memory.store.amendments import put_amendments_first
from opencode_memory.store.merge import merge

_Found = TypeVar("_Found", SessionHit, Hit | SessionHit)
_Key: TypeAlias = tuple[str, str, str]
"""Database, session and message."""


class FoundTurns:
    """Turns that match a query, best first, without their texts.

    Args:
        found: The engine's dictionaries.
        read: Returns turns with their texts, in order; None for those that must not be shown.
        announces: See ``put_amendments_first``.
        explain: Whether hits carry their explanation.
    """

    def __init__(
        self,
        found: Iterable[Mapping[str, Any]],
        read: Callable[[Sequence[Turn]], list[Turn | None]],
        announces: Callable[[SessionHit], bool],
        *,
        explain: bool,
    ) -> None:
        self._waiting = (_hit(one, explain=explain) for one in found)
        self._hits: dict[_Key, SessionHit] = {}
        self._read = read
        self._announces = announces

    def show(self, limit: int) -> list[SessionHit]:
        """Return the best, amendments first, with their texts. Copies of a turn are left out."""
        while not self._read_missing(hits := self._best(limit)):
            pass
        return _renumber(hits)

    def show_with_memories(self, memories: Sequence[Hit], limit: int) -> list[Hit | SessionHit]:
        """Return the best of both in one ranked answer; see ``merge``."""
        while not self._read_missing(answer := merge(memories, self._best(limit), limit=limit)):
            pass
        return _renumber(answer)

    def _best(self, limit: int) -> list[SessionHit]:
        """Return the best hits that can be shown as far as their texts were read."""
        copies: dict[bytes, SessionHit] = {}
        for hit in self._all():
            copies.setdefault(hit.turn.digest, hit)
            if len(copies) == limit:
                break
        return put_amendments_first([*copies.values()], self._announces)

    def _all(self) -> Iterator[SessionHit]:
        """Yield the turns that are not known to be hidden, best first. The last ones are rarely needed."""
        yield from [*self._hits.values()]
        for hit in self._waiting:
            self._hits[_key(hit.turn)] = hit
            yield hit

    def _read_missing(self, answer: Sequence[Hit | SessionHit]) -> bool:
        """Read the texts that an answer lacks. Forget turns that must not be shown. Return whether it lacked none."""
        missing = [hit.turn for hit in answer if isinstance(hit, SessionHit) and not hit.turn.text]
        for key, turn in zip(map(_key, missing), self._read(missing) if missing else (), strict=True):
            if turn is None or not turn.text:
                del self._hits[key]
            else:
                self._hits[key] = replace(self._hits[key], turn=turn)
        return not missing


def _hit(found: Mapping[str, Any], *, explain: bool) -> SessionHit:
    return SessionHit(
        turn=records.turn(found["turn"]),
        score=found["score"],
        rank=0,
        explanation=records.explanation(found["signals"]) if explain else None,
        relevance=found["relevance"],
        floor=found["floor"],
    )


def _renumber(hits: Sequence[_Found]) -> list[_Found]:
    return [hit if hit.rank == rank else replace(hit, rank=rank) for rank, hit in enumerate(hits, 1)]


def _key(turn: Turn) -> _Key:
    return turn.database, turn.session, turn.message
