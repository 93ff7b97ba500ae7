"""opencode-memory: the memory of coding agents.

    import opencode_memory

    with opencode_memory.open() as store:
        store.remember("Deploys go through ./scripts/deploy.sh, never by hand.", category="convention")
        for hit in store.recall("how do I deploy?"):
            print(hit.score, hit.memory.content)

Importing this package loads neither the engine nor the embedding model; ``open`` loads the engine, and the first text
that is embedded loads the model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opencode_memory.errors import (
    BusyError,
    ClosedError,
    ConfigError,
    ConflictError,
    CorruptStoreError,
    DimensionMismatchError,
    EmbeddingBudgetError,
    EmbeddingError,
    FormatVersionError,
    InvalidInputError,
    ModelNotFoundError,
    NotFoundError,
    OpencodeMemoryError,
    StorageError,
)
from opencode_memory.models import (
    ALL_PROJECTS,
    Category,
    Claim,
    Claimed,
    Explanation,
    HistoryEntry,
    Hit,
    KeptValue,
    KvEntry,
    Link,
    Memory,
    NewMemory,
    Operation,
    Project,
    ProjectIdentity,
    ProjectMerge,
    RelatedMemory,
    RememberResult,
    RememberStatus,
    Scope,
    ScopeKind,
    Session,
    Signal,
    Source,
    Status,
    Trust,
)

if TYPE_CHECKING:
    from opencode_memory.exchange.export import export_memories
    from opencode_memory.exchange.import_ import import_memories
    from opencode_memory.hosts.opencode.turns.attach import read_sessions
    from opencode_memory.store.memory_store import MemoryStore
    from opencode_memory.store.open_store import open  # noqa: A004  the API's own word

__all__ = [
    "ALL_PROJECTS",
    "BusyError",
    "Category",
    "Claim",
    "Claimed",
    "ClosedError",
    "ConfigError",
    "ConflictError",
    "CorruptStoreError",
    "DimensionMismatchError",
    "EmbeddingBudgetError",
    "EmbeddingError",
    "Explanation",
    "FormatVersionError",
    "HistoryEntry",
    "Hit",
    "InvalidInputError",
    "KeptValue",
    "KvEntry",
    "Link",
    "Memory",
    "MemoryStore",
    "ModelNotFoundError",
    "NewMemory",
    "NotFoundError",
    "OpencodeMemoryError",
    "Operation",
    "Project",
    "ProjectIdentity",
    "ProjectMerge",
    "RelatedMemory",
    "RememberResult",
    "RememberStatus",
    "Scope",
    "ScopeKind",
    "Session",
    "Signal",
    "Source",
    "Status",
    "StorageError",
    "Trust",
    "__version__",
    "export_memories",
    "import_memories",
    "open",
    "read_sessions",
]

__version__ = "0.1.0"
"""As in ``Cargo.toml``; a test compares them. Reading it from the installed package takes a tenth of a recall."""

_LAZY = {
    "MemoryStore": "opencode_memory.store.memory_store",
    "open": "opencode_memory.store.open_store",
    "export_memories": "opencode_memory.exchange.export",
    "import_memories": "opencode_memory.exchange.import_",
    "read_sessions": "opencode_memory.hosts.opencode.turns.attach",
}


def __getattr__(name: str) -> Any:
    import importlib  # noqa: PLC0415  the point of this function is to import late

    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name]), name)
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)
