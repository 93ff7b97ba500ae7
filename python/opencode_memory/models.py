"""The values that the public API takes and returns.

Plain frozen dataclasses and closed enums, without behaviour that touches a store, configuration or the clock.
Times are aware ``datetime`` objects in UTC; a time given as text or without a zone is resolved before it gets here.
"""

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
        topic: Unique per scope: writing a topic again updates the memory that holds it.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """One thing that spoke for a hit.

    Attributes:
        name: ``words``, ``meaning``, or the name of a boost.
        raw: The value before normalisation: BM25 score, cosine, age in days ….
        rank: Place among the candidates of that signal, counted from 1; None for boosts.
        contribution: Its part of the hit's score.
        detail: The same in words.
    """

    name: str
    raw: float
    rank: int | None
    contribution: float
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why a hit is where it is; the contributions add up to the score."""

    signals: tuple[Signal, ...]

    def __str__(self) -> str:
        return "; ".join(signal.detail for signal in self.signals)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A memory that answers a recall.

    Attributes:
        memory: The memory.
        score: Compares hits of the same recall only.
        rank: Its place, counted from 1.
        relevance: How relevant it is by itself: its cosine and a weighted share of the query's words. Comparable
            between recalls. None if it was added because it contradicts another hit.
        floor: The relevance that at least one hit of the answer had to reach.
        explanation: Why it is at its place, if the recall was asked to explain.
    """

    memory: Memory
    score: float
    rank: int
    relevance: float | None = None
    floor: float | None = None
    explanation: Explanation | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What one side said in one message of a session of a coding agent.

    Attributes:
        database: The file of the agent that holds the session.
        session: Id of the session.
        message: Id of the message.
        project: The project of the session; None for none.
        speaker: ``user`` or ``assistant``.
        time: When it was said.
        position: Place among the turns of the session, from 0.
        digest: Identifies the text that was indexed.
        title: Title of the session; empty until the text is read.
        text: The text, with secrets redacted; empty until it is read.
    """

    database: str
    session: str
    message: str
    project: str | None
    speaker: str
    time: datetime
    position: int
    digest: bytes
    title: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionHit:
    """A turn of a session that answers a recall; the attributes are those of ``Hit``."""

    turn: Turn
    score: float
    rank: int
    explanation: Explanation | None = None
    relevance: float | None = None
    floor: float | None = None


class Sources(StrEnum):
    """The data that a search covers."""

    MEMORIES = "memories"
    SESSIONS = "sessions"
    ALL = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class Earlier:
    """An earlier statement on the subject of a memory.

    Attributes:
        memory: The earlier statement, active or superseded.
        is_replaced: Whether the later memory takes its place. Otherwise both may hold, in other circumstances.
    """

    memory: Memory
    is_replaced: bool


class RememberStatus(StrEnum):
    """Outcome of ``remember``."""

    STORED = "stored"
    MERGED = "merged"
    UPDATED = "updated"
    KEPT = "kept"


@dataclass(frozen=True, slots=True, kw_only=True)
class RememberResult:
    """Result of writing a memory.

    Attributes:
        id: The memory that holds the text now.
        status: ``stored``: a new memory. ``merged``: the same text was there, and its metadata was added.
            ``updated``: its topic was there, and now has this text. ``kept``: the topic is held by a memory of higher
            trust; the text was stored beside it as a candidate for review.
        redactions: Kinds of secrets that were replaced before storing.
        replaced: Ids of older memories on the same subject that this one replaced. They are superseded; ``undo`` brings
            them back.
    """

    id: str
    status: RememberStatus
    redactions: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryEntry:
    """One change of one memory, oldest first in ``MemoryStore.history``.

    Attributes:
        operation: Number of the operation; changes that were made together share it.
        id: The memory.
        at: When.
        kind: ``create``, ``edit``, ``merge``, ``supersede``, ``archive``, ``restore``, ``delete``, ``pin``, ``undo`` ….
        actor: The writer: ``user``, ``agent``, ``extracted``, ``tool`` or ``imported``.
        undone: Whether an ``undo`` took it back.
        before: The memory before the change; None when the change created it.
        after: The memory after the change; None when the change removed it.
    """

    operation: int
    id: str
    at: datetime
    kind: str
    actor: Trust
    undone: bool
    before: Memory | None
    after: Memory | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """Changes that were made together.

    Attributes:
        operation: Its number.
        at: When.
        actor: The writer.
        kinds: The kinds of its changes with their counts, the most frequent first.
        undone: Whether all of it was undone.
        changes: Its first changes, at most ten.
    """

    operation: int
    at: datetime
    actor: Trust
    kinds: tuple[tuple[str, int], ...]
    undone: bool
    changes: tuple[HistoryEntry, ...]

    @property
    def size(self) -> int:
        """The number of its changes."""
        return sum(count for _, count in self.kinds)


@dataclass(frozen=True, slots=True, kw_only=True)
class RelatedMemory:
    """A neighbour of a memory; ``kind`` is its link's (``similar``, ``supersedes`` …), or ``near`` in meaning."""

    memory: Memory
    kind: str
    direction: str
    weight: float
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A project: its name, and the marks by which its repository is recognised."""

    name: str
    memories: int
    remotes: tuple[str, ...]
    root_commits: tuple[str, ...]
    folders: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptValue:
    """A key that two merged projects had; ``kept`` is the target's value, ``dropped`` the source's."""

    key: str
    kept: Any
    dropped: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectMerge:
    """What a merge of projects did.

    Attributes:
        moved: Number of memories.
        clashes: Keys that both projects had.
        is_undoable: Whether ``undo`` brings the project back. A merge without memories is no change that it knows.
    """

    moved: int
    clashes: tuple[KeptValue, ...]
    is_undoable: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class KvEntry:
    """A value of the key-value store; ``value`` is any JSON value."""

    key: str
    value: Any
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A link between two memories, by their ids; ``weight`` is 0 to 1."""

    source: str
    target: str
    kind: str
    weight: float
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """Something that one session alone works on."""

    item: str
    since: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A session of an agent: a lease.

    Attributes:
        id: As the agent gave it.
        working_on: Its current task.
        started_at: When it began, or began again after its end.
        seen_at: When it was last heard of.
        lease_until: Until when it counts as alive without being heard of.
        ended_at: When it ended; None while it has not.
        claims: Its claims; after the end of the session, the released claims.
    """

    id: str
    working_on: str | None
    started_at: datetime
    seen_at: datetime
    lease_until: datetime
    ended_at: datetime | None
    claims: tuple[Claim, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed:
    """Result of a claim.

    Attributes:
        granted: Whether the session has it now.
        item: The claimed item.
        owner: The current owner.
        since: Since when.
        taken_over_from: The earlier owner, a session whose lease had ended.
    """

    granted: bool
    item: str
    owner: Session
    since: datetime
    taken_over_from: Session | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectIdentity:
    """The marks by which a project is recognised, strongest first.

    Attributes:
        remotes: ``host/path`` of each remote, ``origin`` first.
        root_commits: Hashes of the commits without a parent, sorted; empty until they were read.
        folder: Absolute path of the main work tree, or of the folder itself outside git.
    """

    remotes: tuple[str, ...] = ()
    root_commits: tuple[str, ...] = ()
    folder: str | None = None
