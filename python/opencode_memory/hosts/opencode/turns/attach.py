"""Lets a store that a program opened show turns of OpenCode's sessions, as the command line and the server do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opencode_memory.config.load import environment, load
from opencode_memory.hosts.opencode.turns.reading import DatabaseTexts
from opencode_memory.learning.switches import Switches

if TYPE_CHECKING:
    from opencode_memory.config.sections import LearningConfig
    from opencode_memory.store.memory_store import MemoryStore


def read_sessions(store: MemoryStore, learning: LearningConfig | None = None) -> None:
    """Let ``store.search`` read the texts of turns from the databases that hold them.

    Without it, ``search`` finds memories only. A project or a session with learning switched off is not shown.

    Args:
        store: An open store. A store that is bound to a project shares the reader of the store it was made from.
        learning: The switches of learning; by default those of the user's configuration.

    Raises:
        ConfigError: The user's configuration is invalid.
    """
    config = load(environment=environment()).learning if learning is None else learning
    store.turns.texts = DatabaseTexts(store, Switches.from_config(config))
