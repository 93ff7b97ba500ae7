"""The boot context: the memories that an agent should know before its first step, within a token budget.

Sections are ordered by how harmful it would be to miss them; ``token_budget`` fits them into the budget.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from opencode_memory.context.token_budget import Item, Section, fit_sections
from opencode_memory.models import Category, Memory, Session

if TYPE_CHECKING:
    from opencode_memory.config.settings import BootConfig, IdentityConfig
    from opencode_memory.store.memory_store import MemoryStore

HOT_DAYS: Final = 7
_RECENT_DAYS: Final = 30
_ALL: Final = 1_000_000
_MOST_DECISIONS: Final = 5
_MOST_PLANS: Final = 5
_MOST_SOLUTIONS: Final = 3
_MOST_HABITS: Final = 12


@dataclass(frozen=True, slots=True)
class BootContext:
    """A boot context.

    Attributes:
        sections: Its sections, in order.
        text: The whole text.
        tokens: Its length in tokens.
        max_tokens: The budget.
    """

    sections: tuple[Section, ...]
    text: str
    tokens: int
    max_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Voice:
    """The caller's functions that format memories and sessions.

    Attributes:
        memory: Formats a memory as a paragraph.
        title: Formats a memory in a few words.
        session: Formats a session in one line.
        name: Formats the name of a project on one line.
    """

    memory: Callable[[Memory], str]
    title: Callable[[Memory], str]
    session: Callable[[Session], str]
    name: Callable[[str], str]


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
    """Build a boot context.

    Args:
        store: The store of the memories.
        project: The project of the client; None if it has none.
        identity: The user.
        config: The enabled sections and their sizes.
        voice: Formats memories and sessions.
        count_tokens: Counts the tokens of a text.
        at: The current time.
        max_tokens: The budget; by default the configured one.

    Returns:
        A context of at most ``max_tokens`` tokens.
    """
    budget = config.max_tokens if max_tokens is None else max_tokens
    wanted = [section for section in _sections(store, project, identity, config, voice, at) if section.items]
    sections, text = fit_sections(wanted, budget, count_tokens)
    return BootContext(tuple(sections), text, count_tokens(text), budget)


def _sections(
    store: MemoryStore,
    project: str | None,
    identity: IdentityConfig,
    config: BootConfig,
    voice: Voice,
    at: datetime,
) -> Iterator[Section]:
    shown: set[str] = set()

    def section(name: str, heading: str, memories: Iterable[Memory], category: Category | None = None) -> Section:
        new = [memory for memory in memories if memory.id not in shown]
        shown.update(memory.id for memory in new)
        items = tuple(Item(voice.memory(one), voice.title(one), one.id) for one in new)
        return Section(name, heading, items, category=category)

    def listed(category: Category, limit: int = _ALL) -> list[Memory]:
        return store.list(project=project, category=category, limit=limit)

    if config.identity:
        who = [f"user: {identity.user}"] if identity.user else []
        who += [f"forge: {identity.instance}"] if identity.instance else []
        who += [f"project: {voice.name(project)}"] if project else []
        yield Section("identity", "Who and where", tuple(Item(line, line) for line in who))
    if config.directives:
        directives = [memory for memory in listed(Category.DIRECTIVE) if not memory.is_withheld]
        yield section("directives", "Directives", directives, Category.DIRECTIVE)
    if config.habits:
        habits = store.list(project=project, category=(Category.CONVENTION, Category.PREFERENCE), limit=_MOST_HABITS)
        yield section("habits", "How things are done here", habits)
    if config.unresolved_blockers:
        blockers = [memory for memory in listed(Category.BLOCKER) if not memory.is_resolved]
        yield section("unresolved_blockers", "Unresolved blockers", blockers, Category.BLOCKER)
    if config.active_sessions:
        sessions = store.sessions.active(project=project)
        items = tuple(Item(voice.session(one), voice.session(one)) for one in sessions)
        yield Section("active_sessions", "Sessions at work, and what they claim", items)
    if config.hot_items:
        all_pinned = store.list(project=project, pinned=True, limit=_ALL)
        pinned = [memory for memory in all_pinned if memory.id not in shown and not memory.is_withheld]
        used = store.most_used(
            since=at - timedelta(days=HOT_DAYS), project=project, limit=4 * config.max_hot_items + 20
        )
        known = shown | {memory.id for memory in pinned}
        hot = [memory for memory, _ in used if memory.category is not Category.CONVERSATION and not memory.is_withheld]
        fresh = [memory for memory in hot if memory.id not in known][: config.max_hot_items]
        yield section("hot_items", "Pinned, and used most these days", [*pinned, *fresh])
    if config.recent_decisions:
        since = at - timedelta(days=_RECENT_DAYS)
        recent = [one for one in listed(Category.DECISION, _MOST_DECISIONS) if one.time >= since]
        yield section("recent_decisions", "Recent decisions", recent)
    if config.recent_solutions:
        since = at - timedelta(days=_RECENT_DAYS)
        solved = [one for one in listed(Category.SOLUTION, _MOST_SOLUTIONS) if one.time >= since]
        yield section("recent_solutions", "What failed lately, and what helped", solved)
    if config.plans:
        yield section("plans", "Plans", listed(Category.PLAN, _MOST_PLANS))
