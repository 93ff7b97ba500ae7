"""Converts between public values and the engine's dictionaries. Memories and hits are built by the engine."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from datetime import datetime, tzinfo
from functools import partial
from pathlib import Path
from typing import Any, Final, get_type_hints

from opencode_memory.errors import InvalidInputError
from opencode_memory.models import (
    Explanation,
    HistoryEntry,
    KvEntry,
    Link,
    Memory,
    NewMemory,
    Operation,
    Project,
    RememberResult,
    RememberStatus,
    Signal,
    Source,
    Time,
    Trust,
    Turn,
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
from opencode_memory.store.reports import Stats
from opencode_memory.store.selection import owner
from opencode_memory.store.work_trees import NO_WORK_TREES, WorkTrees
from opencode_memory.text.suggest import did_you_mean

_SOURCE_FIELDS: Final = tuple(field.name for field in fields(Source))
_NO_SOURCE: Final = Source()
MOST_ENTITIES: Final = 64
"""Maximum number of entities of one memory; the engine's limit for labels."""
_FIELD_TYPES: Final = get_type_hints(NewMemory)
# These fields depend on another field, on the project or on the current time.
_CONVERTED_TOGETHER: Final = frozenset({"scope", "project", "ttl_seconds", "expires_at", "source", "entities"})
_VALIDATORS: Final[Mapping[Any, Callable[..., Any]]] = {
    str: text,
    str | None: optional_text,
    int | None: whole,
    float | None: number,
    bool: flag,
    Sequence[str]: texts,
    Mapping[str, Any]: json_object,
}
_TIMES: Final = tuple(
    name for name, kind in _FIELD_TYPES.items() if kind == Time | None and name not in _CONVERTED_TOGETHER
)
_PLAIN_FIELDS: Final = {
    name: _VALIDATORS[kind]
    for name, kind in _FIELD_TYPES.items()
    if name not in _CONVERTED_TOGETHER and name not in _TIMES
}


def new_memory(
    given: NewMemory | Mapping[str, Any],
    *,
    project: str | None,
    now_ms: int,
    zone: tzinfo | None,
    work_trees: WorkTrees = NO_WORK_TREES,
) -> dict[str, Any]:
    """Validate a new memory and convert it for the engine.

    Fields are validated by their types in ``NewMemory``.

    Args:
        given: A ``NewMemory``, or a mapping with its fields.
        project: The project of a memory that names neither project nor scope.
        now_ms: The current time, for ``ttl_seconds``.
        zone: Zone of times that name none.
        work_trees: The work trees of projects, below which files are named by relative paths.

    Raises:
        InvalidInputError: A field is unknown, missing, of the wrong type, or contradicts another.
    """
    stored_at = None
    if isinstance(given, Mapping):
        fields = dict(given)
        stored_at = fields.pop("stored_at", None)
        given = _from_mapping(fields)
    elif not isinstance(given, NewMemory):
        raise InvalidInputError(f"memory: must be a NewMemory or a mapping, not {type(given).__name__}", field="memory")
    bound, project = project, owner(given.scope, optional_text(given.project, field="project"), project)
    return {
        **{name: validate(getattr(given, name), field=name) for name, validate in _PLAIN_FIELDS.items()},
        **{name: _milliseconds(getattr(given, name), name, zone) for name in _TIMES},
        "project": project,
        "expires_at": _end(given, now_ms, zone),
        "source": _source(given.source),
        # An imported memory is not about the project that it is imported in.
        "entities": _entities(given, project, work_trees, about=project or (bound if given.id is None else None)),
        "metadata": json_object(given.metadata, field="metadata"),
        "stored_at": whole(stored_at, field="stored_at"),
    }


def _from_mapping(fields: dict[str, Any]) -> NewMemory:
    unknown = next((name for name in fields if name not in _FIELD_TYPES), None)
    if unknown is not None:
        raise InvalidInputError(
            f"{unknown}: is not a field of a memory; {did_you_mean(str(unknown), tuple(_FIELD_TYPES))}",
            field=str(unknown),
        )
    if "content" not in fields:
        raise InvalidInputError("content: is missing", field="content")
    return NewMemory(**fields)


def _entities(given: NewMemory, project: str | None, work_trees: WorkTrees, *, about: str | None) -> list[str]:
    """Return the given entities, and those that the text names. An imported memory keeps its own entities only."""
    from opencode_memory.entities import find_entities  # noqa: PLC0415  only writing needs it

    trees = work_trees.get(project, ())
    named = given_entities(given.entities, project, work_trees, about=about)
    found = find_entities(given.content, project=about, work_trees=trees) if given.id is None else ()
    # The engine refuses too many given entities. Found ones are only added up to its limit.
    return list(dict.fromkeys([*named, *found]))[: max(len(named), MOST_ENTITIES)]


