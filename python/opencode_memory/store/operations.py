"""Operations of a store: the log of what was changed together, undo of one of them, and redo."""

from __future__ import annotations

import builtins
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from opencode_memory.errors import InvalidInputError
from opencode_memory.models import HistoryEntry, Memory, Operation, Trust
from opencode_memory.store import arguments, records
from opencode_memory.store.snapshots import temporary_copy
from opencode_memory.text.formatting import format_count

if TYPE_CHECKING:
    from opencode_memory._core import Engine

_MOST: Final = 1_000

Rest = Mapping[int, int]
"""How many changes of operations stay after an undo, by the number of the operation."""


class Operations:
    """Operations of a store.

    Args:
        engine: The engine.
        notify: Is called after a change, so that texts that came back are embedded.
    """

    def __init__(self, engine: Engine, notify: Callable[[], None]) -> None:
        self._engine = engine
        self._notify = notify

    def list(
        self,
        *,
        project: str | None = None,
        actor: Trust | None = None,
        with_upkeep: bool = True,
        undone: bool | None = None,
        before: int | None = None,
        limit: int = 20,
    ) -> list[Operation]:
        """Return operations, the newest first.

        Args:
            project: A project; operations on global memories are included. None means every project.
            actor: A writer; None means every writer. Upkeep of the program has none.
            with_upkeep: Whether every writer includes the program, which compares, ages and tidies memories by itself.
            undone: Whether operations that were undone are wanted, the last undone first, or the others; None for all.
            before: Only operations with a lower number.
            limit: Maximum number of operations, 1 to 1,000.

        Raises:
            InvalidInputError: An argument is invalid.
        """
        if not 1 <= arguments.count(limit, field="limit", least=1) <= _MOST:
            raise InvalidInputError(f"limit: at most {_MOST:,}", field="limit")
        writer = None if actor is None else actor.value
        found = self._engine.operations(project, writer, not with_upkeep, undone, before, limit)
        return [records.operation(one) for one in found]

    def archive_in_upkeep(self, ids: Sequence[str], reason: str) -> builtins.list[Memory]:
        """Archive memories because the program keeps the store tidy, not because a writer asks for it.

        An undo of earlier changes takes this back as well. An archive by ``MemoryStore.archive`` would stop it.
        """
        return self._engine.archive_in_upkeep(arguments.ids(ids), arguments.text(reason, field="reason"))

    def undo(self, operation: int) -> builtins.list[HistoryEntry]:
        """Undo all changes of an operation.

        What the program has done to the same memories since, for example archived an old one, is undone as well.

        Returns:
            The undone changes, the newest first.

        Raises:
            NotFoundError: There is no such operation, or it was undone.
            ConflictError: A later change depends on it; undo that one first.
        """
        undone = self._engine.undo_operation(arguments.count(operation, field="operation"))
        self._notify()
        return [records.history_entry(change) for change in undone]

    def count_rest(self, changes: Sequence[HistoryEntry], *, is_done: bool = True) -> Rest:
        """Return how many changes were made together with these and stay. Operations without any are left out.

        Args:
            changes: Changes that ``MemoryStore.undo`` has undone, or would undo.
            is_done: Whether they are undone already.
        """
        rest: dict[int, int] = {}
        for operation, here in Counter(change.operation for change in changes).items():
            found = self.list(before=operation + 1, limit=1)
            if found and found[0].operation == operation:
                rest[operation] = found[0].left - (0 if is_done else here)
        return {operation: count for operation, count in rest.items() if count > 0}

    def preview_undo(self, id: str) -> builtins.list[HistoryEntry]:
        """Return the changes that ``MemoryStore.undo`` of a memory would undo. Tries it out on a copy of the store.

        Raises:
            NotFoundError: There is nothing to undo.
            ConflictError: A later change depends on it; undo that one first.
            StorageError: There is no room, or no permission, for a copy.
        """
        wanted = arguments.ids(id)
        with temporary_copy(self._engine, read_only=False) as copy:
            undone = [records.history_entry(change) for change in copy.undo(wanted, None)]
        # Only the history of the store itself has the memories after these changes.
        known = [
            records.history_entry(change)
            for id_ in {change.id for change in undone}
            for change in self._engine.history(id_)
        ]
        names = {(change.id, change.operation, change.kind): change for change in known}
        return [names[change.id, change.operation, change.kind] for change in undone]

    def redo(self, operation: int, *, id: str | None = None) -> builtins.list[HistoryEntry]:
        """Bring back the changes of an operation that were undone last; return the changes that had taken them back.

        Changes that were undone by themselves before stay undone; a second redo brings them back.
        What the program did to their memories by itself after the undo is taken back.

        Args:
            operation: The operation.
            id: Full id of a memory. Then the changes that were undone together with that of this memory come back.

        Raises:
            NotFoundError: There is no such operation, or it was not undone.
            ConflictError: A memory was changed since.
        """
        redone = self._engine.redo(
            arguments.count(operation, field="operation"), None if id is None else arguments.text(id, field="id")
        )
        self._notify()
        return [records.history_entry(change) for change in redone]


def describe_rest(rest: Rest) -> Iterator[str]:
    """Yield for each operation how much of it stays, and which command takes back all of it."""
    for operation, count in rest.items():
        yield (
            f"{format_count(count, 'more change')} of operation {operation} {'stays' if count == 1 else 'stay'}: "
            f"`opencode-memory undo --operation {operation}` takes back all of it."
        )


def rest_data(rest: Rest) -> list[dict[str, int]]:
    """Return what stays, for programs."""
    return [{"operation": operation, "changes": count} for operation, count in rest.items()]
