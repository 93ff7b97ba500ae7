"""The Python API: opens a store of memories, writes to it and queries it.

``MemoryStore`` is safe to share between threads, and several processes may open one data directory at once. It adds to
the engine what needs Python: the embedding model, which is loaded when the first text is embedded.
"""

from __future__ import annotations

import builtins
import logging
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import tzinfo
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, Unpack

from opencode_memory._core import Engine
from opencode_memory.errors import InvalidInputError
from opencode_memory.models import (
    Earlier,
    HistoryEntry,
    Hit,
    Link,
    Memory,
    MemoryFields,
    NewMemory,
    RelatedMemory,
    RememberResult,
    Scope,
    SessionHit,
    Sources,
    Time,
    Trust,
)
from opencode_memory.store import arguments, records
from opencode_memory.store.backups import Backups
from opencode_memory.store.batches import write_batch
from opencode_memory.store.closing import close_engine
from opencode_memory.store.cursor import Cursor
from opencode_memory.store.documents import Documents
from opencode_memory.store.edits import Changes, changed_fields
from opencode_memory.store.embedding_queue import EmbeddingQueue
from opencode_memory.store.indexes import Indexes
from opencode_memory.store.jobs import Jobs
from opencode_memory.store.kv import KeyValues
from opencode_memory.store.learning_state import LearningState
from opencode_memory.store.ledger import Ledger
from opencode_memory.store.merge import with_turns
from opencode_memory.store.operations import Operations
from opencode_memory.store.projects import Projects
from opencode_memory.store.relocations import Relocations
from opencode_memory.store.reminders import Reminders
from opencode_memory.store.reports import PurgeReport, Stats
from opencode_memory.store.rows import Rows
from opencode_memory.store.selection import Filter, select
from opencode_memory.store.sessions import Sessions
from opencode_memory.store.snapshots import remove_leftovers
from opencode_memory.store.turns import Turns
from opencode_memory.store.work_trees import NO_WORK_TREES, WorkTrees
from opencode_memory.text.suggest import did_you_mean

_log: Final = logging.getLogger(__name__)

_MOST_RELATED: Final = 1000


