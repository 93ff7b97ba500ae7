"""Memory of the fact sheet: created at the first session in a project, and updated when the manifests change.

The memory has the lowest trust, because its words come from files. A sheet that the user edited, confirmed, archived or
deleted stays as the user left it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from opencode_memory.errors import NotFoundError
from opencode_memory.models import Category, NewMemory, RememberResult, Scope, Source, Status, Trust
from opencode_memory.notes.fact_sheet.sheet import describe_project
from opencode_memory.store import reserved_keys

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore

SOURCE: Final = "manifests"
"""Name of this source of learning in ``learning.sources``."""
_TOPIC: Final = "project:facts"
_MARK: Final = f"{reserved_keys.PROGRAM}fact-sheet"
"""Key of the last written sheet in the project's namespace: its id and a digest of its text.

The text itself would outlive a purge of the memory.
"""
_DIGEST_BYTES: Final = 16


def update_fact_sheet(store: MemoryStore, folder: Path, *, project: str) -> RememberResult | None:
    """Create or update the fact sheet of a project.

    Args:
        store: The store.
        folder: Top of the project's work tree.
        project: Name of the project.

    Returns:
        The result of the write; None if nothing had to be written.
    """
    content = describe_project(folder)
    written = store.kv.get(_MARK, project=project)
    if content is None or (written is not None and not _may_update(store, written, content)):
        return None
    result = store.remember_many(
        [
            NewMemory(
                content=content,
                category=Category.FACT,
                scope=Scope.owned_by(project),
                topic=_TOPIC,
                source=Source(tool=SOURCE),
                trust=Trust.IMPORTED,
            )
        ]
    )[0]
    value = {"id": result.id, "digest": _digest(store.get(result.id).content)}
    store.kv.set(_MARK, value, ttl_seconds=None, project=project)
    return result


def _may_update(store: MemoryStore, written: Mapping[str, str], content: str) -> bool:
    """Return whether the sheet differs from the new text, and is still as it was written."""
    try:
        sheet = store.get(written["id"])
    except NotFoundError:
        return False
    # Earlier versions kept the text.
    digest = written.get("digest") or _digest(written.get("content", ""))
    is_untouched = _digest(sheet.content) == digest and sheet.verified_at is None
    return sheet.status is Status.ACTIVE and is_untouched and sheet.content != content


def _digest(content: str) -> str:
    return hashlib.blake2b(content.encode(), digest_size=_DIGEST_BYTES).hexdigest()
