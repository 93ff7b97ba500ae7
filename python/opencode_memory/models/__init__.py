"""The values that the public API takes and returns.

Plain frozen dataclasses and closed enums, without behaviour that touches a store, configuration or the clock.
Times are aware ``datetime`` objects in UTC; a time given as text or without a zone is resolved before it gets here.
"""

from opencode_memory.models.around import (
    Claim,
    Claimed,
    KeptValue,
    KvEntry,
    Link,
    Project,
    ProjectIdentity,
    ProjectMerge,
    RelatedMemory,
    Session,
)
from opencode_memory.models.changes import HistoryEntry, Operation, RememberResult, RememberStatus
from opencode_memory.models.found import Earlier, Explanation, Hit, SessionHit, Signal, Sources, Turn
from opencode_memory.models.memory import (
    ALL_PROJECTS,
    FORGE,
    INGEST,
    RESOLVED,
    Category,
    Memory,
    MemoryFields,
    NewMemory,
    Scope,
    ScopeKind,
    Source,
    Status,
    Time,
    Trust,
)

__all__ = [
    "ALL_PROJECTS",
    "FORGE",
    "INGEST",
    "RESOLVED",
    "Category",
    "Claim",
    "Claimed",
    "Earlier",
    "Explanation",
    "HistoryEntry",
    "Hit",
    "KeptValue",
    "KvEntry",
    "Link",
    "Memory",
    "MemoryFields",
    "NewMemory",
    "Operation",
    "Project",
    "ProjectIdentity",
    "ProjectMerge",
    "RelatedMemory",
    "RememberResult",
    "RememberStatus",
    "Scope",
    "ScopeKind",
    "Session",
    "SessionHit",
    "Signal",
    "Source",
    "Sources",
    "Status",
    "Time",
    "Trust",
    "Turn",
]
