"""The fields of an edit: what the engine changes in a memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import tzinfo
from typing import Any, TypedDict

from opencode_memory.errors import InvalidInputError
from opencode_memory.models import Memory, Scope, Time
from opencode_memory.store import arguments, records
from opencode_memory.store.selection import owner
from opencode_memory.store.work_trees import WorkTrees
from opencode_memory.text.suggest import did_you_mean


class Changes(TypedDict, total=False):
    """Keyword arguments of ``MemoryStore.edit``. Fields that are not named stay.

    Attributes:
        content: New text.
        category: New category.
        topic: New topic; None removes it.
        tags: New tags.
        entities: New entities. By default those that the former text named are replaced by those of the new text.
        time: New time that the memory speaks of.
        expires_at: New time at which it expires; None for never.
        metadata: New metadata.
        scope: Move it to a ``Scope``; or ``global``, or ``project`` with the project's name.
        project: Move it into this project.
        trust: New trust.
        verified: Mark it as confirmed now. A review that is due moves to its next time, or ends.
    """

    content: str | None
    category: str | None
    topic: str | None
    tags: Sequence[str] | None
    entities: Sequence[str] | None
    time: Time | None
    expires_at: Time | None
    metadata: Mapping[str, Any] | None
    scope: Scope | str | None
    project: str | None
    trust: str | None
    verified: bool


def changed_fields(
    changes: Changes, read: Callable[[], Memory], *, project: str | None, zone: tzinfo | None, work_trees: WorkTrees
) -> dict[str, Any]:
    """Return the fields that the engine changes.

    Args:
        changes: What the caller changes.
        read: Reads the memory before the edit; called only if a field depends on it.
        project: The project of calls that name none.
        zone: The zone of times that name none.
        work_trees: The work trees of projects.

    Raises:
        TypeError: A change has an unknown name.
        InvalidInputError: A field is invalid, or nothing is changed.
    """
    unknown = next((name for name in changes if name not in Changes.__optional_keys__), None)
    if unknown is not None:
        suggestion = did_you_mean(unknown, sorted(Changes.__optional_keys__))
        raise TypeError(f"edit() got an unexpected keyword argument {unknown!r}; {suggestion}")
    # None changes nothing, but removes a topic or an expiry.
    given: dict[str, Any] = {
        name: value for name, value in changes.items() if value is not None or name in {"topic", "expires_at"}
    }
    fields: dict[str, Any] = {}
    for name in ("content", "category", "trust"):
        if name in given:
            fields[name] = arguments.text(given[name], field=name)
    if "topic" in given:
        fields["topic"] = arguments.optional_text(given["topic"], field="topic")
    if "tags" in given:
        fields["tags"] = arguments.texts(given["tags"], field="tags")
    for name in ("time", "expires_at"):
        if name in given:
            moment = arguments.milliseconds(given[name], field=name, zone=zone)
            fields[name] = arguments.whole(moment, field=name)
    if "metadata" in given:
        fields["metadata"] = arguments.json_object(given["metadata"], field="metadata") or "{}"
    if {"scope", "project"} & given.keys():
        named = arguments.optional_text(given.get("project"), field="project")
        fields["project"] = owner(given.get("scope"), named, project)
    if "entities" in given:
        where = fields["project"] if "project" in fields else read().project
        fields["entities"] = records.given_entities(given["entities"], where, work_trees, about=project)
    elif "content" in given:
        fields["entities"] = records.entities_after_edit(read(), fields["content"], work_trees, about=project)
    if arguments.flag(given.get("verified", False), field="verified"):
        fields["verified"] = True
    if not fields:
        raise InvalidInputError("edit: nothing to change was given", field="content")
    return fields
