"""The boot context: what an agent should know before its first step, within a budget of tokens.

Sections come in the order of what would hurt most if it were missing. What does not fit is named, a directive by its
title and id, so that nothing is dropped in silence: whoever reads knows what to ask for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from opencode_memory.models import Category, Memory, Session, Trust

if TYPE_CHECKING:
    from opencode_memory.memory import MemoryStore
    from opencode_memory.settings import BootConfig, IdentityConfig

HOT_DAYS: Final = 7
_RECENT_DAYS: Final = 30
_MOST_OF_A_SECTION: Final = 200
_MOST_DECISIONS: Final = 5
_MOST_PLANS: Final = 5
_ID_CHARACTERS: Final = 8
_DIRECTIVES: Final = frozenset({"directives", "unconfirmed_directives"})
_RESERVE: Final = 0.12
"""Share of the budget that is kept for saying what did not fit."""


@dataclass(frozen=True, slots=True)
class Item:
    """One line or paragraph of a section.

    Attributes:
        text: As it is shown.
        title: What stands for it when it does not fit; it holds the id.
        id: The memory, or None for what is none.
    """

    text: str
    title: str
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a boot context.

    Attributes:
        name: Its key: ``directives``, ``unresolved_blockers`` ….
        heading: As it is shown.
        items: What it holds.
        omitted: What it would hold if there were room.
    """

    name: str
    heading: str
    items: tuple[Item, ...]
    omitted: tuple[Item, ...] = ()


@dataclass(frozen=True, slots=True)
class BootContext:
    """A boot context.

    Attributes:
        sections: What it holds, in its order.
        text: The whole of it.
        tokens: How many tokens the text has.
        max_tokens: The budget.
    """

    sections: tuple[Section, ...]
    text: str
    tokens: int
    max_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Voice:
    """How things are put into words, which is the caller's affair.

    Attributes:
        memory: A memory as a paragraph.
        title: A memory in a few words, with its id.
        session: A session in one line.
    """

    memory: Callable[[Memory], str]
    title: Callable[[Memory], str]
    session: Callable[[Session], str]


def boot_context(
    store: MemoryStore,
    *,
    project: str | None,
    identity: IdentityConfig,
    config: BootConfig,
    voice: Voice,
    count_tokens: Callable[[str], int],
    at: datetime,
    max_tokens: int | None = None,
) -> BootContext:
    """Put a boot context together.

    Args:
        store: Where the memories are.
        project: The project of whoever starts; None for none.
        identity: Who the person is.
        config: Which sections there are, and how much of them.
        voice: How memories and sessions are put into words.
        count_tokens: What counts tokens.
        at: The present moment.
        max_tokens: The budget; by default the configuration's.

    Returns:
        A context of at most ``max_tokens`` tokens.
    """
    budget = config.max_tokens if max_tokens is None else max_tokens
    wanted = [section for section in _sections(store, project, identity, config, voice, at) if section.items]
    return _fitted(wanted, budget, count_tokens)


