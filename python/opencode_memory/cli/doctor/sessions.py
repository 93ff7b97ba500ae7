"""Check of the session index: how much of OpenCode's sessions can be searched, and whether its databases exist."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from opencode_memory.cli.doctor.checks import Check, Level
from opencode_memory.text.formatting import format_count

if TYPE_CHECKING:
    from opencode_memory.config.sections import LearningConfig
    from opencode_memory.store.memory_store import MemoryStore


def check_sessions(store: MemoryStore, config: LearningConfig) -> Iterator[Check]:
    """Report the size of the session index, and each database that is configured or indexed but does not exist."""
    counts = store.turns.counts()
    configured = {str(config.opencode_db)} if config.opencode_db is not None else set()
    missing = [name for name in sorted({*counts.databases, *configured}) if not Path(name).exists()]
    for name in missing:
        text = f"{name} does not exist, so its sessions cannot be searched"
        yield Check("sessions", Level.NOTE, text, "set `learning.opencode_db` to OpenCode's database")
    if counts.turns and not missing:
        indexed = f"{format_count(counts.turns, 'turn')} of {format_count(counts.sessions, 'session')}"
        yield Check("sessions", Level.OK, f"{indexed} can be searched")
