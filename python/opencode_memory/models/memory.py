"""A memory: its category, scope, status, trust and source, and the arguments that make one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, Self, TypedDict

Time = datetime | str | int
"""A point in time: a ``datetime``, ISO 8601 text, or UTC milliseconds. Without a zone, this machine's zone is used."""


ALL_PROJECTS: Final = "*"
"""As ``project`` of a recall or list: every project, and the global memories."""


class Category(StrEnum):
    """The kind of statement of a memory."""

    DECISION = "decision"
    CONVENTION = "convention"
    PREFERENCE = "preference"
    PROCEDURE = "procedure"
    FACT = "fact"
    CONTEXT = "context"
    SOLUTION = "solution"
    BLOCKER = "blocker"
    EVENT = "event"
    DIRECTIVE = "directive"
    PLAN = "plan"
    IDEA = "idea"
    CONVERSATION = "conversation"


class ScopeKind(StrEnum):
    """Whether a memory belongs to the user everywhere, or to one project."""

    GLOBAL = "global"
    PROJECT = "project"


@dataclass(frozen=True, slots=True)
class Scope:
    """The memories of a project, the global memories, both, or all memories of a store.

    Attributes:
        name: The project; None for none, ``ALL_PROJECTS`` for every project.
        with_global: Whether the global memories are included.
    """

    name: str | None
    with_global: bool

    @classmethod
    def everything(cls) -> Self:
        """Return the scope of all memories."""
        return cls(ALL_PROJECTS, with_global=True)

    @classmethod
    def global_only(cls) -> Self:
        """Return the scope of the global memories."""
        return cls(None, with_global=True)

    @classmethod
    def project(cls, name: str, *, with_global: bool = True) -> Self:
        """Return the scope of one project, with or without the global memories."""
        return cls(name, with_global)

    @classmethod
    def seen_from(cls, project: str | None) -> Self:
        """Return what is visible in a project: its memories and the global ones; for None only the global ones."""
        return cls(project, with_global=True)

    @classmethod
    def owned_by(cls, project: str | None) -> Self:
        """Return the scope of the memories that belong to a project; None for the global memories.

        This is also the scope to write a memory to.
        """
        return cls.global_only() if project is None else cls(project, with_global=False)


class Status(StrEnum):
    """Where a memory is in its life; expiry is computed from ``expires_at`` and is not a status."""

    ACTIVE = "active"
    CANDIDATE = "candidate"
    SUPERSEDED = "superseded"
    ARCHIVED = "archived"


class Trust(StrEnum):
    """Source that vouches for a memory, highest first; lower trust never overwrites a topic of higher trust."""

    USER = "user"
    AGENT = "agent"
    EXTRACTED = "extracted"
    TOOL = "tool"
    IMPORTED = "imported"

    @property
    def writer(self) -> str:
        """The writer in words, for people."""
        return _WRITERS[self]


