"""Switches that turn learning off: for everything or per source in the configuration, per project, and per session.

What is said while a switch is off stays unread, also after the switch is on again: a message that is read meanwhile is
marked as processed, and ``off_times`` records when each switch was off. While learning is off as a whole, no message is
read.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from opencode_memory.learning import off_times
from opencode_memory.learning.extraction.languages.cues import MEASURED
from opencode_memory.store import reserved_keys

if TYPE_CHECKING:
    from opencode_memory.config.sections import LearningConfig
    from opencode_memory.learning.extraction.events import SessionInfo
    from opencode_memory.store.memory_store import MemoryStore

_PROJECT: Final = f"{reserved_keys.PROGRAM}learning"
_SESSION: Final = f"{reserved_keys.PROGRAM}paused:"
_OFF: Final = "off"


@dataclass(frozen=True, slots=True)
class Switches:
    """Switches of the configuration, combined with those in the store.

    Attributes:
        enabled: Whether learning is on at all.
        sources: Sources that are read.
        skip_projects: Projects that are not learned from.
        languages: Codes of the languages that are learned from.
    """

    enabled: bool = True
    sources: frozenset[str] = frozenset({"opencode", "live", "markdown", "manifests"})
    skip_projects: Collection[str] = field(default=())
    languages: frozenset[str] = MEASURED

    @classmethod
    def from_config(cls, config: LearningConfig) -> Switches:
        """Build the switches from the configuration."""
        return cls(config.enabled, frozenset(config.sources), config.skip_projects, frozenset(config.languages))

    def is_enabled(self, source: str) -> bool:
        """Return whether a source is read."""
        return self.enabled and source in self.sources

    def note(self, store: MemoryStore, *, at_ms: int) -> None:
        """Record these switches, so that messages of a time when they were off stay unread later."""
        sources = self.sources if self.enabled else ()
        off_times.note_configuration(store, sources=sources, skip_projects=self.skip_projects, at_ms=at_ms)

    def skips(self, store: MemoryStore, project: str | None, session: SessionInfo) -> bool:
        """Return whether the messages of a session are skipped now; a subagent follows its parent session."""
        return bool(self.find_skipped(store, {session.id: (project, session)}))

    def find_skipped(self, store: MemoryStore, sessions: Mapping[str, tuple[str | None, SessionInfo]]) -> set[str]:
        """Return the sessions that ``skips`` is true for. All paused sessions are read at once; there are few.

        Args:
            store: The store.
            sessions: Project and information of each session, by its id.
        """
        projects = {project for project, _ in sessions.values()}
        off = {project for project in projects if project in self.skip_projects or is_off(store, project)}
        entries = store.for_project(None).kv.list(_SESSION)
        paused = {entry.key.removeprefix(_SESSION) for entry in entries if entry.value}
        return {
            name
            for name, (project, info) in sessions.items()
            if project in off or not paused.isdisjoint((info.id, info.parent))
        }


def is_off(store: MemoryStore, project: str | None) -> bool:
    """Return whether learning is switched off for a project."""
    return project is not None and store.kv.get(_PROJECT, project=project) == _OFF


def switch(store: MemoryStore, project: str, *, on: bool) -> None:
    """Switch learning on or off for a project."""
    if on:
        store.kv.delete(_PROJECT, project=project)
    else:
        store.kv.set(_PROJECT, _OFF, ttl_seconds=None, project=project)
    off_times.note_project(store, project, on=on)


def is_paused(store: MemoryStore, session: str) -> bool:
    """Return whether learning is paused for a session."""
    return bool(store.for_project(None).kv.get(_SESSION + session))


def pause(store: MemoryStore, session: str, *, paused: bool) -> None:
    """Pause or resume learning for a session."""
    everywhere = store.for_project(None).kv
    if paused:
        everywhere.set(_SESSION + session, True, ttl_seconds=None)
    else:
        everywhere.delete(_SESSION + session)
    off_times.note_session(store, session, on=not paused)
