"""Selects memories: whose they are, and the filters that recall, list and count share."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import tzinfo
from typing import Any, TypedDict

from opencode_memory.errors import InvalidInputError
from opencode_memory.models import ALL_PROJECTS, Scope, ScopeKind, Time
from opencode_memory.store.arguments import flag, milliseconds, optional_text, text, texts, whole
from opencode_memory.store.work_trees import NO_WORK_TREES, WorkTrees
from opencode_memory.text.suggest import did_you_mean


class Filter(TypedDict, total=False):
    """Keyword arguments that narrow a recall, a list or a count.

    Attributes:
        project: This project and the global memories; by default the store's own project. ``ALL_PROJECTS`` for all.
            Without any project only global memories are found.
        scope: A ``Scope`` instead of ``project``; or ``global`` or ``project`` to leave the other out.
        category: Only this category, or these.
        status: Only memories with this status, or these; by default active ones.
        since: Only memories that speak of this time or later.
        until: Only memories that speak of an earlier time.
        older_than: Only memories created before this time.
        entity: Only memories about this entity.
        tag: Only memories with this tag.
        with_expired: Whether to include expired memories.
        pinned: Only pinned memories.
    """

    project: str | None
    scope: Scope | str | None
    category: str | Sequence[str] | None
    status: str | Sequence[str] | None
    since: Time | None
    until: Time | None
    older_than: Time | None
    entity: str | None
    tag: str | None
    with_expired: bool
    pinned: bool


def owner(scope: Scope | str | None, project: str | None, default: str | None) -> str | None:
    """Return the project that a memory is written to; None for a global memory.

    Args:
        scope: A scope, or ``global`` or ``project``.
        project: The name of a project.
        default: The project of a memory that names neither.

    Raises:
        InvalidInputError: Scope and project contradict each other, or the scope is more than one project.
    """
    if isinstance(scope, Scope):
        if project is not None:
            raise InvalidInputError("project: the scope names one already; leave one of them out", field="project")
        if scope.name == ALL_PROJECTS:
            raise InvalidInputError("scope: a memory belongs to one project or to none", field="scope")
        return scope.name
    if scope is None:
        return project if project is not None else default
    if scope == ScopeKind.GLOBAL:
        if project is not None:
            raise InvalidInputError("scope: a global memory has no project; leave one of them out", field="scope")
        return None
    if scope == ScopeKind.PROJECT:
        named = project if project is not None else default
        if named is None:
            raise _project_missing()
        return named
    raise _unknown_scope(scope)


def select(
    *,
    default: str | None,
    zone: tzinfo | None,
    work_trees: WorkTrees = NO_WORK_TREES,
    project: str | None = None,
    scope: Scope | str | None = None,
    category: str | Sequence[str] | None = None,
    status: str | Sequence[str] | None = None,
    since: Time | None = None,
    until: Time | None = None,
    older_than: Time | None = None,
    entity: str | None = None,
    tag: str | None = None,
    with_expired: bool = False,
    pinned: bool = False,
) -> dict[str, Any]:
    """Validate a ``Filter`` and convert it for the engine.

    ``default`` is the project of the store, for a filter that names none; ``zone`` is the zone of times that name none.
    ``work_trees`` are those of the client, below which an entity is named by its relative path.
    """
    reach = _scope_of(scope, optional_text(project, field="project"), default)
    return {
        "scope": _KINDS.get(reach.name, "project"),
        "project": reach.name,
        "with_global": reach.with_global,
        "categories": _names(category, field="category"),
        "statuses": _names(status, field="status"),
        "since": whole(milliseconds(since, field="since", zone=zone), field="since"),
        "until": whole(milliseconds(until, field="until", zone=zone), field="until"),
        "created_before": whole(milliseconds(older_than, field="older_than", zone=zone), field="older_than"),
        "entity": _entity(entity, reach.name, work_trees),
        "tag": optional_text(tag, field="tag"),
        "with_expired": flag(with_expired, field="with_expired"),
        "pinned_only": flag(pinned, field="pinned"),
    }


_KINDS: dict[str | None, str] = {None: "global", ALL_PROJECTS: "everything"}


def _scope_of(scope: Scope | str | None, project: str | None, default: str | None) -> Scope:
    if isinstance(scope, Scope):
        if project is not None:
            raise InvalidInputError("project: the scope names one already; leave one of them out", field="project")
        return Scope(optional_text(scope.name, field="scope"), flag(scope.with_global, field="scope"))
    if scope not in (None, *ScopeKind):
        raise _unknown_scope(scope)
    name = default if project is None else project
    if scope == ScopeKind.PROJECT:
        if name is None:
            raise _project_missing()
        return Scope.project(name, with_global=False)
    return Scope.global_only() if scope == ScopeKind.GLOBAL or name is None else Scope.project(name)


def _project_missing() -> InvalidInputError:
    return InvalidInputError("project: scope 'project' needs the name of a project", field="project")


def _unknown_scope(scope: object) -> InvalidInputError:
    return InvalidInputError(
        f"scope: {scope!r} is neither 'global' nor 'project'; {did_you_mean(str(scope), tuple(ScopeKind))}",
        field="scope",
        limit="global, project",
    )


def _entity(entity: str | None, project: str | None, work_trees: WorkTrees) -> str | None:
    """Return the canonical name of an entity."""
    if entity is None:
        return None
    from opencode_memory.entities import canonical  # noqa: PLC0415  few queries name an entity

    owner = None if project == ALL_PROJECTS else project
    return canonical(text(entity, field="entity"), project=owner, work_trees=work_trees.get(owner, ()))


def _names(value: str | Sequence[str] | None, *, field: str) -> list[str]:
    if value is None:
        return []
    return [text(value, field=field)] if isinstance(value, str) else texts(value, field=field)
