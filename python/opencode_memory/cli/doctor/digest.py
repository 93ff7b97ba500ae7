"""Check of the digest: whether its sessions fail, or are never asked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from opencode_memory.cli.doctor.checks import Check, Level
from opencode_memory.text import clock
from opencode_memory.text.clock import to_ms
from opencode_memory.text.formatting import format_count

if TYPE_CHECKING:
    from opencode_memory.config.sections import LearningConfig
    from opencode_memory.store.memory_store import MemoryStore

_WAITS_TOO_LONG_MS: Final = 86_400_000


def check_digest(store: MemoryStore, config: LearningConfig) -> Iterator[Check]:
    """Report a digest that fails, that no process makes, or whose settings are invalid."""
    from opencode_memory.learning.digest.queue import DigestQueue  # noqa: PLC0415  not needed for help
    from opencode_memory.learning.digest.settings import is_enabled, read_settings, uses_server  # noqa: PLC0415  as above

    if not is_enabled(config):
        return
    if uses_server(config):
        read_settings(config)
    now_ms = to_ms(clock.now())
    entries = DigestQueue(store, now_ms=lambda: now_ms).entries()
    if dead := [entry for entry in entries if entry.is_dead]:
        last = max(dead, key=lambda entry: entry.error_ms)
        text = f"the digest of {format_count(len(dead), 'session')} failed for good: {last.error}"
        yield Check("digest", Level.PROBLEM, text, "`opencode-memory learning test`, then `learning digest --retry`")
    late = [entry for entry in entries if entry.is_due and now_ms - (entry.due_ms or 0) > _WAITS_TOO_LONG_MS]
    if late:
        runner = "the worker, `opencode-memory serve`" if uses_server(config) else "an OpenCode in the same folder"
        text = f"{format_count(len(late), 'session')} have waited for a digest for more than a day"
        yield Check("digest", Level.NOTE, text, f"{runner} has to run")
    if not dead and not late:
        done = sum(entry.digested_ms > 0 for entry in entries)
        yield Check("digest", Level.OK, f"{format_count(done, 'session')} digested")
