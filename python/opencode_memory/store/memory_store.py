"""The Python API: a store of memories that is opened, asked and closed.

``MemoryStore`` is safe to share between threads, and several processes may open one data directory at once. It adds to
the engine what needs Python: the embedding model, which is loaded when the first text is embedded.
"""

from __future__ import annotations

import builtins
import logging
import threading
import weakref
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, tzinfo
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from opencode_memory._core import Engine, subject
from opencode_memory.config import paths
from opencode_memory.config.load import environment
from opencode_memory.errors import EmbeddingError, InvalidInputError
from opencode_memory.models import (
    HistoryEntry,
    Hit,
    Link,
    Memory,
    NewMemory,
    Project,
    RelatedMemory,
    RememberResult,
    RememberStatus,
    Source,
)
from opencode_memory.store import arguments, embedding_queue, records
from opencode_memory.store.jobs import Jobs
from opencode_memory.store.kv import KeyValues
from opencode_memory.store.learning_state import Lessons
from opencode_memory.store.ledger import Ledger
from opencode_memory.store.reports import Backup, PurgeReport, RebuildReport, RepairReport, Stats, VerifyReport
from opencode_memory.store.rows import Wanted, rows
from opencode_memory.store.sessions import Sessions
from opencode_memory.store.snapshots import remove_leftovers, temporary_copy

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from opencode_memory.embedding.base import Embedder
    from opencode_memory.models import ProjectIdentity

_log: Final = logging.getLogger(__name__)

Time = datetime | str | int
"""A moment: a ``datetime``, ISO 8601 text, or UTC milliseconds. Without a zone, this machine's is meant."""

_UNCHANGED: Final = object()
_MOST_RELATED: Final = 1000
_USE_COUNTERS: Final = ("uses", "used_at")


def open(  # noqa: A001  `opencode_memory.open` reads like what it does
    data_dir: str | Path | None = None,
    *,
    project: str | None = None,
    embedder: Embedder | None = None,
    read_only: bool = False,
    actor: str = "user",
    zone: tzinfo | None = None,
    background: bool = True,
    clock_ms: int | None = None,
) -> MemoryStore:
    """Open a store, creating it when there is none.

    Args:
        data_dir: Its folder; by default ``$XDG_DATA_HOME/opencode-memory/store``.
        project: The project that memories belong to, and are looked for in, unless a call says otherwise.
        embedder: What turns texts into vectors; by default the bundled all-MiniLM-L6-v2, loaded when it is needed.
        read_only: Never write; the store must exist.
        actor: Who writes, for the history: ``user``, ``agent``, ``extracted``, ``tool`` or ``imported``.
        zone: Zone of times that name none; None for this machine's.
        background: Whether threads of this process embed and index what is written. Without them, call
            ``embed_pending``; every memory is found by its words either way.
        clock_ms: Let the store's clock stand at this moment, for tests.

    Raises:
        InvalidInputError: An argument is not acceptable.
        StorageError: The folder cannot be used; it may lie on a network file system.
        CorruptStoreError: The file there is damaged or not a store.
        FormatVersionError: The store was written by a newer version.
    """
    folder = paths.default_data_dir(environment()) if data_dir is None else arguments.path(data_dir, field="data_dir")
    if zone is not None and not isinstance(zone, tzinfo):
        raise InvalidInputError(f"zone: must be a tzinfo, not {type(zone).__name__}", field="zone")
    project = arguments.project_name(project)
    engine = Engine(
        folder,
        read_only=arguments.flag(read_only, field="read_only"),
        actor=arguments.text(actor, field="actor"),
        background=arguments.flag(background, field="background"),
        clock_ms=arguments.whole(clock_ms, field="clock_ms"),
    )
    return MemoryStore(engine, project=project, embedder=embedder, zone=zone, background=background and not read_only)


