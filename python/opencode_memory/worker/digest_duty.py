"""Duty of the optional LLM: rewords learned memories, or archives those not worth keeping.

The LLM receives the text and the evidence of a memory, and its verdicts are validated before they arrive here. If it
fails, memories stay as the rules wrote them. A rejected memory is archived and a rewording is an edit, so that
``undo`` reverts both.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Final

from opencode_memory.errors import NotFoundError
from opencode_memory.learning.digest import (
    MAX_STATEMENTS,
    BudgetExceeded,
    Digester,
    DigestError,
    DigestSettings,
    Statement,
    Usage,
)
from opencode_memory.models import ALL_PROJECTS, Category, Memory, Status, Trust
from opencode_memory.text import clock
from opencode_memory.worker.duty import PermanentError, PostponedError, Work

if TYPE_CHECKING:
    from opencode_memory.config.load import Config
    from opencode_memory.learning.digest import Verdict
    from opencode_memory.store.memory_store import MemoryStore

_DONE: Final = "distilled"
_LEDGER: Final = "opencode-memory:extraction:"
_LEDGER_SECONDS: Final = 3 * 86_400
_PAGE: Final = 200
_LOOK_AGAIN: Final = timedelta(minutes=10)
_STATEMENTS: Final = tuple(
    category for category in Category if category not in {Category.CONVERSATION, Category.DIRECTIVE, Category.PROCEDURE}
)


class StoredUsage:
    """Usage per day, stored in the store's key-value pairs."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    def load(self, day: date) -> Usage:
        """Return the usage of a day."""
        found = self._store.kv.get(_LEDGER + day.isoformat())
        return Usage(calls=found["calls"], tokens=found["tokens"]) if isinstance(found, dict) else Usage()

    def save(self, day: date, spent: Usage) -> None:
        """Store the usage of a day."""
        value = {"calls": spent.calls, "tokens": spent.tokens}
        self._store.kv.set(_LEDGER + day.isoformat(), value, ttl_seconds=_LEDGER_SECONDS)


def run_digest(work: Work, config: Config) -> datetime:
    """Send some learned memories to the LLM and apply its verdicts; return when to look for more.

    Raises:
        PostponedError: The server does not answer.
        PermanentError: The server rejects the request permanently.
    """
    if config.extraction_model is None or config.extraction_url is None:
        raise PermanentError("no LLM is configured")
    settings = DigestSettings(
        model=config.extraction_model,
        url=config.extraction_url,
        key=config.extraction_key,
        timeout_seconds=config.extraction_timeout_seconds,
        calls_per_day=config.extraction_calls_per_day,
        tokens_per_day=config.extraction_tokens_per_day,
    )
    batch = {
        str(number): memory
        for number, memory in enumerate(islice(_find_statements(work.store), MAX_STATEMENTS), start=1)
    }
    if not batch:
        return work.at + _LOOK_AGAIN
    statements = [
        Statement(id=name, category=memory.category, content=memory.content, evidence=str(memory.metadata["evidence"]))
        for name, memory in batch.items()
    ]
    digester = Digester(settings, StoredUsage(work.store), clock=clock.now)
    try:
        report = digester.digest(statements)
    except DigestError as error:
        if error.is_final:
            raise PermanentError(str(error)) from error
        raise PostponedError(str(error), seconds=error.retry_after_seconds or _LOOK_AGAIN.total_seconds()) from error
    if isinstance(report.outcome, BudgetExceeded):
        return report.outcome.until
    verdicts = {verdict.id: verdict for verdict in report.verdicts}
    for name, memory in batch.items():
        _apply_verdict(work.store, memory, verdicts.get(name))
    return work.at


def _find_statements(store: MemoryStore) -> Iterator[Memory]:
    offset = 0
    while page := store.list(
        project=ALL_PROJECTS,
        category=_STATEMENTS,
        status=(Status.ACTIVE, Status.CANDIDATE),
        limit=_PAGE,
        offset=offset,
    ):
        offset += len(page)
        for memory in page:
            is_learned = memory.trust is Trust.EXTRACTED and "evidence" in memory.metadata
            is_open = _DONE not in memory.metadata and memory.verified_at is None and not memory.pinned
            if is_learned and is_open and not _was_changed_by_user(store, memory):
                yield memory


def _snapshot(memory: Memory) -> tuple[object, ...]:
    return (memory.key, memory.updated_at, memory.status, memory.verified_at, memory.pinned)


def _was_changed_by_user(store: MemoryStore, memory: Memory) -> bool:
    """Return whether the user has changed a memory or undone a change of it."""
    changes = (entry for entry in store.history(memory.id) if entry.kind not in {"create", "merge"})
    return any(entry.undone or entry.actor is Trust.USER for entry in changes)


def _apply_verdict(store: MemoryStore, memory: Memory, verdict: Verdict | None) -> None:
    try:
        present = store.get(memory.id)
    except NotFoundError:
        return  # The memory was deleted in the meantime.
    if _snapshot(present) != _snapshot(memory):
        return  # The memory was changed in the meantime, so that change takes precedence.
    metadata = {**memory.metadata, _DONE: verdict is not None}
    if verdict is None or not verdict.keep or verdict.content is None:
        store.edit(memory.id, metadata=metadata)
    else:
        store.edit(memory.id, content=verdict.content, category=verdict.category, metadata=metadata)
    if verdict is not None and not verdict.keep:
        store.archive(memory.id, reason="the LLM judged it not worth keeping")
