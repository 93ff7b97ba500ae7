"""Imports the JSON that ``export_memories`` of the PyPI package opencode-semantic-memory writes (versions 0.3 to 0.68).

An object with ``version``, ``exported_at``, ``filters``, ``memories``, ``entities`` and ``links``. Unknown categories
become the nearest one and stay in the metadata; a resolved blocker is archived; the data of an entity is stored with
the memories that mention it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, Final

from opencode_memory.exchange.foreign import Fields, ForeignExport, ForeignLink, foreign_memory, stable_id
from opencode_memory.exchange.source import TextSource
from opencode_memory.models import Category, NewMemory, ScopeKind, Source, Status
from opencode_memory.text.suggest import did_you_mean

NAME: Final = "opencode-semantic-memory"
_CATEGORIES: Final = {category.value: category for category in Category} | {
    "conversation_summary": Category.CONVERSATION,
    "boot_gate": Category.DIRECTIVE,
    "goal": Category.PLAN,
    "reminder": Category.PLAN,
    "achievement": Category.EVENT,
}
_LINK_KINDS: Final = {"related": "similar"}


def recognises(head: str) -> bool:
    """Return whether a text begins like such an export."""
    return re.match(r'\s*\{\s*"version"\s*:\s*"1\.\d+"\s*,\s*"exported_at"', head) is not None


def read(source: TextSource) -> ForeignExport:
    """Convert an export.

    Raises:
        InvalidInputError: A field does not follow the format; the message names it.
    """
    document = Fields.of(source, "the document", source.json())
    entities = _entities(document)
    memories: list[NewMemory] = []
    skipped: list[str] = []
    ids: dict[int, str] = {}
    for fields in _objects(document, "memories"):
        number = fields.number("id")
        if fields.text("content") is None:
            skipped.append(f"{fields.place}: has no text")
            continue
        memory = _memory(fields, entities)
        if number is not None and memory.id is not None:
            ids[number] = memory.id
        memories.extend(foreign_memory(NAME, memory))
    links = [link for fields in _objects(document, "links") if (link := _link(fields, ids)) is not None]
    # Each link is listed twice, once for each of its ends.
    unique = {(link.source, link.target, link.kind): link for link in links}
    return ForeignExport(memories=memories, links=tuple(unique.values()), skipped=skipped)


def _memory(fields: Fields, entities: Mapping[str, list[dict[str, Any]]]) -> NewMemory:
    content = fields.text("content") or ""
    category = fields.text("category") or Category.FACT
    if category not in _CATEGORIES:
        problem = f"{fields.place}.category is {category!r}; {did_you_mean(category, _CATEGORIES)}"
        raise fields.source.wrong(problem, field=f"{fields.place}.category")
    created_at = fields.moment("created_at")
    resolved_at = fields.moment("resolved_at")
    mentioned = fields.texts("entities")
    known = [entity for ref in mentioned for entity in entities.get(ref, ())]
    kept = {name: text for name in ("what", "why", "learned") if (text := fields.text(name)) is not None}
    metadata: dict[str, Any] = {
        **kept,
        **({"resolved_at": resolved_at.isoformat()} if resolved_at else {}),
        **({"original_category": category} if category != _CATEGORIES[category] else {}),
        **({"entities": known} if known else {}),
    }
    return NewMemory(
        content=content,
        category=_CATEGORIES[category],
        project=fields.text("project"),
        scope=None if fields.text("project") else ScopeKind.GLOBAL,
        time=created_at,
        created_at=created_at,
        updated_at=resolved_at or created_at,
        status=Status.ARCHIVED if resolved_at else Status.ACTIVE,
        source=Source(file=fields.text("source_file")),
        entities=mentioned,
        metadata=metadata,
        id=stable_id(created_at, NAME, fields.number("id"), fields.text("project"), content),
    )


def _entities(document: Fields) -> Mapping[str, list[dict[str, Any]]]:
    """Return the data of each entity, by the forms in which a memory may mention it."""
    known: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for fields in _objects(document, "entities"):
        ref = fields.text("ref")
        about = {name: fields.values[name] for name in ("ref", "type", "project", "title") if fields.values.get(name)}
        if (metadata := fields.values.get("metadata")) not in (None, "", "{}", {}):
            about["metadata"] = metadata
        # Without a title or metadata, the entity adds no information to the memory's own reference.
        if ref is not None and ("title" in about or "metadata" in about):
            known[ref].append(about)
            if (project := fields.text("project")) is not None:
                known[f"{project}{ref}"].append(about)
    return known


def _link(fields: Fields, ids: Mapping[int, str]) -> ForeignLink | None:
    source, target = fields.number("source_memory_id"), fields.number("target_memory_id")
    if source is None or target is None or source not in ids or target not in ids:
        # Exports made with a filter list links to memories that they leave out.
        return None
    kind = fields.text("link_type") or "related"
    return ForeignLink(
        source=ids[source], target=ids[target], kind=_LINK_KINDS.get(kind, kind), reason=fields.text("reason") or ""
    )


def _objects(document: Fields, name: str) -> Iterator[Fields]:
    members = document.values.get(name, [])
    if not isinstance(members, list):
        raise document.source.wrong(f"{name} is not a list", field=name)
    for number, member in enumerate(members):
        yield Fields.of(document.source, f"{name}[{number}]", member)