def _sections(
    store: MemoryStore,
    project: str | None,
    identity: IdentityConfig,
    config: BootConfig,
    voice: Voice,
    at: datetime,
) -> Iterator[Section]:
    shown: set[str] = set()

    def section(name: str, heading: str, memories: Iterable[Memory]) -> Section:
        new = [memory for memory in memories if memory.id not in shown]
        shown.update(memory.id for memory in new)
        return Section(name, heading, tuple(Item(voice.memory(one), voice.title(one), one.id) for one in new))

    def listed(category: Category, limit: int = _MOST_OF_A_SECTION) -> list[Memory]:
        return store.list(project=project, category=category, limit=limit)

    if config.identity:
        who = [f"user: {identity.user}"] if identity.user else []
        who += [f"forge: {identity.instance}"] if identity.instance else []
        who += [f"project: {project}"] if project else []
        yield Section("identity", "Who and where", tuple(Item(line, line) for line in who))
    if config.directives:
        directives = listed(Category.DIRECTIVE)
        # Those of the person come first, then those an agent noted and nobody confirmed.
        confirmed = [one for one in directives if _is_confirmed(one)]
        yield section("directives", "Directives", confirmed)
        unconfirmed = [one for one in directives if not _is_confirmed(one)]
        yield section("unconfirmed_directives", "Noted by agents, not confirmed by the user", unconfirmed)
    if config.unresolved_blockers:
        blockers = [one for one in listed(Category.BLOCKER) if "resolved" not in one.tags]
        yield section("unresolved_blockers", "Unresolved blockers", blockers)
    if config.active_sessions:
        sessions = store.sessions.active(project=project)
        items = tuple(Item(voice.session(one), one.id) for one in sessions)
        yield Section("active_sessions", "Sessions at work, and what they claim", items)
    if config.hot_items:
        pinned = [one for one in _pinned(store, project) if one.id not in shown]
        used = store.most_used(
            since=at - timedelta(days=HOT_DAYS), project=project, limit=4 * config.max_hot_items + 20
        )
        hot = [one for one, _ in used if one.category is not Category.CONVERSATION and one.id not in shown]
        fresh = [one for one in hot if one not in pinned][: config.max_hot_items]
        yield section("hot_items", "Pinned, and used most these days", [*pinned, *fresh])
    if config.recent_decisions:
        since = at - timedelta(days=_RECENT_DAYS)
        recent = [one for one in listed(Category.DECISION, _MOST_DECISIONS) if one.time >= since]
        yield section("recent_decisions", "Recent decisions", recent)
    if config.plans:
        yield section("plans", "Plans", listed(Category.PLAN, _MOST_PLANS))


def _is_confirmed(memory: Memory) -> bool:
    return memory.trust is Trust.USER or memory.verified_at is not None


def _pinned(store: MemoryStore, project: str | None) -> list[Memory]:
    return store.list(project=project, pinned=True, limit=_MOST_OF_A_SECTION)


def _fitted(sections: Sequence[Section], budget: int, count: Callable[[str], int]) -> BootContext:
    """Take what fits, section by section, then say what did not within what was kept for that."""
    room = budget - int(budget * _RESERVE)
    used = 0
    taken: list[Section] = []
    for section in sections:
        heading = count(section.heading) + 1
        items: list[Item] = []
        omitted: list[Item] = []
        for item in section.items:
            cost = count(item.text) + (0 if items else heading)
            if used + cost <= room:
                used += cost
                items.append(item)
            else:
                omitted.append(item)
        taken.append(replace(section, items=tuple(items), omitted=tuple(omitted)))
    text = _written(taken, budget, count)
    return BootContext(tuple(taken), text, count(text), budget)


def _written(sections: Sequence[Section], budget: int, count: Callable[[str], int]) -> str:
    blocks = ["\n".join([f"## {one.heading}", *(item.text for item in one.items)]) for one in sections if one.items]
    omitted = [(section, item) for section in sections for item in section.omitted]
    if omitted:
        blocks.append(_not_shown(omitted, budget - count("\n".join(blocks)), count))
    return "\n".join(blocks)


def _not_shown(omitted: Sequence[tuple[Section, Item]], room: int, count: Callable[[str], int]) -> str:
    """Name what did not fit, directives first; when even the names do not fit, at least their ids and number."""
    lines = [f"## Not shown for lack of room: {len(omitted)}; get_memory reads one"]
    used = count(lines[0])
    for number, (_, item) in enumerate(omitted):
        line = f"- {item.title}"
        cost = count(line)
        rest = _rest(omitted[number:])
        if used + cost + count(_rest(omitted[number + 1 :])) > room:
            lines.append(rest)
            break
        used += cost
        lines.append(line)
    return "\n".join(lines)


def _rest(omitted: Sequence[tuple[Section, Item]]) -> str:
    """Stand for what even the titles of did not fit: the ids of directives, and how many the others are."""
    ids = [item.id[-_ID_CHARACTERS:] for section, item in omitted if item.id and section.name in _DIRECTIVES]
    others = len(omitted) - len(ids)
    parts = [f"directives {' '.join(ids)}"] if ids else []
    parts += [f"{others} more"] if others else []
    return f"- and {', '.join(parts)}" if parts else ""
