"""Converts between the public dataclasses and the engine's dictionaries."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime, tzinfo
from typing import Any, Final

from opencode_memory.errors import InvalidInputError
from opencode_memory.models import (
    Category,
    Explanation,
    HistoryEntry,
    Hit,
    KvEntry,
    Memory,
    NewMemory,
    Project,
    RelatedMemory,
    ScopeKind,
    Signal,
    Source,
    Status,
    Trust,
)
from opencode_memory.store.arguments import (
    flag,
    json_object,
    milliseconds,
    moment,
    number,
    optional_text,
    text,
    texts,
    ttl_ms,
    whole,
)
from opencode_memory.store.selection import owner
from opencode_memory.text.suggest import did_you_mean

_NEW_FIELDS: Final = tuple(field.name for field in fields(NewMemory))
_SOURCE_FIELDS: Final = tuple(field.name for field in fields(Source))
_NO_SOURCE: Final = Source()
MOST_ENTITIES: Final = 64
"""Entities of one memory; the engine's limit for labels."""
# Looking a member up by value costs more than everything else in building a memory.
_CATEGORIES: Final = {member.value: member for member in Category}
_STATUSES: Final = {member.value: member for member in Status}
_TRUSTS: Final = {member.value: member for member in Trust}


def new_memory(
    given: NewMemory | Mapping[str, Any], *, project: str | None, now_ms: int, zone: tzinfo | None
) -> dict[str, Any]:
    """Turn what a caller gave into what the engine takes.

    Args:
        given: A ``NewMemory``, or a mapping with its fields.
        project: The project of a memory that names neither project nor scope.
        now_ms: The present, for ``ttl_seconds``.
        zone: Zone of moments that name none.

    Raises:
        InvalidInputError: A field is unknown, missing, of the wrong type, or contradicts another.
    """
    if isinstance(given, Mapping):
        unknown = [name for name in given if name not in _NEW_FIELDS and name != "stored_at"]
        if unknown:
            raise InvalidInputError(
                f"{unknown[0]}: is not a field of a memory; {did_you_mean(str(unknown[0]), _NEW_FIELDS)}",
                field=str(unknown[0]),
            )
        if "content" not in given:
            raise InvalidInputError("content: is missing", field="content")
        stored_at = given.get("stored_at")
        given = NewMemory(**{name: value for name, value in given.items() if name != "stored_at"})
    elif isinstance(given, NewMemory):
        stored_at = None
    else:
        raise InvalidInputError(f"memory: must be a NewMemory or a mapping, not {type(given).__name__}", field="memory")
    time_fields = ("time", "created_at", "updated_at", "verified_at")
    whose = owner(given.scope, optional_text(given.project, field="project"), project)
    return {
        "content": text(given.content, field="content"),
        "category": text(given.category, field="category"),
        "project": whose,
        "topic": optional_text(given.topic, field="topic"),
        "session": optional_text(given.session, field="session"),
        "position": whole(given.position, field="position"),
        "speaker": optional_text(given.speaker, field="speaker"),
        "expires_at": _end(given, now_ms, zone),
        "source": _source(given.source),
        "entities": _entities(given, whose),
        "tags": texts(given.tags, field="tags"),
        "trust": text(given.trust, field="trust"),
        "pinned": flag(given.pinned, field="pinned"),
        "status": text(given.status, field="status"),
        "confidence": number(given.confidence, field="confidence"),
        "metadata": json_object(given.metadata, field="metadata"),
        "id": optional_text(given.id, field="id"),
        "superseded_by": optional_text(given.superseded_by, field="superseded_by"),
        "stored_at": whole(stored_at, field="stored_at"),
        **{name: whole(milliseconds(getattr(given, name), field=name, zone=zone), field=name) for name in time_fields},
    }


def _entities(given: NewMemory, project: str | None) -> list[str]:
    """Return what a memory is about: what was said, and what its text names. An import says what it knows."""
    from opencode_memory.entities import canonical, find_entities  # noqa: PLC0415  only what is written needs it

    said = [canonical(name, project=project) for name in texts(given.entities, field="entities")]
    found = find_entities(given.content, project=project) if given.id is None else ()
    # What was said is checked whole by the engine; what was found fills the room that is left.
    return list(dict.fromkeys([*said, *found]))[: max(len(said), MOST_ENTITIES)]


def entities_after_edit(before: Memory, content: str) -> list[str]:
    """Return what a memory is about after its text changed: what was said stays, what the text names follows it."""
    from opencode_memory.entities import find_entities  # noqa: PLC0415  few edits need it

    named_before = set(find_entities(before.content, project=before.project))
    said = [name for name in before.entities if name not in named_before]
    return list(dict.fromkeys([*said, *find_entities(content, project=before.project)]))[:MOST_ENTITIES]


