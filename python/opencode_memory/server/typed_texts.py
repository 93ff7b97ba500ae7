"""Typed texts: the latest messages that users typed in live sessions, kept in memory only.

The plugin forwards a message before the agent can act on it. So a tool call of the agent finds the words of the current
turn here, although learning may not have read them yet.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from dataclasses import dataclass, field
from typing import Final

MOST_SESSIONS: Final = 100
MOST_TEXTS: Final = 40
LONGEST_TEXT: Final = 20_000


@dataclass(slots=True)
class _Session:
    project: str | None
    parent: str | None
    texts: deque[str] = field(default_factory=lambda: deque(maxlen=MOST_TEXTS))


class TypedTexts:
    """Texts by session; threads may share it."""

    def __init__(self) -> None:
        self._sessions: OrderedDict[str, _Session] = OrderedDict()
        self._lock = threading.Lock()

    def add(self, session: str, text: str, *, project: str | None, parent: str | None = None) -> None:
        """Add a message of a session. In a session with a parent, an agent wrote it, so only the parent is kept."""
        with self._lock:
            known = self._sessions.setdefault(session, _Session(project, parent))
            known.project, known.parent = project, parent
            if parent is None:
                known.texts.append(text[:LONGEST_TEXT])
            self._sessions.move_to_end(session)
            while len(self._sessions) > MOST_SESSIONS:
                self._sessions.popitem(last=False)

    def forget(self, session: str) -> None:
        """Forget the messages of a session."""
        with self._lock:
            self._sessions.pop(session, None)

    def of_session(self, session: str) -> tuple[str, tuple[str, ...]]:
        """Return the session in which a user types, which is the parent of a subagent, and its texts, oldest first."""
        with self._lock:
            for _ in range(MOST_SESSIONS):
                known = self._sessions.get(session)
                if known is None or known.parent is None:
                    return session, () if known is None else tuple(known.texts)
                session = known.parent
        return session, ()

    def of_project(self, project: str | None) -> dict[str, tuple[str, ...]]:
        """Return the texts of each session of a project."""
        with self._lock:
            return {
                name: tuple(session.texts)
                for name, session in self._sessions.items()
                if session.project == project and session.texts
            }
