"""Arranges the entries of a brief: groups, order, and what the user said later about a statement."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from opencode_memory.context.entry import GROUPS, OTHERS, Entry
from opencode_memory.context.folding import Folded
from opencode_memory.store.learning_state import SAID_LATER

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore

_ORDER: Final = {group: place for place, group in enumerate(GROUPS)}


def quote_later(
    store: MemoryStore, project: str | None, entries: Sequence[Entry], folded: Iterable[Folded]
) -> Iterator[Entry]:
    """Yield the entries. A rule quotes the newest statement of the user about it, unless that is a rule of its own.

    Entries that speak against each other show their ages.

    Args:
        store: The store of the links.
        project: The project of the brief; None for the global memories alone.
        entries: The entries.
        folded: Their memories, with the earlier statements that they speak against.
    """
    by_id = {entry.memory.id: entry for entry in entries}
    against = [(fold.memory.id, id_) for fold in folded for id_ in fold.beside]
    about = [(link.source, link.target) for link in store.links_to([*by_id], [SAID_LATER], project=project)]
    pairs = [pair for pair in (*against, *about) if by_id.keys() >= set(pair)]
    quotes: dict[str, str] = {}
    # The oldest first, so that the newest of several is quoted.
    for later_id, older_id in sorted(pairs, key=lambda pair: by_id[pair[0]].memory.time):
        later, older = by_id[later_id], by_id[older_id]
        by_id[later_id], by_id[older_id] = replace(later, is_aged=True), replace(older, is_aged=True)
        # A statement of the project leads a global one that was said after it.
        is_own = later.memory.is_confirmed and not later.memory.pinned and later.memory.time > older.memory.time
        if is_own and later.group == OTHERS and older.group != OTHERS:
            quotes[older_id] = later_id
    quoted = set(quotes.values())
    for id_, entry in by_id.items():
        if id_ not in quoted:
            yield replace(entry, later=by_id[quotes[id_]].memory) if id_ in quotes else entry


def sort_entries(entries: Sequence[Entry], folded: Iterable[Folded]) -> list[Entry]:
    """Sort entries by group, then by worth. Those of a group that speak against each other stand together.

    Among these, what holds in one project stands first, then the newest.

    Args:
        entries: The entries.
        folded: Their memories, with the earlier statements that they speak against.
    """
    groups = {entry.memory.id: entry.group for entry in entries}
    # Each set of entries has the number of its first one, so that entries of equal worth keep their order.
    together = {id_: number for number, id_ in enumerate(groups)}
    for fold in folded:
        for id_ in fold.beside:
            if id_ in groups and groups.get(fold.memory.id) == groups[id_]:
                joined = {together[fold.memory.id], together[id_]}
                together |= {other: min(joined) for other, set_ in together.items() if set_ in joined}
    worth: dict[int, float] = {}
    for entry in entries:
        set_ = together[entry.memory.id]
        worth[set_] = max(worth.get(set_, entry.worth), entry.worth)

    def key(entry: Entry) -> tuple[int, float, int, bool, float]:
        set_ = together[entry.memory.id]
        is_global = entry.memory.project is None
        return _ORDER[entry.group], -worth[set_], set_, is_global, -entry.memory.time.timestamp()

    return sorted(entries, key=key)