_WRITERS: Final = {
    Trust.USER: "you",
    Trust.AGENT: "an agent",
    Trust.EXTRACTED: "learned",
    Trust.TOOL: "a tool",
    Trust.IMPORTED: "imported",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where a memory came from; every part is optional."""

    tool: str | None = None
    session: str | None = None
    message: str | None = None
    file: str | None = None
    line: int | None = None
    commit: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMemory:
    """A memory to be written; ``MemoryStore.remember_many`` takes these or mappings with the same keys.

    Attributes:
        content: The text, 1 to 100,000 characters.
        category: A ``Category`` or its name.
        scope: A ``Scope``, ``global`` or ``project``; by default the store's project, or global if it has none.
        project: Name of the project; by default the one that the store was opened with.
        topic: Unique per scope: writing a topic again updates the memory that holds it. Its tags, its reminder, its
            review and a category other than ``fact`` stay unless others are given.
        session: Id of the conversation that the memory comes from.
        position: Place in that session, counted from 0.
        speaker: The speaker.
        time: The moment that the memory speaks of; by default now. A ``datetime``, ISO 8601 text, or UTC milliseconds.
        expires_at: When the memory stops being returned; or give ``ttl_seconds``.
        ttl_seconds: Time to live in seconds from now.
        source: Where it came from.
        entities: Entities that it is about: ``!12``, ``src/app.py``, ``PostgreSQL``.
        tags: Free labels.
        trust: The source that vouches for it.
        pinned: Whether the user pinned it, so that it stays visible.
        remind_at: When project briefs show it as a reminder.
        remind_every: Days from one reminder to the next, 1 to 3,650; None reminds once.
        review_after: When project briefs ask whether it is still true.
        review_every: Days from one review to the next, 1 to 3,650; None asks once.
        status: ``active`` or ``candidate``; an import may use the other values.
        id: Only for imports: keep this UUID.
        created_at: Only for imports: when it was first written.
        updated_at: Only for imports: when it was last changed.
        verified_at: Only for imports: when it was last confirmed.
        superseded_by: Only for imports: the id of its successor.
        confidence: 0 to 1, for extracted memories.
        metadata: Any JSON object; kept, never interpreted.
    """

    content: str
    category: str = "fact"
    scope: Scope | str | None = None
    project: str | None = None
    topic: str | None = None
    session: str | None = None
    position: int | None = None
    speaker: str | None = None
    time: Time | None = None
    expires_at: Time | None = None
    ttl_seconds: float | None = None
    source: Source | Mapping[str, Any] | None = None
    entities: Sequence[str] = ()
    tags: Sequence[str] = ()
    trust: str = "user"
    pinned: bool = False
    remind_at: Time | None = None
    remind_every: int | None = None
    review_after: Time | None = None
    review_every: int | None = None
    status: str = "active"
    id: str | None = None
    created_at: Time | None = None
    updated_at: Time | None = None
    verified_at: Time | None = None
    superseded_by: str | None = None
    confidence: float | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


class MemoryFields(TypedDict, total=False):
    """Keyword arguments of ``MemoryStore.remember``: the fields of ``NewMemory`` that are not only for imports."""

    category: str
    scope: Scope | str | None
    project: str | None
    topic: str | None
    session: str | None
    position: int | None
    speaker: str | None
    time: Time | None
    expires_at: Time | None
    ttl_seconds: float | None
    source: Source | Mapping[str, Any] | None
    entities: Sequence[str]
    tags: Sequence[str]
    trust: str
    pinned: bool
    remind_at: Time | None
    remind_every: int | None
    review_after: Time | None
    review_every: int | None
    status: str
    confidence: float | None
    metadata: Mapping[str, Any]


INGEST: Final = "ingest"
"""Key of the metadata that an ingest of notes writes: the fingerprint of the section."""
FORGE: Final = "forge"
"""The source of facts that were fetched from GitHub or GitLab, and their tag."""


RESOLVED: Final = "resolved"
"""The tag of a blocker that is resolved."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """A memory as it is stored.

    ``id`` names the memory for ever; ``key`` names this version of its text. ``project`` is None for a global memory.
    """

    id: str
    key: int
    content: str
    category: Category
    scope: ScopeKind
    project: str | None
    topic: str | None
    status: Status
    trust: Trust
    pinned: bool
    session: str | None
    position: int | None
    speaker: str | None
    time: datetime
    source: Source
    entities: tuple[str, ...]
    tags: tuple[str, ...]
    created_at: datetime
    updated_at: datetime
    verified_at: datetime | None
    expires_at: datetime | None
    used_at: datetime | None
    uses: int
    superseded_by: str | None
    remind_at: datetime | None
    remind_every: int | None
    review_after: datetime | None
    review_every: int | None
    confidence: float | None
    metadata: Mapping[str, Any]

    @property
    def is_resolved(self) -> bool:
        """Whether the memory has the tag of a resolved blocker."""
        return RESOLVED in self.tags

    def is_expired(self, at: datetime) -> bool:
        """Whether the memory has expired, so that no recall and no list shows it."""
        return self.expires_at is not None and self.expires_at <= at

    @property
    def is_confirmed(self) -> bool:
        """Whether the memory comes from the user, or the user has confirmed it."""
        return self.trust is Trust.USER or self.verified_at is not None

    @property
    def is_withheld(self) -> bool:
        """Whether the memory is a directive that the user neither typed nor confirmed. It is shown only on request."""
        return self.category is Category.DIRECTIVE and not self.is_confirmed

    @property
    def is_from_forge(self) -> bool:
        """Whether the memory states what GitHub or GitLab say about an item. Its text is a stranger's."""
        return self.source.tool == FORGE and self.trust is Trust.TOOL

    @property
    def is_on_request(self) -> bool:
        """Whether the memory is shown only on request, and never added to a prompt or to a file that agents load."""
        return self.is_withheld or (self.source.tool == FORGE and not self.is_confirmed)

    @property
    def is_learned(self) -> bool:
        """Whether the memory was learned from a session, also if the user typed its words or accepted it later."""
        has_quote = all(isinstance(self.metadata.get(name), str) for name in ("rule", "evidence"))
        return has_quote or self.trust is Trust.EXTRACTED
