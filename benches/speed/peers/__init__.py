"""Adapters with the same protocol. Each module imports its library, so only the chosen one is loaded."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final, cast

if TYPE_CHECKING:
    from .base import Peer

ENGINES: Final = ("ours", "lancedb", "chroma", "sqlite_vec", "zvec", "qdrant_edge")
"""The compared engines. ``bare_sqlite`` is only the yardstick for inserts."""

PACKAGES: Final = {
    "ours": "ocm-memory",
    "lancedb": "lancedb",
    "chroma": "chromadb",
    "sqlite_vec": "sqlite-vec",
    "zvec": "zvec",
    "qdrant_edge": "qdrant-edge-py",
}
"""Name of the package of each engine."""


def load(engine: str) -> type[Peer]:
    """Import the library of ``engine`` and return its adapter."""
    return cast("type[Peer]", import_module(f"{__name__}.{engine}").Engine)
