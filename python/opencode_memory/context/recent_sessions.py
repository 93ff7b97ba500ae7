"""Summaries of recent sessions: the newest ones, and what the last session left open."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from opencode_memory.models import Category, Memory

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore

_MOST_SUMMARIES: Final = 20
_OPEN_DAYS: Final = 60
_SUMMARY: Final = "session:"
"""Beginning of the topic of a session's summary; the id of the session follows."""
SESSION_TAG: Final = "session"
"""Tag of a summary that an agent gave at the end of a session."""
_OPEN: Final = re.compile(r"^Open: (?P<text>\S.*)$", re.MULTILINE)


def find_left_open(
    store: MemoryStore, project: str | None, session: str | None, *, at: datetime
) -> tuple[Memory, str] | None:
    """Return the newest summary of another session and its open end; None if it names none.

    A session that has a summary of its own has taken over what was open before.

    Args:
        store: The store.
        project: The project; None for global memories.
        session: The session of the reader; None if there is none.
        at: The current time.
    """
    for summary in store.list(project=project, category=Category.CONVERSATION, limit=_MOST_SUMMARIES):
        topic = summary.topic or ""
        if topic == f"{_SUMMARY}{session}":
            return None
        if topic.startswith(_SUMMARY):
            open_end = _OPEN.search(summary.content)
            is_recent = at - summary.time <= timedelta(days=_OPEN_DAYS)
            return None if open_end is None or not is_recent else (summary, open_end["text"])
    return None


def read_recent_sessions(store: MemoryStore, project: str | None, *, most: int) -> list[Memory]:
    """Return the newest summaries of sessions, at most one for each session."""
    summaries = store.list(project=project, category=Category.CONVERSATION, limit=_MOST_SUMMARIES)
    found = [memory for memory in summaries if (memory.topic or "").startswith(_SUMMARY)]
    found += store.list(project=project, tag=SESSION_TAG, limit=_MOST_SUMMARIES)
    newest: dict[str, Memory] = {}
    for memory in sorted(found, key=lambda memory: memory.time, reverse=True):
        newest.setdefault((memory.topic or "").removeprefix(_SUMMARY) or memory.session or memory.id, memory)
    return [*newest.values()][:most]
