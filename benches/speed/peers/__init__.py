"""One module per engine, all with the same protocol; a module imports its library, so only the chosen one is loaded."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final, cast

if TYPE_CHECKING:
    from .base import Peer

ENGINES: Final = ("ours", "lancedb", "chroma", "sqlite_vec", "zvec", "qdrant_edge")
"""Every engine that is compared; ``bare_sqlite`` is the yardstick for inserts and is not one of them."""

PACKAGES: Final = {
    "ours": "opencode-memory",
    "lancedb": "lancedb",
    "chroma": "chromadb",
    "sqlite_vec": "sqlite-vec",
    "zvec": "zvec",
    "qdrant_edge": "qdrant-edge-py",
}
"""The name that each engine is installed under."""


def load(engine: str) -> type[Peer]:
    """Import the library of ``engine`` and return its adapter."""
    return cast("type[Peer]", import_module(f"{__name__}.{engine}").Engine)
