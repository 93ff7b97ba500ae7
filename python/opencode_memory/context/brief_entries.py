"""The entries of a project brief: which memories it may show, in which group, and in which order.

Reminders and reviews that are due come first, then the directives, what was found for earlier messages of the session,
the conventions and preferences of the user, open blockers, the newest decisions, plans, and the fact sheet of the
project. These are shown in full. All other memories are ``OTHERS``.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from opencode_memory.context.arrangement import quote_later, sort_entries
from opencode_memory.context.entry import FOUND_BEFORE, OTHERS, Entry
from opencode_memory.context.folding import Folded, fold
from opencode_memory.context.in_sight import InSight
from opencode_memory.context.loaded_text import LoadedText
from opencode_memory.context.recent_sessions import find_left_open
from opencode_memory.context.usefulness import is_wrong
from opencode_memory.errors import NotFoundError
from opencode_memory.models import Category, Memory, Status
from opencode_memory.store.ledger import Usefulness

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore

FACT_SHEET: Final = "project:facts"
_MOST: Final = 400
"""Memories of one kind that are considered, newest first."""
_NEWEST_DECISIONS: Final = 8
_NEWEST_PLANS: Final = 3
_PLAN_DAYS: Final = 60
_RECENT_DAYS: Final = 45.0
_SEVERAL_SESSIONS: Final = 2
_PLACES: Final = 100.0
"""After so many nearer memories, nearness has fallen to a third; about as many get a place in a full brief."""
_RULES: Final = (Category.DIRECTIVE, Category.CONVENTION, Category.PREFERENCE)


@dataclass(frozen=True, slots=True, kw_only=True)
class BriefRequest:
    """The brief that a reader needs.

    Attributes:
        project: The project; None for the global memories alone.
        near: How relevant a memory is to the message at hand, from 0 to 1, by its id.
        query: The query of that message, to which the other memories are compared; empty if there is none.
        known: The memories that the reader has already.
        found_before: Ids of memories that were found for earlier messages of the session, newest first.
        loaded: The text of files that the agent loads by itself.
        session: The session of the reader; None if there is none.
        visible: Ids of the messages of that session that the reader sees.
        is_ending: Whether the messages of that session are about to be replaced by a summary.
        lines: Further lines to show before the other memories, by their headings.
    """

    project: str | None
    near: Mapping[str, float] = field(default_factory=dict)
    query: str = ""
    known: InSight = field(default_factory=InSight)
    found_before: tuple[str, ...] = ()
    loaded: LoadedText = field(default_factory=LoadedText)
    session: str | None = None
    visible: frozenset[str] = frozenset()
    is_ending: bool = False
    lines: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def collect_entries(store: MemoryStore, request: BriefRequest, *, at: datetime) -> list[Entry]:
    """Return the entries of a brief: by group, then by worth."""
    folded = _fold(store, _read(store, request, at), at)
    before = {fold.memory.id: fold.before for fold in folded}
    memories = [fold.memory for fold in folded if _may_show(fold.memory, request)]
    useful = store.ledger.usefulness([memory.id for memory in memories])
    memories = [
        memory for memory in memories if memory.category is Category.DIRECTIVE or not is_wrong(useful.get(memory.id))
    ]
    repeated = _find_repeated(store, request.project, memories)
    found_before = frozenset(request.found_before)
    found = {
        memory.id
        for memory in memories
        if not found_before.isdisjoint((memory.id, *(old.id for old in before[memory.id])))
    }
    near = _measure_nearness(store, request, memories, found)
    newest = {
        memory.id
        for category, most in ((Category.DECISION, _NEWEST_DECISIONS), (Category.PLAN, _NEWEST_PLANS))
        for memory in [other for other in memories if category in _categories(other, before[other.id])][:most]
    }
    entries = [
        Entry(
            memory=memory,
            group=_group(
                memory,
                before[memory.id],
                request,
                is_newest=memory.id in newest,
                is_repeated=memory.id in repeated,
                was_found=memory.id in found,
                at=at,
            ),
            worth=_worth(memory, useful.get(memory.id), near.get(memory.id, 0.0), at=at),
            before=before[memory.id],
        )
        for memory in memories
    ]
    entries = list(quote_later(store, request.project, entries, folded))
    left = find_left_open(store, request.project, request.session, at=at)
    if left is not None and left[0] not in request.known:
        entries.append(Entry(memory=left[0], group="left_open", worth=1.0, excerpt=left[1]))
    return sort_entries(entries, folded)


def _read(store: MemoryStore, request: BriefRequest, at: datetime) -> list[Memory]:
    """Return the candidates, newest first; without turns and summaries of conversations."""
    project = request.project
    others = tuple(category for category in Category if category not in {*_RULES, Category.CONVERSATION})
    found: dict[str, Memory] = {}
    for kinds in (_RULES, (Category.BLOCKER,), others):
        found |= {memory.id: memory for memory in store.list(project=project, category=kinds, limit=_MOST)}
    found |= {memory.id: memory for memory in store.list(project=project, pinned=True, limit=_MOST)}
    found |= {memory.id: memory for memory in store.reminders.due(project=project)}
    # What a search found may be older.
    for id_ in {*request.near, *request.found_before}.difference(found):
        with suppress(NotFoundError):
            memory = store.get(id_)
            if _may_read(memory, project, at):
                found[id_] = memory
    return sorted(found.values(), key=lambda memory: memory.time, reverse=True)


def _may_read(memory: Memory, project: str | None, at: datetime) -> bool:
    return memory.status is Status.ACTIVE and memory.project in {None, project} and not memory.is_expired(at)


def _fold(store: MemoryStore, memories: Sequence[Memory], at: datetime) -> list[Folded]:
    """Fold earlier statements into later ones, also of memories that are not among the newest.

    An earlier statement that is due keeps its own entry. Otherwise the user could not see and end its
    reminder.
    """
    later = store.later([memory.id for memory in memories])
    folded = fold(memories, store.earlier([memory.id for memory in (*memories, *later)]), others=later)
    shown = {fold.memory.id for fold in folded}
    return [*folded, *(Folded(memory) for memory in memories if memory.id not in shown and _find_due_group(memory, at))]


def _may_show(memory: Memory, request: BriefRequest) -> bool:
    return not (
        memory.is_on_request
        or (memory.category is Category.BLOCKER and memory.is_resolved)
        or memory in request.known
        or memory.category is Category.CONVERSATION
        or _is_source_visible(memory, request)
        or request.loaded.says(memory.content)
    )


def _is_source_visible(memory: Memory, request: BriefRequest) -> bool:
    """Return whether the reader sees the message from which a memory was learned."""
    return memory.source.session == request.session and memory.source.message in request.visible


def _group(
    memory: Memory,
    before: Iterable[Memory],
    request: BriefRequest,
    *,
    is_newest: bool,
    is_repeated: bool,
    was_found: bool,
    at: datetime,
) -> str:
    if due := _find_due_group(memory, at):
        return due
    # A correction is often stored as a fact. It governs work like the rule that it changes.
    categories = _categories(memory, before)
    if Category.DIRECTIVE in categories:
        return "directives" if memory.is_confirmed else OTHERS
    if request.is_ending and request.session in (memory.session, memory.source.session):
        return "session"
    if was_found:
        return FOUND_BEFORE
    if not categories.isdisjoint(_RULES) and (memory.is_confirmed or memory.pinned or is_repeated):
        return "habits"
    if memory.category is Category.BLOCKER:
        return "blockers"
    if is_newest and Category.DECISION in categories:
        return "decisions"
    if is_newest and memory.category is Category.PLAN and at - memory.time <= timedelta(days=_PLAN_DAYS):
        return "plans"
    return "project" if memory.topic == FACT_SHEET else OTHERS


def _find_due_group(memory: Memory, at: datetime) -> str | None:
    if memory.remind_at is not None and memory.remind_at <= at:
        return "reminders"
    return "reviews" if memory.review_after is not None and memory.review_after <= at else None


def _categories(memory: Memory, before: Iterable[Memory]) -> set[Category]:
    return {memory.category, *(statement.category for statement in before)}


def _find_repeated(store: MemoryStore, project: str | None, memories: Iterable[Memory]) -> set[str]:
    """Return the ids of learned rules whose statement was seen in several sessions."""
    seen_as = {memory.id: str(memory.metadata["seen_as"]) for memory in memories if memory.metadata.get("seen_as")}
    sessions = store.learning.seen_elsewhere(project, [*seen_as.values()], "")
    return {id_ for id_, many in zip(seen_as, sessions, strict=True) if many >= _SEVERAL_SESSIONS}


def _measure_nearness(
    store: MemoryStore, request: BriefRequest, memories: Sequence[Memory], found: Collection[str]
) -> Mapping[str, float]:
    """Return how near each memory is to the message at hand, from 0 to 2, by its id.

    A recall returns only the nearest memories. In a project with more memories than fit, the others also compete for
    places, and those of another part of the project are of no use.
    """
    if not (request.query or found):
        return request.near
    # After a compaction, what was found for earlier messages tells best what the session is about.
    spread = zip(store.indexes.spread(request.query, memories, known=found), memories, strict=True)
    linked = sorted(((nearness, memory.id) for nearness, memory in spread if nearness > 0), key=lambda pair: -pair[0])
    # By place, because the scale of these numbers depends on the message.
    near = {id_: math.exp(-place / _PLACES) for place, (_, id_) in enumerate(linked)}
    return {memory.id: request.near.get(memory.id, 0.0) + near.get(memory.id, 0.0) for memory in memories}


def _worth(memory: Memory, useful: Usefulness | None, near: float, *, at: datetime) -> float:
    days = max((at - memory.time).total_seconds() / 86_400, 0.0)
    used = 0.0 if useful is None else useful.used - 2.0 * useful.contradicted
    return (
        3.0 * near
        + 2.0 * memory.pinned
        + math.tanh(used / 2)
        + 0.5 * (memory.project is None)
        + math.exp(-days / _RECENT_DAYS)
    )
