"""Reads the texts of turns from OpenCode's database when they are shown. What was deleted there is not shown."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from opencode_memory.errors import BusyError, InvalidInputError, StorageError
from opencode_memory.hosts.opencode.feed.database import OpenCodeDatabase
from opencode_memory.hosts.opencode.feed.schema import Schemas
from opencode_memory.hosts.opencode.turns.texts import read_turn
from opencode_memory.models import Turn
from opencode_memory.store.turns import digest_of
from opencode_memory.text import clock
from opencode_memory.text.clock import to_ms

if TYPE_CHECKING:
    from opencode_memory.learning.switches import Switches
    from opencode_memory.store.memory_store import MemoryStore

_LOG: Final = logging.getLogger(__name__)


class DatabaseTexts:
    """Texts of turns, from the databases that hold them.

    Args:
        store: The store with the switches of projects and sessions.
        switches: Tell for which sessions learning is switched off; their turns are not shown.
        now_ms: Returns the current time in UTC milliseconds.
    """

    def __init__(
        self, store: MemoryStore, switches: Switches, now_ms: Callable[[], int] = lambda: to_ms(clock.now())
    ) -> None:
        self._store = store
        self._switches = switches
        self._now_ms = now_ms
        self._schemas = Schemas()

    def read(self, turns: Sequence[Turn]) -> list[Turn | None]:
        """Return the turns with title and text, in order; None for those that must not be shown.

        These were deleted or changed since, or learning is switched off for their project or session.
        """
        if not self._switches.is_enabled("opencode"):
            return [None] * len(turns)
        by_database: defaultdict[str, list[Turn]] = defaultdict(list)
        for turn in turns:
            by_database[turn.database].append(turn)
        found: dict[tuple[str, str, str], Turn] = {}
        for database, wanted in by_database.items():
            try:
                with OpenCodeDatabase(Path(database), self._schemas) as opened:
                    found |= {_key(turn): turn for turn in self._read_database(opened, wanted)}
            except (StorageError, InvalidInputError, BusyError) as error:
                _LOG.info("turns of sessions are not shown: %s", error)
        return [found.get(_key(turn)) for turn in turns]

    def _read_database(self, database: OpenCodeDatabase, turns: Sequence[Turn]) -> Iterator[Turn]:
        wanted: defaultdict[str, set[str]] = defaultdict(set)
        for turn in turns:
            wanted[turn.session].add(turn.message)
        messages, infos = database.read_messages(wanted, now_ms=self._now_ms())
        known = {turn.session: (turn.project, infos[turn.session]) for turn in turns if turn.session in infos}
        shown = known.keys() - self._switches.find_skipped(self._store, known)
        for turn in turns:
            message = messages.get((turn.session, turn.message)) if turn.session in shown else None
            said = None if message is None else read_turn(message)
            if said is not None and digest_of(said[1]) == turn.digest:
                yield replace(turn, title=infos[turn.session].title, text=said[1])


def _key(turn: Turn) -> tuple[str, str, str]:
    return turn.database, turn.session, turn.message