def given_entities(
    given: Sequence[str], project: str | None, work_trees: WorkTrees, *, about: str | None = None
) -> list[str]:
    """Return the full names of entities that a caller gives for a memory.

    Args:
        given: The entities.
        project: The project of the memory; None for a global one.
        work_trees: The work trees of projects.
        about: The project in which the caller names numbers and commits of a global memory.
    """
    from opencode_memory.entities import canonical  # noqa: PLC0415  few edits need it

    trees = work_trees.get(project, ())
    home = project or about
    return [canonical(name, project=home, work_trees=trees) for name in texts(given, field="entities")]


def entities_after_edit(before: Memory, content: str, work_trees: WorkTrees, *, about: str | None = None) -> list[str]:
    """Return the entities after an edit: given ones stay, and those found in the old text are replaced.

    Args:
        before: The memory before the edit.
        content: Its new text.
        work_trees: The work trees of projects.
        about: The project in which a global memory is edited. Numbers of the old text may be those of another project.
    """
    from opencode_memory.entities import find_entities  # noqa: PLC0415  few edits need it

    trees = work_trees.get(before.project, ())
    if before.project is None:
        find = partial(find_entities, project=about, work_trees=trees)
        bare = partial(find_entities, project=None)
        gone = {*find(before.content), *bare(before.content)} - {*find(content), *bare(content)}
        new = [name for name in find(content) if name not in find(before.content)]
        return list(dict.fromkeys([*(name for name in before.entities if name not in gone), *new]))[:MOST_ENTITIES]
    find = partial(find_entities, project=before.project)
    # Another client may have written the old text, whose paths then stayed absolute.
    named_before = {*find(before.content), *find(before.content, work_trees=trees)}
    given = [name for name in before.entities if name not in named_before]
    return list(dict.fromkeys([*given, *find(content, work_trees=trees)]))[:MOST_ENTITIES]


def fields_after_merge(
    memories: Sequence[Memory], content: str, work_trees: WorkTrees, *, about: str | None
) -> dict[str, Any]:
    """Return the fields of the memory that takes the place of several, with this text."""
    tags = dict.fromkeys(tag for memory in memories for tag in memory.tags)
    entities = dict.fromkeys(
        name for memory in memories for name in entities_after_edit(memory, content, work_trees, about=about)
    )
    return {"content": content, "tags": [*tags][:MOST_ENTITIES], "entities": [*entities][:MOST_ENTITIES]}


def remember_result(id_: str, status: str, redactions: Sequence[str], replaced: Sequence[str]) -> RememberResult:
    """Build the outcome of a write from the engine's fields."""
    done = RememberStatus(status)
    return RememberResult(id=id_, status=done, redactions=tuple(redactions), replaced=tuple(replaced))


def link(source: str, target: str, kind: str, weight: float, reason: str) -> Link:
    """Build a link from the engine's fields."""
    return Link(source=source, target=target, kind=kind, weight=weight, reason=reason)


def explanation(signals: Iterable[Mapping[str, Any]]) -> Explanation:
    """Build an explanation from the engine's signals."""
    return Explanation(signals=tuple(Signal(**signal) for signal in signals))


def turn(found: Mapping[str, Any]) -> Turn:
    """Build a turn, without its text, from the engine's dictionary."""
    return Turn(**{**found, "time": moment(found["time"]), "digest": bytes(found["digest"])})


def operation(found: Mapping[str, Any]) -> Operation:
    """Build an operation from the engine's dictionary."""
    return Operation(
        operation=found["operation"],
        at=moment(found["at"]),
        actor=Trust(found["actor"]),
        kinds=tuple(found["kinds"]),
        undone=not found["left"],
        left=found["left"],
        changes=tuple(map(history_entry, found["changes"])),
    )


def history_entry(found: Mapping[str, Any]) -> HistoryEntry:
    """Build a change from the engine's dictionary."""
    return HistoryEntry(
        operation=found["operation"],
        id=found["id"],
        at=moment(found["at"]),
        kind=found["kind"],
        actor=Trust(found["actor"]),
        undone=found["undone"],
        before=found["before"],
        after=found["after"],
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


def _milliseconds(value: Time | None, field: str, zone: tzinfo | None) -> int | None:
    return whole(milliseconds(value, field=field, zone=zone), field=field)


def _end(given: NewMemory, now_ms: int, zone: tzinfo | None) -> int | None:
    seconds = number(given.ttl_seconds, field="ttl_seconds")
    if seconds is None:
        return _milliseconds(given.expires_at, "expires_at", zone)
    if given.expires_at is not None:
        raise InvalidInputError("ttl_seconds: expires_at is also given; leave one of them out", field="ttl_seconds")
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


def stats(found: Mapping[str, Any], *, mismatch: str | None, data_dir: Path) -> Stats:
    """Build the statistics of a store from the engine's dictionary."""
    by_status, by_category = dict(found["by_status"]), dict(found["by_category"])
    rest = {name: value for name, value in found.items() if name not in {"by_status", "by_category"}}
    return Stats(
        memories=sum(by_status.values()),
        by_status=by_status,
        by_category=by_category,
        model_mismatch=mismatch,
        data_dir=data_dir,
        **rest,
    )