def memory(found: Mapping[str, Any]) -> Memory:
    """Build a memory from the engine's dictionary."""
    project = found["project"]
    metadata = found["metadata"]
    source = found["source"]
    return Memory(
        id=found["id"],
        key=found["key"],
        content=found["content"],
        category=_CATEGORIES[found["category"]],
        scope=ScopeKind.GLOBAL if project is None else ScopeKind.PROJECT,
        project=project,
        topic=found["topic"],
        status=_STATUSES[found["status"]],
        trust=_TRUSTS[found["trust"]],
        pinned=found["pinned"],
        session=found["session"],
        position=found["position"],
        speaker=found["speaker"],
        time=moment(found["time"]),
        source=_NO_SOURCE if not any(source) else Source(**dict(zip(_SOURCE_FIELDS, source, strict=True))),
        entities=tuple(found["entities"]),
        tags=tuple(found["tags"]),
        created_at=moment(found["created_at"]),
        updated_at=moment(found["updated_at"]),
        verified_at=_optional_moment(found["verified_at"]),
        expires_at=_optional_moment(found["expires_at"]),
        used_at=_optional_moment(found["used_at"]),
        uses=found["uses"],
        superseded_by=found["superseded_by"],
        confidence=found["confidence"],
        metadata={} if metadata == "{}" else json.loads(metadata),
    )


def hit(found: Mapping[str, Any], *, explained: bool) -> Hit:
    """Build a hit from the engine's dictionary."""
    explanation = Explanation(signals=tuple(Signal(**signal) for signal in found["signals"])) if explained else None
    return Hit(memory=memory(found["memory"]), score=found["score"], rank=found["rank"], explanation=explanation)


def history_entry(found: Mapping[str, Any]) -> HistoryEntry:
    """Build a change from the engine's dictionary."""
    return HistoryEntry(
        operation=found["operation"],
        id=found["id"],
        at=moment(found["at"]),
        kind=found["kind"],
        actor=Trust(found["actor"]),
        undone=found["undone"],
        before=None if found["before"] is None else memory(found["before"]),
        after=None if found["after"] is None else memory(found["after"]),
    )


def related_memory(found: Mapping[str, Any]) -> RelatedMemory:
    """Build a neighbour from the engine's dictionary."""
    return RelatedMemory(
        memory=memory(found["memory"]),
        kind=found["kind"],
        direction=found["direction"],
        weight=found["weight"],
        reason=found["reason"],
    )


def kv_entry(found: Mapping[str, Any]) -> KvEntry:
    """Build a value of the key-value store from the engine's dictionary."""
    return KvEntry(
        key=found["key"],
        value=json.loads(found["value"]),
        created_at=moment(found["created_at"]),
        updated_at=moment(found["updated_at"]),
        expires_at=_optional_moment(found["expires_at"]),
    )


def project(found: Mapping[str, Any]) -> Project:
    """Build a project from the engine's dictionary."""
    return Project(
        name=found["name"],
        memories=found["memories"],
        remotes=tuple(found["remotes"]),
        root_commits=tuple(found["root_commits"]),
        folders=tuple(found["folders"]),
    )


def _optional_moment(value: int | None) -> datetime | None:
    return None if value is None else moment(value)


def _end(given: NewMemory, now_ms: int, zone: tzinfo | None) -> int | None:
    seconds = number(given.ttl_seconds, field="ttl_seconds")
    if seconds is None:
        return whole(milliseconds(given.expires_at, field="expires_at", zone=zone), field="expires_at")
    if given.expires_at is not None:
        raise InvalidInputError("ttl_seconds: expires_at is given too; leave one of them out", field="ttl_seconds")
    return now_ms + ttl_ms(seconds)


def _source(given: Source | Mapping[str, Any] | None) -> dict[str, Any]:
    if given is None:
        given = _NO_SOURCE
    if isinstance(given, Mapping):
        unknown = [name for name in given if name not in _SOURCE_FIELDS]
        if unknown:
            raise InvalidInputError(
                f"source: {unknown[0]!r} is not a part of a source; {did_you_mean(str(unknown[0]), _SOURCE_FIELDS)}",
                field="source",
            )
        given = Source(**given)
    if not isinstance(given, Source):
        raise InvalidInputError(f"source: must be a Source or a mapping, not {type(given).__name__}", field="source")
    return {
        name: whole(getattr(given, name), field="source")
        if name == "line"
        else optional_text(getattr(given, name), field="source")
        for name in _SOURCE_FIELDS
    }