class MemoryStore:
    """An open store; use it as a context manager, or call ``close``."""

    def __init__(
        self,
        engine: Engine,
        queue: EmbeddingQueue,
        *,
        project: str | None,
        zone: tzinfo | None,
        parent: MemoryStore | None = None,
        work_trees: WorkTrees = NO_WORK_TREES,
    ) -> None:
        self._engine = engine
        # A bound store keeps its parent alive, because the parent's end closes the engine that both use.
        self._parent = parent
        self._project = project
        self._zone = zone
        self._work_trees = work_trees
        self._queue = queue
        self.kv = KeyValues(engine, self._project)
        self.documents = Documents(engine)
        self.sessions = Sessions(engine, self._project, work_trees)
        self.jobs = Jobs(engine)
        self.operations = Operations(engine, self._queue.notify)
        self.ledger = Ledger(engine)
        self.projects = Projects(engine)
        self.indexes = Indexes(engine, self._queue)
        self.backups = Backups(engine, self._queue.notify)
        self._write = partial(write_batch, engine, queue, project=project, zone=zone, work_trees=work_trees)
        self.rows = Rows(engine, self._write)
        self.learning = LearningState(engine, zone, self._queue.notify)
        self.relocations = Relocations(engine, self._queue.notify, work_trees)
        self.reminders = Reminders(engine, project, zone)
        self.turns: Turns = Turns(engine, queue) if parent is None else parent.turns
        # If a program ends without closing the store, this stops the engine's thread before the interpreter ends.
        self._finalizer = weakref.finalize(self, close_engine, engine) if parent is None else None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Embed what this process wrote and close the files. Closing twice is fine."""
        if self._parent is not None:
            self._parent.close()
        elif self._finalizer is not None:
            self._queue.close()
            self._finalizer()

    def for_project(self, project: str | None) -> MemoryStore:
        """Return this store bound to a project. Both share their files, so closing one closes both."""
        return self._bound(self._engine, arguments.project_name(project), self._work_trees)

    def acting_as(self, actor: Trust | str) -> MemoryStore:
        """Return this store for another writer, as ``open`` takes it. Closing one closes both."""
        return self._bound(
            self._engine.acting_as(arguments.text(actor, field="actor")), self._project, self._work_trees
        )

    def in_one_operation(self) -> MemoryStore:
        """Return this store for writes that are one operation together, so that one ``undo`` takes back all of them.

        Each write is still durable by itself, and other writers may write in between. On a store that it returned, it
        continues the same operation. Closing one closes both.
        """
        return self._bound(self._engine.in_one_operation(), self._project, self._work_trees)

    @property
    def operation(self) -> int | None:
        """Number of the operation of ``in_one_operation``; None before its first change."""
        return self._engine.operation

    def in_work_trees(self, project: str, folders: Sequence[Path | str]) -> MemoryStore:
        """Return this store for a client that works in these work trees of a project. Closing one closes both.

        Files below the folders are named by their relative paths: in texts, as entities, and in claims.
        """
        trees: WorkTrees = {arguments.text(project, field="project"): arguments.folders(folders, field="folders")}
        return self._bound(self._engine, self._project, trees)

    def _bound(self, engine: Engine, project: str | None, work_trees: WorkTrees) -> MemoryStore:
        parent = self._parent or self
        return MemoryStore(engine, self._queue, project=project, zone=self._zone, parent=parent, work_trees=work_trees)

    @property
    def data_dir(self) -> Path:
        """The data directory."""
        return self._engine.data_dir

    def check_place(self) -> None:
        """Check that the file of the store is still the one that was opened. Each write does so as well.

        Raises:
            StorageError: The file was removed, renamed or replaced.
        """
        self._engine.check_place()

    @property
    def is_writable(self) -> bool:
        """Whether the store can be written, including the use counters; false with ``read_only``."""
        return self._engine.is_writable

    @property
    def zone(self) -> tzinfo | None:
        """The zone of times that name none; None for this machine's."""
        return self._zone

    @property
    def project(self) -> str | None:
        """The project of calls that name none."""
        return self._project

    # Writing

    def remember(self, content: str, **fields: Unpack[MemoryFields]) -> RememberResult:
        """Write a memory. When this returns, the memory is durable and every recall in any process finds it.

        Secrets are redacted before the memory is stored. The same text in the same scope is merged, and a memory with
        the same topic is updated; the result says which.

        Args:
            content: The text, 1 to 100,000 characters.
            **fields: See ``NewMemory``.

        Raises:
            InvalidInputError: A field is invalid; the error names the field and the limit.
            BusyError: Another process locked the store for too long.
            StorageError: The disk is full or failed.
        """
        unknown = next((name for name in fields if name not in MemoryFields.__optional_keys__), None)
        if unknown is not None:
            suggestion = did_you_mean(unknown, sorted(MemoryFields.__optional_keys__))
            raise TypeError(f"remember() got an unexpected keyword argument {unknown!r}; {suggestion}")
        return self._write([NewMemory(content=content, **fields)])[0]

    def remember_many(
        self,
        memories: Iterable[NewMemory | Mapping[str, Any]],
        *,
        batch_size: int = 1000,
        progress: Callable[[int], None] | None = None,
    ) -> builtins.list[RememberResult]:
        """Write many memories in batches; if a batch fails, none of it is written.

        Args:
            memories: ``NewMemory`` or mappings with its fields; iterated as they are needed.
            batch_size: Number of memories in one transaction.
            progress: Called with the number of memories that are durable.

        Returns:
            One result for each memory, in order.
        """
        arguments.count(batch_size, field="batch_size", least=1)
        if not isinstance(memories, Iterable):
            raise InvalidInputError(
                f"memories: must be a list of memories, not {type(memories).__name__}", field="memories"
            )
        results: builtins.list[RememberResult] = []
        batch: builtins.list[NewMemory | Mapping[str, Any]] = []
        for memory in memories:
            batch.append(memory)
            if len(batch) == batch_size:
                results += self._write(batch)
                batch.clear()
                if progress is not None:
                    progress(len(results))
        if batch:
            results += self._write(batch)
            if progress is not None:
                progress(len(results))
        return results

    def edit(self, id: str, **changes: Unpack[Changes]) -> Memory:
        """Change a memory; fields that are not named stay. The history keeps the earlier version.

        Args:
            id: Its id, or a beginning or end of it of at least 6 characters that no other memory has.
            **changes: See ``Changes``.

        Raises:
            InvalidInputError: A field is invalid, or nothing is changed.
            NotFoundError: There is no such memory.
            ConflictError: Another memory has the new topic, or several memories match the id.
        """
        fields = changed_fields(
            changes, partial(self.get, id), project=self._project, zone=self._zone, work_trees=self._work_trees
        )
        changed = self._engine.edit(arguments.text(id, field="id"), fields)
        self._queue.notify()
        return changed

    def merge(self, ids: Sequence[str], content: str) -> Memory:
        """Merge memories of one scope into the first, which gets this text, all tags and entities, and the last expiry.

        The others are superseded by it. ``undo`` takes all of it back at once. Only the user may merge.

        Raises:
            NotFoundError: There is no such memory.
            ConflictError: The writer is not the user, a memory is not active or has another scope, or all have expired.
        """
        memories = [self.get(id_) for id_ in arguments.ids(ids)]
        text = arguments.text(content, field="content")
        fields = records.fields_after_merge(memories, text, self._work_trees, about=self._project)
        merged = self._engine.merge([memory.id for memory in memories], fields)
        self._queue.notify()
        return merged

    def archive(self, ids: str | Sequence[str], *, reason: str | None = None) -> builtins.list[Memory]:
        """Archive memories, so that no recall returns them; ``restore`` brings them back.

        Args:
            ids: One or more ids, or parts of them as for ``edit``.
            reason: The reason, for the history; at most 512 characters.

        Returns:
            The archived memories, each once.

        Raises:
            NotFoundError: There is no such memory; then none is archived.
        """
        return self._engine.archive(arguments.ids(ids), arguments.optional_text(reason, field="reason"))

    def restore(self, ids: str | Sequence[str]) -> builtins.list[Memory]:
        """Bring archived or superseded memories back, or accept candidates.

        Raises:
            ConflictError: Another memory has the topic now.
        """
        return self._engine.restore(arguments.ids(ids))

    def delete(self, ids: str | Sequence[str]) -> builtins.list[str]:
        """Delete memories; for 30 days ``undo`` can bring them back. Return their full ids."""
        return self._engine.delete(arguments.ids(ids))

    def purge(self, ids: str | Sequence[str]) -> PurgeReport:
        """Erase memories permanently, with their history, their vectors and the free space of the file."""
        report = self._engine.purge(arguments.ids(ids))
        exports = [
            f"an export is running; its copy in {folder} holds the text until the export ends"
            for folder in remove_leftovers(self.data_dir)
        ]
        return PurgeReport(
            memories=report["memories"],
            backups=tuple(Path(path) for path in report["backups"]),
            problems=(*report["problems"], *exports),
        )

    def pin(self, ids: str | Sequence[str]) -> builtins.list[Memory]:
        """Pin memories, so that they stay visible."""
        return self._engine.pin(arguments.ids(ids), True)

    def unpin(self, ids: str | Sequence[str]) -> builtins.list[Memory]:
        """Unpin memories."""
        return self._engine.pin(arguments.ids(ids), False)

    def link(self, source: str, target: str, kind: str = "related", reason: str = "", *, weight: float = 1.0) -> None:
        """Link two memories; an earlier link of the same kind is replaced.

        Args:
            source: Id of the memory that the link starts from.
            target: Id of the other memory.
            kind: Name of the kind, for example ``related``; 1 to 512 characters.
            reason: The reason, for the user.
            weight: Strength of the link, from 0 to 1.

        Raises:
            InvalidInputError: A value is invalid, or both ids are of one memory.
            NotFoundError: There is no such memory.
        """
        texts = [
            arguments.text(value, field=field)
            for field, value in (("source", source), ("target", target), ("kind", kind), ("reason", reason))
        ]
        strength = arguments.number(weight, field="weight")
        self._engine.link(texts[0], texts[1], texts[2], 1.0 if strength is None else strength, texts[3])

    def undo(
        self, id: str | Sequence[str] | None = None, *, operation: int | None = None
    ) -> builtins.list[HistoryEntry]:
        """Undo the last operation, or the last change of one memory, or of each of several (all or none).

        Args:
            id: The memory or memories; None for the last operation. Ageing, removal of duplicates and comparison of
                vectors are not one.
            operation: Number of the operation that made the change, as ``history`` gives it. If there was another
                change of the memory since, nothing is undone.

        Returns:
            The undone changes, newest first.

        Raises:
            InvalidInputError: ``operation`` is given without ``id``.
            NotFoundError: There is nothing to undo.
            ConflictError: A later change depends on it, so undo that one first; or the last change is of another
                operation.
        """
        if operation is not None and id is None:
            raise InvalidInputError("operation: names the change of a memory, so it needs an id", field="operation")
        undone = self._engine.undo(None if id is None else arguments.ids(id), operation)
        self._queue.notify()
        return [records.history_entry(change) for change in undone]

    # Asking

    def recall(
        self,
        query: str,
        *,
        limit: int = 10,
        as_of: Time | None = None,
        explain: bool = False,
        unasked: bool = False,
        nearest: bool = False,
        **filters: Unpack[Filter],
    ) -> builtins.list[Hit]:
        """Find memories by words and by meaning, best first. The result may be empty.

        Args:
            query: Free text; operators have no meaning.
            limit: Maximum number of hits, 1 to 1,000.
            as_of: Answer from the state of the store at this time; exact, and slow.
            explain: Whether hits carry their explanation.
            unasked: Whether the recall was made without a request of a user or model; it then counts as no use.
            nearest: Whether to return the nearest memories even if none of them is relevant, for explanations.
            **filters: See ``Filter``.

        Raises:
            InvalidInputError: An argument is invalid.
        """
        question = arguments.readable(query)
        selection = self._select(**filters)
        most = arguments.count(limit, field="limit", least=1)
        arguments.flag(explain, field="explain")
        moment = self._milliseconds(as_of, "as_of")
        arguments.flag(unasked, field="unasked")
        arguments.flag(nearest, field="nearest")
        return self._engine.recall(
            question, self._queue.embed_query(question), selection, most, moment, explain, unasked, nearest
        )

    def search(
        self,
        query: str,
        *,
        sources: str = Sources.ALL,
        limit: int = 10,
        as_of: Time | None = None,
        explain: bool = False,
        nearest: bool = False,
        **filters: Unpack[Filter],
    ) -> builtins.list[Hit | SessionHit]:
        """Find memories and turns of sessions in one ranked answer, best first.

        Turns have no category, entity, tag, status or history, so a filter by one of these leaves sessions out.

        Args:
            query: Free text; operators have no meaning.
            sources: ``memories``, ``sessions`` or ``all``.
            limit: Maximum number of hits, 1 to 1,000.
            as_of: As for ``recall``.
            explain: As for ``recall``.
            nearest: As for ``recall``, and for memories only.
            **filters: See ``Filter``.

        Raises:
            InvalidInputError: An argument is invalid.
        """
        wanted = with_turns(sources, filters, as_of=as_of, can_read=self.turns.texts is not None)
        if wanted is Sources.MEMORIES:
            found = self.recall(
                query, limit=limit, as_of=as_of, explain=explain, nearest=nearest, unasked=nearest, **filters
            )
            return [*found]
        question, selection = arguments.readable(query), self._select(**filters)
        most = arguments.count(limit, field="limit", least=1)
        arguments.flag(explain, field="explain")
        arguments.flag(nearest, field="nearest")
        if wanted is Sources.SESSIONS:
            return [*self.turns.recall(question, selection, limit=most, explain=explain)]
        return self.turns.recall_with_memories(question, selection, limit=most, explain=explain, nearest=nearest)

    def note_uses(self, ids: Sequence[str]) -> None:
        """Count a use of each memory, as a recall does for its hits."""
        self._engine.note_uses(arguments.texts(ids, field="ids"))

    def get(self, id: str) -> Memory:
        """Return a memory by its id, or by a unique beginning or end of it.

        Raises:
            NotFoundError: There is no such memory.
            ConflictError: Several memories match.
        """
        return self._engine.get(arguments.text(id, field="id"))

    def list(
        self, *, limit: int = 50, offset: int = 0, as_of: Time | None = None, **filters: Unpack[Filter]
    ) -> builtins.list[Memory]:
        """Return memories, newest first.

        Args:
            limit: Maximum number of memories.
            offset: Number of memories to skip first.
            as_of: The state of the store at this time.
            **filters: See ``Filter``.
        """
        selection = self._select(**filters)
        for field, value in (("limit", limit), ("offset", offset)):
            arguments.count(value, field=field)
        return self._engine.select(selection, limit, offset, self._milliseconds(as_of, "as_of"))

    def list_page(
        self, *, limit: int, after: Cursor | None = None, **filters: Unpack[Filter]
    ) -> tuple[builtins.list[Memory], Cursor | None]:
        """Return a page of the memories, newest first, and the cursor of the next page; None for the last page.

        Writes between two pages make no memory appear twice, and none is left out that meets the filter all the time.

        Args:
            limit: Maximum number of memories.
            after: The cursor that came with the page before; None for the first page.
            **filters: See ``Filter``.
        """
        return self._engine.page(self._select(**filters), arguments.count(limit, field="limit", least=1), after)

    def count(self, **filters: Unpack[Filter]) -> int:
        """Return how many memories ``list`` would return without a limit."""
        return self._engine.count(self._select(**filters))

    def history(self, id: str) -> builtins.list[HistoryEntry]:
        """Return all changes of a memory, oldest first. A deleted memory has a history too."""
        return [records.history_entry(entry) for entry in self._engine.history(arguments.text(id, field="id"))]

    def related(self, id: str, *, limit: int = 10) -> builtins.list[RelatedMemory]:
        """Return memories linked to a memory, then memories that are similar in meaning; at most 1,000."""
        most = min(arguments.count(limit, field="limit"), _MOST_RELATED)
        return [RelatedMemory(**found) for found in self._engine.related(arguments.text(id, field="id"), most)]

    def earlier(self, ids: Sequence[str]) -> dict[str, tuple[Earlier, ...]]:
        """Return the earlier statements on the subjects of memories, newest first.

        Links tell which memories replace or contradict each other. Up to 64 given memories are also compared with each
        other, because a memory of a large batch is visible before it has links. A global memory stands behind one of a
        project that it speaks against, also if it was said later; so it is among the earlier statements of that one.

        Args:
            ids: Full ids, for example those of the hits of a recall. An unknown id has no earlier statement.

        Returns:
            The earlier statements by the id of the later memory. A memory without any is left out.
        """
        named = arguments.texts(ids, field="ids")
        found = self._engine.earlier(named)
        return {
            id_: tuple(Earlier(memory=memory, is_replaced=replaced) for memory, replaced in earlier)
            for id_, earlier in zip(named, found, strict=True)
            if earlier
        }

    def later(self, ids: Sequence[str]) -> builtins.list[Memory]:
        """Return the active memories that contradict one of these memories, by their full ids, and were said later.

        A recall returns such a memory beside its hits. A reader that lists memories asks for them with this method.
        """
        return self._engine.later(arguments.texts(ids, field="ids"))

    def most_used(
        self,
        *,
        since: Time,
        project: str | None = None,
        scope: Scope | str | None = None,
        category: str | Sequence[str] | None = None,
        limit: int = 10,
    ) -> builtins.list[tuple[Memory, int]]:
        """Return the memories that were used or repeated most since the day of a time, with how often.

        Uses of the last eight days are known.

        Raises:
            InvalidInputError: A value is invalid, or ``since`` is None.
        """
        start = self._milliseconds(since, "since")
        if start is None:
            raise InvalidInputError("since: a time is needed", field="since")
        selection = self._select(project=project, scope=scope, category=category)
        return self._engine.most_used(selection, start, arguments.count(limit, field="limit"))

    def links(self, kinds: Sequence[str], *, limit: int = 1000, **filters: Unpack[Filter]) -> builtins.list[Link]:
        """Return links between active memories, by kind, strongest first.

        Args:
            kinds: Kinds of links.
            limit: Maximum number of links of each kind.
            **filters: See ``Filter``; both memories have to pass.
        """
        found = self._engine.links(
            self._select(**filters), arguments.texts(kinds, field="kinds"), arguments.count(limit, field="limit")
        )
        return [records.link(*row) for row in found]

    def links_to(self, ids: Sequence[str], kinds: Sequence[str], **filters: Unpack[Filter]) -> builtins.list[Link]:
        """Return links to memories, by their full ids, from active ones that pass the filters, in no order."""
        wanted = arguments.texts(ids, field="ids"), arguments.texts(kinds, field="kinds")
        return [records.link(*row) for row in self._engine.links_to(self._select(**filters), *wanted)]

    # Keeping

    def maintain(self) -> tuple[int, int]:
        """Remove expired values, old versions and what killed exports left; return how many of the first two."""
        remove_leftovers(self.data_dir)
        return self._engine.maintain()

    def stats(self) -> Stats:
        """Return statistics of the store."""
        found = self._engine.stats()
        mismatch = None if found["model"] is None else self._queue.mismatch()
        return records.stats(found, mismatch=mismatch, data_dir=self.data_dir)

    # Inside

    def _milliseconds(self, value: Time | None, field: str) -> int | None:
        return arguments.whole(arguments.milliseconds(value, field=field, zone=self._zone), field=field)

    def _select(self, **filters: Unpack[Filter]) -> dict[str, Any]:
        return select(default=self._project, zone=self._zone, work_trees=self._work_trees, **filters)
