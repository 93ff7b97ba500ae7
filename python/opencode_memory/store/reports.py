"""What the operations that keep a store sound say of their work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyReport:
    """What ``verify`` found.

    Attributes:
        memories: Memories looked at.
        lexical_documents: Documents of the lexical index looked at.
        graph_vectors: Vectors of the graph looked at; 0 while the store is small enough to do without one.
        store_problems: Damage to the truth: text may be lost, a backup helps.
        index_problems: Damage to derived files: ``repair`` rebuilds them.
        pending_embeddings: Memories that wait for their vectors; not a problem.
    """

    memories: int
    lexical_documents: int
    graph_vectors: int
    store_problems: tuple[str, ...]
    index_problems: tuple[str, ...]
    pending_embeddings: int

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    @property
    def problems(self) -> list[str]:
        """Everything that is wrong, the truth first."""
        return [*self.store_problems, *self.index_problems]


@dataclass(frozen=True, slots=True, kw_only=True)
class RebuildReport:
    """What a rebuild of the derived indexes did.

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
    """What ``repair`` found, did, and could not do.

    Attributes:
        found: Problems before.
        remaining: Problems after; damage to the truth stays until a backup is restored.
        rebuilt: What was rebuilt, None when nothing had to be.
    """

    found: tuple[str, ...]
    remaining: tuple[str, ...]
    rebuilt: RebuildReport | None

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong any more."""
        return not self.remaining


@dataclass(frozen=True, slots=True, kw_only=True)
class PurgeReport:
    """What ``purge`` erased and what still holds it.

    Attributes:
        memories: Memories erased.
        backups: Backups that hold at least one of them; delete those too, or make new ones.
        problems: What could not be cleaned, and why.
    """

    memories: int
    backups: tuple[Path, ...]
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Backup:
    """A backup that the store knows of and that is still there."""

    path: Path
    at: datetime
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """A store in numbers.

    Attributes:
        memories: Memories of every status.
        by_status: Memories of each status.
        by_category: Active memories of each category that there is.
        expired: Active memories past their life.
        projects: Projects.
        kv: Live values of the key-value store.
        pending_embeddings: Memories that wait for their vectors.
        model: Id of the model that the vectors come from, None before the first.
        model_mismatch: Why recall goes by words only, None when it does not.
        dimension: Length of a vector.
        lexical_documents: Texts in the lexical index.
        lexical_tail: Texts that it has not absorbed; they are found all the same.
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
