"""Reports of operations on a store: verify, rebuild, repair, purge, statistics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

NOT_CHECKED: Final = (
    "backups",
    "the numbers in vectors",
    "earlier versions in the history",
    "upper and lower case in texts",
)
"""Parts of a store in which ``verify`` finds no changed bit. The hash of a text is that of its normal form."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyReport:
    """Result of ``verify``.

    Attributes:
        memories: Number of memories checked.
        lexical_documents: Number of documents of the lexical index checked.
        graph_vectors: Number of vectors of the graph checked; 0 if the store is too small to have a graph.
        store_problems: Damage to the store itself. Text may be lost; restore a backup.
        index_problems: Damage to derived files; ``repair`` rebuilds them.
        pending_embeddings: Number of memories without vectors of the embedder's model, also if they have vectors of
            another model; not a problem.
    """

    memories: int
    lexical_documents: int
    graph_vectors: int
    store_problems: tuple[str, ...]
    index_problems: tuple[str, ...]
    pending_embeddings: int

    @property
    def ok(self) -> bool:
        """Whether there are no problems."""
        return not self.problems

    @property
    def problems(self) -> list[str]:
        """All problems, those of the store itself first."""
        return [*self.store_problems, *self.index_problems]


@dataclass(frozen=True, slots=True, kw_only=True)
class RebuildReport:
    """Result of a rebuild of the indexes.

    Attributes:
        texts: Texts in the new lexical index.
        vectors: Vectors in the new graph.
        embedded: Memories that were embedded because their vectors were missing or of another model.
    """

    texts: int
    vectors: int
    embedded: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairReport:
    """Result of ``repair``.

    Attributes:
        found: Problems before the repair.
        remaining: Problems after it. Damage to the store itself stays until a backup is restored.
        rebuilt: The rebuild of the derived indexes; None if none was needed.
    """

    found: tuple[str, ...]
    remaining: tuple[str, ...]
    rebuilt: RebuildReport | None

    @property
    def ok(self) -> bool:
        """Whether no problem remains."""
        return not self.remaining


@dataclass(frozen=True, slots=True, kw_only=True)
class PurgeReport:
    """Result of ``purge``.

    Attributes:
        memories: Number of memories erased.
        backups: Backups that still hold at least one of them; delete or replace them.
        problems: Files that could not be cleaned, and why.
    """

    memories: int
    backups: tuple[Path, ...]
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Backup:
    """A backup that exists: one that the store knows of, or a file in its folder of backups."""

    path: Path
    at: datetime
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Leftover:
    """A file or folder that may contain texts, and that no program needs any more.

    Attributes:
        path: The file or folder.
        advice: When the user can delete it.
    """

    path: Path
    advice: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """Statistics of a store.

    Attributes:
        memories: Memories of every status.
        by_status: Memories of each status.
        by_category: Active memories of each category in use.
        expired: Active memories that have expired.
        projects: Projects.
        kv: Live values of the key-value store.
        pending_embeddings: Memories that wait for their vectors.
        model: Id of the model of the vectors; None before the first vector.
        model_mismatch: Why recall uses full-text search only; None if it does not.
        dimension: Length of a vector.
        lexical_documents: Texts in the lexical index.
        lexical_tail: Texts that are not in it yet; recall finds them anyway.
        vectors: Vectors that are compared.
        graph_vectors: Vectors in the graph; 0 while every vector is compared one by one.
        seq: Number of the last change.
        store_id: Id of the store.
        store_bytes: Size of the store and its WAL.
        lexical_bytes: Size of the lexical index.
        graph_bytes: Size of the graph.
        data_dir: The data directory.
    """

    memories: int
    by_status: Mapping[str, int]
    by_category: Mapping[str, int]
    expired: int
    projects: int
    kv: int
    pending_embeddings: int
    model: str | None
    model_mismatch: str | None
    dimension: int | None
    lexical_documents: int
    lexical_tail: int
    vectors: int
    graph_vectors: int
    seq: int
    store_id: str
    store_bytes: int
    lexical_bytes: int
    graph_bytes: int
    data_dir: Path
