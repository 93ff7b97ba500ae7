"""What a store keeps around memories: links, projects, key-values, sessions and claims."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from opencode_memory.models.memory import Memory


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
