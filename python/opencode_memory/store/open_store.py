"""Opens a store."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import tzinfo
from pathlib import Path
from typing import TYPE_CHECKING

from opencode_memory._core import Engine
from opencode_memory.config import paths
from opencode_memory.config.load import environment
from opencode_memory.embedding.budget import count_tokens
from opencode_memory.errors import InvalidInputError, StorageError
from opencode_memory.platform import system
from opencode_memory.store import arguments
from opencode_memory.store.embedder_choice import EmbedderChoice
from opencode_memory.store.embedding_queue import EmbeddingQueue
from opencode_memory.store.memory_store import MemoryStore
from opencode_memory.store.token_ledger import StoredTokens

if TYPE_CHECKING:
    from opencode_memory.embedding.base import Embedder


def open(  # noqa: A001  `opencode_memory.open` reads like what it does
    data_dir: str | Path | None = None,
    *,
    project: str | None = None,
    embedder: Embedder | None = None,
    other_embedders: Sequence[Embedder] = (),
    session_embedder: Embedder | None = None,
    read_only: bool = False,
    actor: str = "user",
    zone: tzinfo | None = None,
    background: bool = True,
    clock_ms: int | None = None,
) -> MemoryStore:
    """Open a store; create it if it does not exist.

    Args:
        data_dir: Its folder; by default ``$XDG_DATA_HOME/opencode-memory/store``.
        project: The project to write to and to search in, unless a call names another.
        embedder: Turns texts into vectors; by default the bundled all-MiniLM-L6-v2, loaded when it is first needed.
        other_embedders: Embedders of other models. If the vectors of the store are of one of these models, it is used,
            until ``indexes.models.change`` or ``indexes.reindex`` changes to ``embedder``.
        session_embedder: Embeds turns of sessions; by default ``embedder``.
        read_only: Never write; the store must exist.
        actor: The writer that the history names: ``user``, ``agent``, ``extracted``, ``tool`` or ``imported``.
        zone: Zone of times that name none; None for this machine's.
        background: Whether threads of this process embed and index new memories. Without them, call
            ``indexes.embed_pending``. Full-text search finds every memory either way.
        clock_ms: A fixed time for the store's clock, for tests.

    Raises:
        InvalidInputError: An argument is invalid.
        StorageError: The folder cannot be used; it may lie on a network file system.
        CorruptStoreError: The file there is damaged or not a store.
        FormatVersionError: The store was written by a newer version.
    """
    folder = paths.default_data_dir(environment()) if data_dir is None else arguments.path(data_dir, field="data_dir")
    if zone is not None and not isinstance(zone, tzinfo):
        raise InvalidInputError(f"zone: must be a tzinfo, not {type(zone).__name__}", field="zone")
    project = arguments.project_name(project)
    if system().gives_privacy_by_folder and not read_only:
        _make_folder(folder)
    engine = Engine(
        folder,
        read_only=arguments.flag(read_only, field="read_only"),
        actor=arguments.text(actor, field="actor"),
        background=arguments.flag(background, field="background"),
        clock_ms=arguments.whole(clock_ms, field="clock_ms"),
    )
    ledger = StoredTokens(engine)
    embedder, session_embedder = (one and count_tokens(one, ledger) for one in (embedder, session_embedder))
    queue = EmbeddingQueue(
        engine,
        engine.data_dir,
        choice=EmbedderChoice(engine, embedder, [count_tokens(other, ledger) for other in other_embedders]),
        session_embedder=session_embedder,
        in_background=background and not read_only,
    )
    return MemoryStore(engine, queue, project=project, zone=zone)


def _make_folder(folder: Path) -> None:
    try:
        system().make_folder(folder)
    except OSError as error:
        raise StorageError(f"cannot create {folder}: {error.strerror or error}", path=str(folder)) from error
