"""Reminders and reviews of memories: when project briefs show a memory because it is due."""

from __future__ import annotations

from contextlib import suppress
from datetime import tzinfo
from typing import TYPE_CHECKING, Final

from opencode_memory.errors import ConflictError
from opencode_memory.models import Memory, Scope, Status, Time
from opencode_memory.store import arguments
from opencode_memory.store.cursor import read_pages
from opencode_memory.store.selection import select
from opencode_memory.text.clock import to_ms
from opencode_memory.text.formatting import short_id
from opencode_memory.text.repetition import find_next

if TYPE_CHECKING:
    from opencode_memory._core import Engine

_PAGE: Final = 5_000
_REMINDER: Final = ("remind_at", "remind_every")
_REVIEW: Final = ("review_after", "review_every")


class Reminders:
    """The reminders and reviews of a store; ``MemoryStore.reminders`` is one.

    A reminder shows its memory from a moment on. A review asks whether the memory is still true.
    """

    def __init__(self, engine: Engine, project: str | None, zone: tzinfo | None) -> None:
        self._engine = engine
        self._project = project
        self._zone = zone

    def set(self, id: str, at: Time, *, every_days: int | None = None, is_review: bool = False) -> Memory:
        """Set the reminder or the review of a memory, in place of an earlier one.

        Args:
            id: The id of the memory.
            at: When it is due.
            every_days: Days until it is due again, 1 to 3,650; None for once.
            is_review: Whether it is a review.

        Raises:
            ConflictError: The memory is archived or replaced, so the reminder would never be due.
        """
        _check_shown(self._engine.get(arguments.text(id, field="id")))
        moment = arguments.whole(arguments.milliseconds(at, field="at", zone=self._zone), field="at")
        return self._change(id, is_review, moment, arguments.whole(every_days, field="every_days"))

    def clear(self, id: str, *, is_review: bool = False) -> Memory:
        """Remove the reminder or the review of a memory."""
        return self._change(id, is_review, None, None)

    def advance(self, id: str) -> Memory:
        """End a reminder that was seen: one that repeats moves to its next time in the future, another one is removed.

        A review ends when the memory is confirmed; see ``MemoryStore.edit``.

        Raises:
            ConflictError: The memory has no reminder, or one that is not due yet.
        """
        held = self._engine.get(arguments.text(id, field="id"))
        next_ms = None
        if held.remind_at is not None and held.remind_every is not None and held.remind_every > 0:
            # The engine refuses a damaged interval.
            with suppress(OverflowError):
                now = arguments.moment(self._engine.now_ms())
                next_ms = to_ms(find_next(held.remind_at, held.remind_every, at=now, zone=self._zone))
        return self._engine.advance_reminder(held.id, next_ms)

    def due(self, *, limit: int = 20, scope: Scope | str | None = None, project: str | None = None) -> list[Memory]:
        """Return active memories whose reminder or review is due, the longest due first.

        Args:
            limit: Maximum number of memories.
            scope: As in ``Filter``.
            project: As in ``Filter``.
        """
        selection = select(default=self._project, zone=self._zone, scope=scope, project=project)
        return self._engine.due(selection, arguments.count(limit, field="limit"))

    def planned(self, *, scope: Scope | str | None = None, project: str | None = None) -> list[Memory]:
        """Return all active memories with a reminder or a review, due or not. It reads every memory.

        Args:
            scope: As in ``Filter``.
            project: As in ``Filter``.
        """
        selection = select(default=self._project, zone=self._zone, scope=scope, project=project, status=Status.ACTIVE)
        memories = read_pages(lambda after: self._engine.page(selection, _PAGE, after))
        return [memory for memory in memories if memory.remind_at is not None or memory.review_after is not None]

    def _change(self, id: str, is_review: bool, at: int | None, every_days: int | None) -> Memory:
        fields = zip(_REVIEW if is_review else _REMINDER, (at, every_days), strict=True)
        return self._engine.edit(arguments.text(id, field="id"), dict(fields))


def _check_shown(memory: Memory) -> None:
    if memory.status in (Status.ACTIVE, Status.CANDIDATE):
        return
    error = ConflictError(f"memory {short_id(memory.id)} is {memory.status}, so a reminder of it would never be shown")
    error.hint = "restore the memory first"
    if memory.superseded_by is not None:
        error.hint = f"set the reminder on the memory that replaced it, {short_id(memory.superseded_by)}"
    raise error