class MemoryStore:
    """An open store; use it as a context manager, or call ``close``."""

    def __init__(
        self, engine: Engine, *, project: str | None, embedder: Embedder | None, zone: tzinfo | None, background: bool
    ) -> None:
        self._engine = engine
        self._project = project
        self._zone = zone
        self._given_embedder = embedder
        self._embedder_lock = threading.Lock()
        self._background_wanted = background
        self._background: embedding_queue.BackgroundEmbedding | None = None
        self._said_by_words: str | None = None
        self.kv = KeyValues(engine, self._project)
        self.sessions = Sessions(engine, self._project)
        self.jobs = Jobs(engine)
        self.ledger = Ledger(engine)
        # Weakly: a store that nobody holds any more goes away at once.
        self.lessons = Lessons(engine, zone, weakref.WeakMethod(self._notify))
        # A program that ends without closing still stops the engine's thread before the interpreter goes away.
        self._finalizer = weakref.finalize(self, engine.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Embed what this process wrote and close the files. Closing twice is fine."""
        if self._background is not None:
            self._background.close()
        self._finalizer()

    @property
    def data_dir(self) -> Path:
        """The data directory."""
        return self._engine.data_dir

    @property
    def is_writable(self) -> bool:
        """Whether anything can be written here, uses of memories included; false with ``read_only``."""
        return self._engine.is_writable

    @property
    def zone(self) -> tzinfo | None:
        """The zone of times that name none; None for this machine's."""
        return self._zone

    @property
    def project(self) -> str | None:
        """The project that is meant when a call names none."""
        return self._project

    # Writing

    def remember(
        self,
        content: str,
        *,
        category: str = "fact",
        scope: str | None = None,
        project: str | None = None,
        topic: str | None = None,
        session: str | None = None,
        position: int | None = None,
        speaker: str | None = None,
        time: Time | None = None,
        expires_at: Time | None = None,
        ttl_seconds: float | None = None,
        source: Source | Mapping[str, Any] | None = None,
        entities: Sequence[str] = (),
        tags: Sequence[str] = (),
        trust: str = "user",
        pinned: bool = False,
        status: str = "active",
        confidence: float | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> RememberResult:
        """Write a memory; when this returns it is durable, and every recall in any process finds it.

        The arguments are those of ``NewMemory``. Secrets are replaced before anything is stored. The same text in the
        same scope is merged, the same topic is updated; the result says so.

        Raises:
            InvalidInputError: An argument is not acceptable; the error names the field and the limit.
            BusyError: Another process held the store for too long.
            StorageError: The disk refused.
        """
        given = NewMemory(
            content=content,
            category=category,
            scope=scope,
            project=project,
            topic=topic,
            session=session,
            position=position,
            speaker=speaker,
            time=time,
            expires_at=expires_at,
            ttl_seconds=ttl_seconds,
            source=source,
            entities=entities,
            tags=tags,
            trust=trust,
            pinned=pinned,
            status=status,
            confidence=confidence,
            metadata=metadata or {},
        )
        return self._write([given])[0]

    def remember_many(
        self,
        memories: Iterable[NewMemory | Mapping[str, Any]],
        *,
        batch_size: int = 1000,
        progress: Callable[[int], None] | None = None,
    ) -> builtins.list[RememberResult]:
        """Write many memories, a batch at a time; each batch is written whole or, on an error, not at all.

        Args:
            memories: ``NewMemory`` or mappings with its fields; read as they are needed.
            batch_size: Memories of one transaction.
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

    def _write(self, batch: Sequence[NewMemory | Mapping[str, Any]]) -> builtins.list[RememberResult]:
        now_ms = self._engine.now_ms()
        given = [records.new_memory(one, project=self._project, now_ms=now_ms, zone=self._zone) for one in batch]
        results = self._engine.remember_many(given)
        self._notify()
        return [
            RememberResult(id=id_, status=RememberStatus(status), redactions=tuple(redactions))
            for id_, status, redactions in results
        ]

    def edit(
        self,
        id: str,
        *,
        content: str | None = None,
        category: str | None = None,
        topic: Any = _UNCHANGED,
        tags: Sequence[str] | None = None,
        entities: Sequence[str] | None = None,
        time: Time | None = None,
        expires_at: Any = _UNCHANGED,
        metadata: Mapping[str, Any] | None = None,
        scope: str | None = None,
        project: str | None = None,
        trust: str | None = None,
        verified: bool = False,
    ) -> Memory:
        """Change a memory; what is not named stays. The earlier version stays in its history.

        Args:
            id: Its id, or a beginning or end of it of at least 6 characters that no other memory has.
            content: New text.
            category: New category.
            topic: New topic, None for none.
            tags: New tags.
            entities: New entities.
            time: New time that it speaks of.
            expires_at: New end of its life, None for none.
            metadata: New metadata.
            scope: Move it: ``global``, or ``project`` with the project's name.
            project: Move it into this project.
            trust: New trust.
            verified: Note that it was confirmed just now.

        Raises:
            NotFoundError: There is no such memory.
            ConflictError: Its new topic is held by another memory, or the id fits several.
        """
        fields: dict[str, Any] = {}
        if content is not None:
            fields["content"] = arguments.text(content, field="content")
        if category is not None:
            fields["category"] = arguments.text(category, field="category")
        if topic is not _UNCHANGED:
            fields["topic"] = arguments.optional_text(topic, field="topic")
        if tags is not None:
            fields["tags"] = arguments.texts(tags, field="tags")
        if entities is not None:
            fields["entities"] = arguments.texts(entities, field="entities")
        elif content is not None:
            fields["entities"] = records.entities_after_edit(self.get(id), fields["content"])
        if time is not None:
            fields["time"] = self._milliseconds(time, "time")
        if expires_at is not _UNCHANGED:
            fields["expires_at"] = self._milliseconds(expires_at, "expires_at")
        if metadata is not None:
            fields["metadata"] = arguments.json_object(metadata, field="metadata") or "{}"
        if scope is not None or project is not None:
            fields["project"] = records.owner(scope, arguments.optional_text(project, field="project"), self._project)
        if trust is not None:
            fields["trust"] = arguments.text(trust, field="trust")
        if arguments.flag(verified, field="verified"):
            fields["verified"] = True
        if not fields:
            raise InvalidInputError("edit: nothing to change was given", field="content")
        changed = records.memory(self._engine.edit(arguments.text(id, field="id"), fields))
        self._notify()
        return changed

    def archive(self, ids: str | Sequence[str], *, reason: str | None = None) -> builtins.list[Memory]:
        """Put memories away; ``restore`` brings them back."""
        found = self._engine.archive(_ids(ids), arguments.optional_text(reason, field="reason"))
        return [records.memory(memory) for memory in found]

    def restore(self, ids: str | Sequence[str]) -> builtins.list[Memory]:
        """Bring archived or superseded memories back, or accept candidates.

        Raises:
            ConflictError: A memory's topic is held by another one now.
        """
        return [records.memory(memory) for memory in self._engine.restore(_ids(ids))]

    def delete(self, ids: str | Sequence[str]) -> builtins.list[str]:
        """Delete memories; for 30 days ``undo`` can bring them back. Returns their full ids."""
        return self._engine.delete(_ids(ids))

    def purge(self, ids: str | Sequence[str]) -> PurgeReport:
        """Erase memories at once and for good, history, vectors and free space of the file included."""
        report = self._engine.purge(_ids(ids))
        exports = [
            f"an export is running, and its copy in {folder} holds the text until it ends"
            for folder in remove_leftovers(self.data_dir)
        ]
        return PurgeReport(
            memories=report["memories"],
            backups=tuple(Path(path) for path in report["backups"]),
            problems=(*report["problems"], *exports),
        )

    def pin(self, ids: str | Sequence[str]) -> builtins.list[Memory]:
        """Keep memories in sight."""
        return [records.memory(memory) for memory in self._engine.pin(_ids(ids), True)]

    def unpin(self, ids: str | Sequence[str]) -> builtins.list[Memory]:
        """Take the pin off again."""
        return [records.memory(memory) for memory in self._engine.pin(_ids(ids), False)]

    def link(self, source: str, target: str, kind: str = "related", reason: str = "", *, weight: float = 1.0) -> None:
        """Link two memories; the same pair and kind is replaced."""
        texts = [
            arguments.text(value, field=field)
            for field, value in (("source", source), ("target", target), ("kind", kind), ("reason", reason))
        ]
        strength = arguments.number(weight, field="weight")
        self._engine.link(texts[0], texts[1], texts[2], 1.0 if strength is None else strength, texts[3])

    def undo(self, id: str | Sequence[str] | None = None) -> builtins.list[HistoryEntry]:
        """Take back the last operation, or the last change of one memory, or of each of several, all or none.

        Returns:
            The changes that were taken back, newest first.

        Raises:
            NotFoundError: There is nothing to take back.
            ConflictError: A later change stands in the way; it has to be taken back first.
        """
        undone = self._engine.undo(None if id is None else _ids(id))
        self._notify()
        return [records.history_entry(change) for change in undone]

    # Asking

    def recall(
        self,
        query: str,
        *,
        limit: int = 10,
        project: str | None = None,
        scope: str | None = None,
        category: str | Sequence[str] | None = None,
        since: Time | None = None,
        until: Time | None = None,
        entity: str | None = None,
        status: str | Sequence[str] | None = None,
        as_of: Time | None = None,
        explain: bool = False,
        unasked: bool = False,
    ) -> builtins.list[Hit]:
        """Find memories by words and by meaning, best first. An answer may be empty.

        Args:
            query: Free text; operators have no meaning.
            limit: Most hits, 1 to 1,000.
            project: Look in this project and among the global memories; by default the store's own project.
                ``ALL_PROJECTS`` looks everywhere. Without any project only global memories are found.
            scope: ``global`` or ``project`` to leave the other out.
            category: Only this category, or these.
            since: Only memories that speak of this moment or later.
            until: Only memories that speak of an earlier moment.
            entity: Only memories about this.
            status: Only memories in this state, or these; by default active ones.
            as_of: Answer as the store stood at this moment; exact, and slow.
            explain: Whether hits say why they are hits.
            unasked: Whether nobody asked: what is found counts as no use of it.

        Raises:
            InvalidInputError: An argument is not acceptable.
        """
        question = _readable(query)
        selection = records.selection(
            project=self._project if project is None else project,
            scope=scope,
            category=category,
            status=status,
            since=self._milliseconds(since, "since"),
            until=self._milliseconds(until, "until"),
            entity=entity,
        )
        most = arguments.count(limit, field="limit", least=1)
        arguments.flag(explain, field="explain")
        moment = self._milliseconds(as_of, "as_of")
        arguments.flag(unasked, field="unasked")
        found = self._engine.recall(question, self._query_vector(question), selection, most, moment, explain, unasked)
        return [records.hit(hit, explained=explain) for hit in found]

    def note_uses(self, ids: Sequence[str]) -> None:
        """Count a use of each of these memories, as a recall does of what it returns."""
        self._engine.note_uses(arguments.texts(ids, field="ids"))

    def get(self, id: str) -> Memory:
        """Return a memory by its id, or by a unique beginning or end of it.

        Raises:
            NotFoundError: There is no such memory.
            ConflictError: Several memories fit.
        """
        return records.memory(self._engine.get(arguments.text(id, field="id")))

    def list(
        self,
        *,
        project: str | None = None,
        scope: str | None = None,
        category: str | Sequence[str] | None = None,
        status: str | Sequence[str] | None = None,
        since: Time | None = None,
        until: Time | None = None,
        older_than: Time | None = None,
        entity: str | None = None,
        tag: str | None = None,
        limit: int = 50,
        offset: int = 0,
        as_of: Time | None = None,
        with_expired: bool = False,
        pinned: bool = False,
    ) -> builtins.list[Memory]:
        """Return memories, those created last first.

        The filters are those of ``recall``. Besides them, ``older_than`` keeps memories created before a moment,
        ``tag`` those with a tag, ``pinned`` those that are, and ``with_expired`` shows expired ones too. ``offset``
        memories are left out first.
        """
        selection = self._selection(
            project,
            scope,
            category,
            status,
            since,
            until,
            older_than,
            entity,
            tag,
            with_expired=with_expired,
            pinned=pinned,
        )
        for field, value in (("limit", limit), ("offset", offset)):
            arguments.count(value, field=field)
        return [
            records.memory(found)
            for found in self._engine.select(selection, limit, offset, self._milliseconds(as_of, "as_of"))
        ]

    def count(
        self,
        *,
        project: str | None = None,
        scope: str | None = None,
        category: str | Sequence[str] | None = None,
        status: str | Sequence[str] | None = None,
        since: Time | None = None,
        until: Time | None = None,
        older_than: Time | None = None,
        entity: str | None = None,
        tag: str | None = None,
    ) -> int:
        """Return how many memories ``list`` would return without a limit."""
        return self._engine.count(
            self._selection(project, scope, category, status, since, until, older_than, entity, tag)
        )

    def history(self, id: str) -> builtins.list[HistoryEntry]:
        """Return everything that happened to a memory, oldest first; a deleted one has a history too."""
        return [records.history_entry(entry) for entry in self._engine.history(arguments.text(id, field="id"))]

    def related(self, id: str, *, limit: int = 10) -> builtins.list[RelatedMemory]:
        """Return memories that are linked to one, then those that are near in meaning."""
        most = min(arguments.count(limit, field="limit"), _MOST_RELATED)
        return [records.related_memory(found) for found in self._engine.related(arguments.text(id, field="id"), most)]

    def most_used(
        self,
        *,
        since: Time,
        project: str | None = None,
        scope: str | None = None,
        category: str | Sequence[str] | None = None,
        limit: int = 10,
    ) -> builtins.list[tuple[Memory, int]]:
        """Return what was used, or said again, most since the day of a moment, most first, with how often.

        Uses of the last eight days are known.
        """
        moment = self._milliseconds(since, "since")
        if moment is None:
            raise InvalidInputError("since: a moment is needed", field="since")
        selection = self._selection(project, scope, category, None, None, None, None, None, None)
        found = self._engine.most_used(selection, moment, arguments.count(limit, field="limit"))
        return [(records.memory(memory), uses) for memory, uses in found]

    def links(
        self, kinds: Sequence[str], *, project: str | None = None, scope: str | None = None, limit: int = 1000
    ) -> builtins.list[Link]:
        """Return links between active memories, kind by kind, strongest first.

        Args:
            kinds: ``similar``, ``contradicts``, ``supersedes``, ``related`` ….
            project: Between memories of this project and global ones; ``ALL_PROJECTS`` for all.
            scope: ``global`` or ``project`` to leave the other out.
            limit: Most links of each kind.
        """
        selection = self._selection(project, scope, None, None, None, None, None, None, None)
        found = self._engine.links(
            selection, arguments.texts(kinds, field="kinds"), arguments.count(limit, field="limit")
        )
        return [
            Link(source=source, target=target, kind=kind, weight=weight, reason=reason)
            for source, target, kind, weight, reason in found
        ]

    # Projects

    def projects(self) -> builtins.list[Project]:
        """Return every project, by name."""
        return [records.project(found) for found in self._engine.projects()]

    def resolve_project(self, identity: ProjectIdentity, *, create: bool = True) -> str | None:
        """Return the name of the project that an identity belongs to.

        Args:
            identity: What a repository is recognised by.
            create: Whether a new project is created for an identity that is not known.

        Returns:
            The name; None when it is not known and ``create`` is false.
        """
        return self._engine.resolve_project(*arguments.identity(identity), arguments.flag(create, field="create"))

    def project_name(self, identity: ProjectIdentity) -> str:
        """Return the name of an identity's project, or the one that it would get; nothing is written."""
        return self._engine.project_name(*arguments.identity(identity))

    def rename_project(self, old: str, new: str) -> None:
        """Give a project another name."""
        self._engine.rename_project(arguments.text(old, field="project"), arguments.text(new, field="project"))

    def merge_projects(self, source: str, target: str) -> int:
        """Move everything of one project into another and remove it; returns how many memories moved."""
        return self._engine.merge_projects(
            arguments.text(source, field="project"), arguments.text(target, field="project")
        )

    # Rows

    def dump(
        self,
        *,
        project: str | None = None,
        scope: str | None = None,
        categories: Sequence[str] | None = None,
        since_ms: int | None = None,
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield every row of the store, kind by kind, from one consistent copy.

        Args:
            project: Only what belongs to this project or to no project; None for everything.
            scope: ``global`` or ``project`` for only what belongs to none, or to one.
            categories: Only memories of these, and what belongs to them.
            since_ms: Only memories created since, in UTC milliseconds, and what belongs to them.

        Yields:
            ``project``, ``memory``, ``link``, ``history`` or ``kv``, and a JSON object.
        """
        wanted = Wanted(
            arguments.project_name(project),
            None if categories is None else frozenset(arguments.texts(categories, field="categories")),
            arguments.whole(since_ms, field="since_ms"),
            arguments.optional_text(scope, field="scope"),
        )
        with temporary_copy(self._engine) as copy:
            yield from rows(copy, wanted)

    def load(self, kind: str, rows: Sequence[Mapping[str, Any]]) -> builtins.list[str]:
        """Put rows of ``dump`` back; the same rows again change nothing.

        Returns:
            What became of each row: ``stored``, ``merged``, ``updated`` or ``kept``.
        """
        for row in rows:
            if not isinstance(row, Mapping):
                raise InvalidInputError(f"rows: must be mappings, not {type(row).__name__}", field="rows")
        if kind == "memory":
            # How often a memory was used says nothing here.
            memories = [{name: row[name] for name in row if name not in _USE_COUNTERS} for row in rows]
            return [str(result.status) for result in self._write(memories)]
        added, merged = self._engine.load(
            arguments.text(kind, field="kind"), [arguments.json_text(dict(row), field=kind) for row in rows]
        )
        return ["stored"] * added + ["merged"] * merged

    # Keeping

    def embed_pending(self, *, progress: Callable[[int, int], None] | None = None, limit: int | None = None) -> int:
        """Embed memories that wait; returns how many got their vectors.

        Raises:
            EmbeddingError: The model could not be loaded, or the store's vectors are of another model.
        """
        most = None if limit is None else arguments.count(limit, field="limit")
        embedder = self._embedder()
        self._require_match(embedder)
        with embedding_queue.embedding_turn(self.data_dir):
            return embedding_queue.embed_pending(self._engine, embedder, progress=progress, limit=most)

    def embed_some(
        self, *, limit: int, skip: Collection[int] = (), on_failure: Callable[[int, Exception], None] | None = None
    ) -> int | None:
        """Embed some memories that wait, for a worker that has other things to do, too; they are not yet compared.

        Args:
            limit: How many at most.
            skip: Keys of memories that are left out.
            on_failure: Called with the key of each memory that cannot be embedded, and why; without it that is raised.

        Returns:
            How many got their vectors; None when another process is embedding.

        Raises:
            EmbeddingError: The model could not be loaded, or the store's vectors are of another model.
        """
        most = arguments.count(limit, field="limit")
        if isinstance(skip, str) or not isinstance(skip, Collection):
            raise InvalidInputError(f"skip: must be keys, not {type(skip).__name__}", field="skip")
        embedder = self._embedder()
        self._require_match(embedder)
        with embedding_queue.embedding_turn(self.data_dir, give_up=lambda: True) as mine:
            if not mine:
                return None
            return embedding_queue.embed_pending(
                self._engine, embedder, limit=most, compare=False, skip=skip, on_failure=on_failure
            )

    def waits_for_vectors(self, *, without: Collection[int] = (), key: int | None = None) -> bool:
        """Say whether a memory waits for its vectors.

        Args:
            without: Keys of memories that do not count.
            key: Only the one with this key; None for any.
        """
        if isinstance(without, str) or not isinstance(without, Collection):
            raise InvalidInputError(f"without: must be keys, not {type(without).__name__}", field="without")
        if key is not None:
            asked = arguments.count(key, field="key", least=1)
            return [one for one, _ in self._engine.pending_embeddings(asked - 1, 1)] == [asked]
        found = self._engine.pending_embeddings(0, len(without) + 1)
        return any(one not in without for one, _ in found)

    def link_new(self) -> int:
        """Compare some memories that have new vectors with their neighbours; returns how many, 0 when none is left."""
        return self._engine.compare_new()

    def catch_up(self) -> None:
        """Bring the derived indexes up to the store; recalls are right without it, only slower."""
        self._engine.catch_up()

    def reindex(self, *, progress: Callable[[str, int, int], None] | None = None) -> RebuildReport:
        """Build the derived indexes anew, and embed what has no vectors of the embedder's model.

        A rebuild embeds nothing that is embedded already; a changed model embeds everything.

        Args:
            progress: Called with a stage (``embeddings``, ``words``, ``vectors``), how much is done, and of how much.
        """
        embedder = self._embedder()

        def told(done: int, total: int) -> None:
            if progress is not None:
                progress("embeddings", done, total)

        with embedding_queue.embedding_turn(self.data_dir):
            embedded = embedding_queue.embed_pending(self._engine, embedder, progress=told)
        report = self._engine.rebuild_indexes(progress)
        return RebuildReport(texts=report["lexical_added"], vectors=report["vectors_added"], embedded=embedded)

    def verify(self) -> VerifyReport:
        """Look at everything: the truth, the lexical index, the vectors."""
        report = self._engine.verify()
        return VerifyReport(
            memories=report["memories"],
            lexical_documents=report["lexical_documents"],
            graph_vectors=report["graph_vectors"],
            store_problems=tuple(report["store_problems"]),
            index_problems=tuple(report["index_problems"]),
            pending_embeddings=self._engine.count_pending_embeddings(),
        )

    def repair(self, *, progress: Callable[[str, int, int], None] | None = None) -> RepairReport:
        """Rebuild damaged indexes; what is wrong with the truth itself is only reported."""
        found = self.verify()
        if not found.index_problems:
            return RepairReport(found=tuple(found.problems), remaining=tuple(found.problems), rebuilt=None)
        report = self._engine.rebuild_indexes(progress)
        rebuilt = RebuildReport(texts=report["lexical_added"], vectors=report["vectors_added"], embedded=0)
        return RepairReport(found=tuple(found.problems), remaining=tuple(self.verify().problems), rebuilt=rebuilt)

    def backup(self, target: str | Path | None = None) -> Path:
        """Write a complete copy; returns its path.

        Args:
            target: Where to, a file that does not exist; by default in ``backups`` in the data directory.

        Raises:
            ConflictError: The file exists.
        """
        if target is None:
            stamp = arguments.moment(self._engine.now_ms()).strftime("%Y%m%dT%H%M%S%fZ")
            target = self.data_dir / "backups" / f"{stamp}.db"
        path = arguments.path(target, field="target").absolute()
        self._engine.backup(path)
        return path

    def backup_restore(self, source: str | Path) -> int:
        """Replace everything by a backup; returns the number of memories. Other processes see it at once."""
        memories = self._engine.restore_backup(arguments.path(source, field="source"))
        self._notify()
        return memories

    def backups(self) -> builtins.list[Backup]:
        """Return the backups that are still there, newest first."""
        return [
            Backup(path=Path(path), at=arguments.moment(at), bytes=Path(path).stat().st_size)
            for path, at in self._engine.backups()
        ]

    def maintain(self) -> tuple[int, int]:
        """Clean up what no answer shows any more; returns expired values and forgotten versions."""
        return self._engine.maintain()

    def stats(self) -> Stats:
        """Return the store in numbers."""
        found = self._engine.stats()
        by_status = dict(found.pop("by_status"))
        by_category = dict(found.pop("by_category"))
        return Stats(
            memories=sum(by_status.values()),
            by_status=by_status,
            by_category=by_category,
            model_mismatch=None if found["model"] is None else self._usable_embedder()[1],
            data_dir=self.data_dir,
            **found,
        )

    # Inside

    def _embedder(self) -> Embedder:
        with self._embedder_lock:
            if self._given_embedder is None:
                from opencode_memory.embedding import OnnxEmbedder  # noqa: PLC0415  loads nothing until it embeds

                self._given_embedder = OnnxEmbedder()
            return self._given_embedder

    def _usable_embedder(self) -> tuple[Embedder | None, str | None]:
        """Return the embedder whose vectors the store has, or why there is none and recall goes by words only."""
        try:
            embedder = self._embedder()
            mismatch = embedding_queue.mismatch(self._engine, embedder)
        except EmbeddingError as error:
            return None, str(error)
        return (embedder, None) if mismatch is None else (None, str(mismatch))

    def _query_vector(self, query: str) -> npt.NDArray[np.float32] | None:
        """Embed a query; None while the store has no vectors of this embedder's model, or when the model fails."""
        if not query.strip() or self._engine.active_model() is None:
            return None
        embedder, reason = self._usable_embedder()
        if embedder is not None:
            try:
                return embedder.embed_query(subject(query))
            except EmbeddingError as error:
                reason = f"the query could not be embedded, so recall goes by words only: {error}"
        if self._said_by_words != reason:
            self._said_by_words = reason
            _log.warning("%s", reason)
        return None

    def _require_match(self, embedder: Embedder) -> None:
        mismatch = embedding_queue.mismatch(self._engine, embedder)
        if mismatch is not None:
            raise EmbeddingError(str(mismatch))

    def _notify(self) -> None:
        """Have what was written embedded. It is written, so nothing that is wrong with the model may be raised here."""
        if not self._background_wanted:
            return
        try:
            embedder = self._embedder()
        except EmbeddingError:
            _log.exception("what is written is found by its words only, for the embedding model cannot be used")
            return
        with self._embedder_lock:
            if self._background is None:
                self._background = embedding_queue.BackgroundEmbedding(self._engine, embedder, self.data_dir)
                # Nobody will notify the thread of a store that is gone.
                weakref.finalize(self, self._background.abandon)
            background = self._background
        background.notify()

    def _milliseconds(self, value: Time | None, field: str) -> int | None:
        return arguments.whole(arguments.milliseconds(value, field=field, zone=self._zone), field=field)

    def _selection(
        self,
        project: str | None,
        scope: str | None,
        category: str | Sequence[str] | None,
        status: str | Sequence[str] | None,
        since: Time | None,
        until: Time | None,
        older_than: Time | None,
        entity: str | None,
        tag: str | None,
        *,
        with_expired: bool = False,
        pinned: bool = False,
    ) -> dict[str, Any]:
        return records.selection(
            project=self._project if project is None else project,
            scope=scope,
            category=category,
            status=status,
            since=self._milliseconds(since, "since"),
            until=self._milliseconds(until, "until"),
            created_before=self._milliseconds(older_than, "older_than"),
            entity=entity,
            tag=tag,
            with_expired=arguments.flag(with_expired, field="with_expired"),
            pinned_only=arguments.flag(pinned, field="pinned"),
        )


def _ids(ids: str | Sequence[str]) -> list[str]:
    return [arguments.text(ids, field="id")] if isinstance(ids, str) else arguments.texts(ids, field="ids")


def _readable(query: object) -> str:
    """A query with parts that are not text is answered by the rest of it."""
    if not isinstance(query, str):
        raise InvalidInputError(f"query: must be text, not {type(query).__name__}", field="query")
    return query.encode("utf-8", errors="replace").decode() if not query.isascii() else query
