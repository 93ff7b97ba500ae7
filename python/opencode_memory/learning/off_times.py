"""Off times: when learning was off, so that messages of that time stay unread after it is on again.

A switch that is turned off opens a span of time, and turning it on closes the span. Processes read the configuration
when they start, so they record its switches then: a source without ``learning.enabled``, a source that is not in
``learning.sources``, and the projects of ``learning.skip_projects``. Before the first recorded span nothing is off, so
a first installation may read the whole history.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Self

from opencode_memory.store import reserved_keys
from opencode_memory.text.clock import now, to_ms

if TYPE_CHECKING:
    from opencode_memory.learning.extraction.events import Message, SessionInfo
    from opencode_memory.store.memory_store import MemoryStore

FEEDS: Final = ("opencode", "live")
"""Sources with messages of sessions."""
_KEY: Final = f"{reserved_keys.PROGRAM}off:"
_PROJECT: Final = f"{_KEY}project"
_SOURCE: Final = f"{_KEY}source:"
_SKIPPED: Final = f"{_KEY}skipped:"
_SESSION: Final = f"{_KEY}session:"
_MOST_SPANS: Final = 200


@dataclass(frozen=True, slots=True)
class OffTimes:
    """Times at which one switch was off, in UTC milliseconds.

    Attributes:
        since: Begin of the present span; None if the switch is on.
        spans: Earlier spans, each with its begin and its end.
    """

    since: int | None = None
    spans: tuple[tuple[int, int], ...] = ()

    def covers(self, at_ms: int, *, with_present: bool = True) -> bool:
        """Return whether the switch was off at a time."""
        is_now = with_present and self.since is not None and at_ms >= self.since
        return is_now or any(begin <= at_ms < end for begin, end in self.spans)

    def turn(self, at_ms: int, *, on: bool) -> Self:
        """Return the times after the switch was turned on or off."""
        if not on:
            return self if self.since is not None else replace(self, since=at_ms)
        if self.since is None:
            return self
        return replace(self, since=None, spans=(*self.spans, (self.since, at_ms))[-_MOST_SPANS:])

    @classmethod
    def from_json(cls, value: Any) -> Self:
        """Parse a stored value; an invalid one gives no times."""
        match value:
            case {"since": int() | None as since, "spans": list(spans)} if all(map(_is_span, spans)):
                return cls(since, tuple((begin, end) for begin, end in spans))
        return cls()

    def as_json(self) -> dict[str, Any]:
        """Convert to a JSON object; the names of its members are stored and must stay."""
        return {"since": self.since, "spans": [list(span) for span in self.spans]}


def _is_span(value: Any) -> bool:
    match value:
        case [int(), int()]:
            return True
    return False


def note_project(store: MemoryStore, project: str, *, on: bool) -> None:
    """Record that learning was switched on or off for a project."""
    _turn(store, _PROJECT, project, to_ms(now()), on=on)


def note_session(store: MemoryStore, session: str, *, on: bool) -> None:
    """Record that learning was paused or resumed for a session."""
    _turn(store, _SESSION + session, None, to_ms(now()), on=on)


def note_configuration(
    store: MemoryStore, *, sources: Collection[str], skip_projects: Iterable[str], at_ms: int
) -> None:
    """Record the switches of the configuration that a process works with.

    Args:
        store: The store.
        sources: The sources that are read; empty if all learning is off.
        skip_projects: Projects that are not learned from.
        at_ms: The current time, in UTC milliseconds.
    """
    for source in FEEDS:
        _turn(store, _SOURCE + source, None, at_ms, on=source in sources)
    skipped = {_SKIPPED + project for project in skip_projects}
    recorded = {entry.key for entry in store.for_project(None).kv.list(_SKIPPED)}
    for key in skipped | recorded:
        _turn(store, key, None, at_ms, on=key not in skipped)


def find_unread(
    store: MemoryStore,
    messages: Sequence[Message],
    *,
    source: str,
    project: str | None,
    session: SessionInfo,
    is_requested: bool = False,
) -> list[Message]:
    """Return the messages of times when learning was off for their source, project or session.

    Args:
        store: The store with the times.
        messages: Messages of one session.
        source: The source that delivered them.
        project: The project of the session.
        session: The session; a subagent follows its parent.
        is_requested: Whether the user requested the reading, so that a source that is off now does not matter.
    """
    if not messages:
        return []
    found = [(_read(store, _SOURCE + source, None), not is_requested)]
    found += [(times, True) for times in _read_places(store, project, session)]
    off = [(times, with_present) for times, with_present in found if times != OffTimes()]
    return [
        message
        for message in messages
        if message.at_ms and any(times.covers(message.at_ms, with_present=present) for times, present in off)
    ]


def _read_places(store: MemoryStore, project: str | None, session: SessionInfo) -> Iterator[OffTimes]:
    if project is not None:
        yield _read(store, _PROJECT, project)
        yield _read(store, _SKIPPED + project, None)
    for name in filter(None, (session.id, session.parent)):
        yield _read(store, _SESSION + name, None)


def _read(store: MemoryStore, key: str, project: str | None) -> OffTimes:
    return OffTimes.from_json(store.for_project(project).kv.get(key))


def _turn(store: MemoryStore, key: str, project: str | None, at_ms: int, *, on: bool) -> None:
    before = _read(store, key, project)
    after = before.turn(at_ms, on=on)
    if after != before:
        store.for_project(project).kv.set(key, after.as_json(), ttl_seconds=None)
