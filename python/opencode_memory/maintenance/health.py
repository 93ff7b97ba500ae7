"""The health of a store: the checks whose results ``/health`` and ``doctor`` both report.

All checks are cheap, because monitoring requests them often. None of them loads the model.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from opencode_memory.embedding.budget import describe_wait
from opencode_memory.errors import OpencodeMemoryError
from opencode_memory.files import access
from opencode_memory.text.formatting import format_count

if TYPE_CHECKING:
    from pathlib import Path

    from opencode_memory.store.memory_store import MemoryStore

_ENOUGH_BYTES: Final = 200 * 1000 * 1000


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding about the health of a store.

    Attributes:
        name: The checked part: ``store``, ``data_dir``, ``disk``, ``embeddings`` or ``embed_budget``.
        text: The finding, in one sentence.
        hint: The next step for the user, if any.
        is_problem: Whether the store does not work as it should; otherwise the finding is a note.
    """

    name: str
    text: str
    hint: str | None = None
    is_problem: bool = True


def check_health(store: MemoryStore) -> list[Finding]:
    """Check whether a store can be read and written, has space, and has vectors for all memories."""
    return [*check_store(store), *check_folder(store.data_dir)]


def check_folder(folder: Path) -> Iterator[Finding]:
    """Check whether a data directory can be written, and has space for more."""
    if not folder.exists():
        return
    for path in (folder, folder / "store.db"):
        if path.exists() and not access.is_writable(path):
            text = f"{path} is not writable, so memories can be read but not stored"
            yield Finding("data_dir", text, "make it writable for this user, or set data_dir to another folder")
            break
    free = shutil.disk_usage(folder).free
    if free < _ENOUGH_BYTES:
        text = f"only {free / 1e6:,.0f} MB are free in {folder}; writes fail without space"
        yield Finding("disk", text, "remove other files there, or backups that `opencode-memory backup list` shows")


def check_store(store: MemoryStore) -> Iterator[Finding]:
    """Check whether a store can be read, and whether all memories have vectors."""
    try:
        store.check_place()
        store.count(scope="global")
        pending = store.indexes.count_pending()
        budget = store.indexes.models.budget()
    except OpencodeMemoryError as error:
        yield Finding("store", f"the store cannot be used: {error}", error.hint)
        return
    if pending:
        verb = "has" if pending == 1 else "have"
        text = f"{format_count(pending, 'memory')} {verb} no vectors yet; only words find them"
        yield Finding("embeddings", text, "opencode-memory reindex", is_problem=False)
    if budget is not None and budget.until is not None:
        text = describe_wait(budget.limit, budget.until)
        yield Finding("embed_budget", text, "raise embedding.tokens_per_day; 0 is no limit", is_problem=False)
