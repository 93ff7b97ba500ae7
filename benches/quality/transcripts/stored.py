"""Memories that a run stored, with the speaker of the message that each comes from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import opencode_memory
from opencode_memory.models import ALL_PROJECTS, Category, Status

from .data import PERSON, Session

PEOPLE: Final = "people"
AGENTS: Final = "agents"
SPEAKERS: Final = (PEOPLE, AGENTS)
_ALL: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredMemory:
    """A memory, without those of its fields that no figure needs.

    Attributes:
        id: Its id.
        status: Its state.
        category: Its category.
        content: Its text.
        said_by: ``people`` or ``agents``.
        rule: Name of the rule that found it; empty if none is recorded.
        evidence: The words that it was taken from.
        session: Id of its session.
        message: Id of its message.
    """

    id: str
    status: Status
    category: Category
    content: str
    said_by: str
    rule: str = ""
    evidence: str = ""
    session: str | None = None
    message: str | None = None

    @property
    def is_summary(self) -> bool:
        """Whether this is the summary of a session, which no figure counts as a memory."""
        return self.category is Category.CONVERSATION


def read_store(folder: Path, sessions: Iterable[Session]) -> list[StoredMemory]:
    """Read the memories of a store, in any state, that come from some sessions or from no session.

    Args:
        folder: The data directory.
        sessions: The sessions. The store may have learned from more.
    """
    chosen = {session.id: session for session in sessions}
    people = {message.id for session in chosen.values() for message in session.messages if message.role == PERSON}
    with opencode_memory.open(folder, read_only=True, background=False) as store:
        return [
            StoredMemory(
                id=memory.id,
                status=memory.status,
                category=memory.category,
                content=memory.content,
                said_by=PEOPLE if memory.source.message in people else AGENTS,
                rule=str(memory.metadata.get("rule", "")),
                evidence=str(memory.metadata.get("evidence", "")),
                session=memory.source.session,
                message=memory.source.message,
            )
            for memory in store.list(project=ALL_PROJECTS, status=tuple(Status), limit=_ALL)
            if memory.source.session is None or memory.source.session in chosen
        ]
