"""The project brief: the memories that govern work in a project, shown before anything asks for them.

A convention is not similar to the request that it governs, so no search finds it in time. The brief therefore shows the
rules of the user and the project in full, one line each, and the other memories as headlines with ids. The first
block of a session, the boot context and a compaction contain it. ``brief_entries`` decides what is in it and in which
order; this module fits it into a budget.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Final

from opencode_memory.context.block import HEAD, NOTHING, Block, Group, fit_groups, frame
from opencode_memory.context.brief_entries import BriefRequest, collect_entries
from opencode_memory.context.entry import FOUND_BEFORE, GROUPS, HEADLINES, OTHERS, Entry
from opencode_memory.context.headline import (
    FULL_BYTES,
    LONG_BYTES,
    LONG_WORDS,
    SHORT_WORDS,
    format_cut,
    format_excerpt,
    format_full,
    format_headline,
    is_quoted_in_full,
)
from opencode_memory.models import Category, Memory

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore

_FULL_SHARE: Final = 0.65
"""Share of the budget for lines in full, as long as other memories have no headline yet."""
_GIVEN_SHARE: Final = 0.25
"""Share of the budget for further lines before rules are added, so that many sessions leave the rules their places."""
_FOUND_SHARE: Final = 0.3
"""Share of the budget for what earlier messages found, so that the conventions of the user keep their places."""
_MISSES: Final = 30
"""After so many lines in a row that do not fit, the others are not tried."""
_COUNTED: Final = (Category.DIRECTIVE, Category.BLOCKER)
"""Categories whose omitted memories are counted by name, because missing one of them does most harm."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Brief:
    """A brief.

    Attributes:
        lines: Its lines, with headings.
        tokens: Their number of tokens, including a frame.
        full: The memories that it shows or quotes in full.
        headlines: The memories of which it shows or quotes only the first words.
        omitted: Number of memories that it does not show.
        groups: Ids of the memories by the name of their group, in order.
        before: Earlier statements that a line names, by the id of the later memory.
    """

    lines: tuple[str, ...]
    tokens: int
    full: tuple[Memory, ...]
    headlines: tuple[Memory, ...]
    omitted: int
    groups: Mapping[str, tuple[str, ...]]
    before: Mapping[str, tuple[Memory, ...]]


NO_BRIEF: Final = Brief(lines=(), tokens=0, full=(), headlines=(), omitted=0, groups={}, before={})


def build_brief(
    store: MemoryStore,
    request: BriefRequest,
    *,
    budget: int,
    count: Callable[[str], int],
    at: datetime,
    head: str = HEAD,
) -> Brief:
    """Build the brief of a project.

    Args:
        store: The store of the memories.
        request: The project, and what the reader already has.
        budget: Maximum number of tokens of its lines and their frame.
        count: Counts the tokens of a text.
        at: The current time.
        head: The sentences that will introduce it.
    """
    return fit_brief(
        collect_entries(store, request, at=at), request.lines, budget=budget, count=count, at=at, head=head
    )


def fit_brief(
    entries: Sequence[Entry],
    lines: Mapping[str, Sequence[str]],
    *,
    budget: int,
    count: Callable[[str], int],
    at: datetime,
    head: str = HEAD,
) -> Brief:
    """Fit entries into a budget.

    Args:
        entries: From ``collect_entries``.
        lines: Further lines, by their headings.
        budget: As for ``build_brief``, like the following arguments.
        count: Counts the tokens of a text.
        at: The current time.
        head: The sentences that will introduce the brief.
    """
    room = budget - count(frame(head, ()))
    brief = _Fitting(entries, lines, room, count, at).brief()
    return replace(brief, tokens=brief.tokens + budget - room)


def render_brief(
    brief: Brief,
    groups: Sequence[Group] = (),
    *,
    max_tokens: int = 0,
    count: Callable[[str], int],
    at: datetime,
    head: str = HEAD,
) -> Block:
    """Render a brief and further groups as a block.

    Args:
        brief: The brief, which has its own budget.
        groups: Groups to show after it.
        max_tokens: Maximum number of tokens of these groups.
        count: Counts the tokens of a text.
        at: The current time, for ages.
        head: The sentences that introduce the block.
    """
    lines, shown = fit_groups(groups, max_tokens, count, at)
    if not (brief.lines or lines):
        return NOTHING
    text = frame(head, [*brief.lines, *lines])
    return Block(text, count(text), (*brief.full, *brief.headlines, *shown))


class _Fitting:
    """One attempt to fill a budget. Costs are in tokens; the lines of a text cost as much as the text."""

    def __init__(
        self,
        entries: Sequence[Entry],
        lines: Mapping[str, Sequence[str]],
        budget: int,
        count: Callable[[str], int],
        at: datetime,
    ) -> None:
        self._entries = entries
        self._given = lines
        self._budget = budget
        self._count = count
        self._at = at
        self._lines: dict[str, str] = {}
        self._groups: dict[str, str] = {}
        self._is_full: set[str] = set()
        self._extra: dict[str, list[str]] = {}
        # The last line is paid first, because a memory must not be omitted without a word.
        self._used = count(_more([entry.memory for entry in entries])) if entries else 0

    def brief(self) -> Brief:
        """Add lines in full up to a share, then headlines, then lengthen both while there is room.

        A rule that is too long for a line is cut first.
        """
        self._add_given(self._used + self._budget * _GIVEN_SHARE)
        rules = [entry for entry in self._entries if entry.group != OTHERS]
        has_more = len(rules) < len(self._entries)
        left = self._add_full(rules, self._budget * _FULL_SHARE if has_more else self._budget)
        self._add_given(self._budget)
        cut = [entry for entry in rules if entry.memory.id in self._lines and entry.excerpt is None]
        others = [*left, *(entry for entry in self._entries if entry.group == OTHERS)]
        others.sort(key=lambda entry: -entry.worth)
        self._add_headlines(others)
        self._lengthen([*cut, *others])
        return self._finish()

    def _add_given(self, most: float) -> None:
        for heading, lines in self._given.items():
            added = self._extra.get(heading, [])
            for line in lines:
                cost = self._count(line) + (0 if added else self._count(heading))
                if line not in added and self._used + cost <= min(most, self._budget):
                    self._used += cost
                    added.append(line)
            if added:
                self._extra[heading] = sorted(added, key=lines.index)

    def _add_full(self, rules: Iterable[Entry], most: float) -> list[Entry]:
        left: list[Entry] = []
        misses = 0
        room = {FOUND_BEFORE: self._budget * _FOUND_SHARE}
        for entry in rules:
            full = self._format_full(entry, FULL_BYTES) if misses < _MISSES else None
            line = full or format_cut(entry, at=self._at)
            used = self._used
            limit = min(most, used + room.get(entry.group, self._budget))
            if misses < _MISSES and self._add(entry, line, entry.group, limit):
                if entry.group in room:
                    room[entry.group] -= self._used - used
                misses = 0
                if full is not None and entry.excerpt is None:
                    self._is_full.add(entry.memory.id)
            else:
                misses += 1
                left.append(entry)
        return left

    def _add_headlines(self, others: Iterable[Entry]) -> None:
        misses = 0
        for entry in others:
            line = format_headline(entry.memory, most_words=SHORT_WORDS)
            if self._add(entry, line, OTHERS, self._budget):
                misses = 0
            elif (misses := misses + 1) == _MISSES:
                break

    def _add(self, entry: Entry, line: str, group: str, most: float) -> bool:
        cost = self._count(line) + self._count_heading(group)
        if self._used + cost > most:
            return False
        self._used += cost
        self._lines[entry.memory.id], self._groups[entry.memory.id] = line, group
        return True

    def _lengthen(self, entries: Iterable[Entry]) -> None:
        """Replace cut lines and headlines by the whole memories, and what is left by longer headlines, best first."""
        shown = [entry for entry in entries if entry.memory.id in self._lines.keys() - self._is_full]
        for entry in shown:
            line = self._format_full(entry, FULL_BYTES if entry.group == OTHERS else LONG_BYTES)
            if line is not None and self._replace(entry, line, entry.group):
                self._is_full.add(entry.memory.id)
        for entry in shown:
            if self._groups[entry.memory.id] == OTHERS and entry.memory.id not in self._is_full:
                self._replace(entry, format_headline(entry.memory, most_words=LONG_WORDS), OTHERS)

    def _replace(self, entry: Entry, line: str, group: str) -> bool:
        difference = self._count(line) - self._count(self._lines[entry.memory.id]) + self._count_heading(group)
        if self._used + difference > self._budget:
            return False
        self._used += difference
        self._lines[entry.memory.id], self._groups[entry.memory.id] = line, group
        return True

    def _count_heading(self, group: str) -> int:
        """Return the tokens of a group's heading; 0 if it stands there already."""
        if group in self._groups.values():
            return 0
        return self._count(HEADLINES if group == OTHERS else GROUPS[group])

    def _has_quote(self, entry: Entry) -> bool:
        """Return whether the line of an entry has room for a quotation. A headline has none."""
        return entry.memory.id in self._is_full or self._groups.get(entry.memory.id, OTHERS) != OTHERS

    def _format_full(self, entry: Entry, most_bytes: int) -> str | None:
        if entry.excerpt is not None:
            return format_excerpt(entry.excerpt, entry.memory, at=self._at)
        return format_full(entry, at=self._at, most_bytes=most_bytes)

    def _finish(self) -> Brief:
        lines: list[str] = []
        groups: dict[str, tuple[str, ...]] = {}
        for group, heading in GROUPS.items():
            ids = [entry.memory.id for entry in self._entries if self._groups.get(entry.memory.id) == group]
            if group == OTHERS:
                # Lines in full stand before headlines, so that their heading is true of both.
                ids.sort(key=lambda id_: id_ not in self._is_full)
                for given_heading, given in self._extra.items():
                    lines += [given_heading, *given]
            if ids:
                groups[group] = tuple(ids)
                is_plain = group != OTHERS or self._is_full.issuperset(ids)
                lines += [heading if is_plain else HEADLINES, *(self._lines[id_] for id_ in ids)]
        said_later = [(entry.later, self._has_quote(entry)) for entry in self._entries if entry.later is not None]
        quoted = [memory for memory, is_quoted in said_later if is_quoted]
        omitted = [entry.memory for entry in self._entries if entry.memory.id not in self._lines]
        omitted += [memory for memory, is_quoted in said_later if not is_quoted]
        if omitted and lines:
            lines.append(_more(omitted))
        shown = [entry.memory for entry in self._entries if entry.memory.id in self._lines] + quoted
        in_full = self._is_full.union(memory.id for memory in quoted if is_quoted_in_full(memory))
        return Brief(
            lines=tuple(lines),
            tokens=self._used,
            full=tuple(memory for memory in shown if memory.id in in_full),
            headlines=tuple(memory for memory in shown if memory.id not in in_full),
            omitted=len(omitted),
            groups=groups,
            before={entry.memory.id: entry.before for entry in self._entries if entry.before},
        )


def _more(omitted: Sequence[Memory]) -> str:
    counts = {category: sum(memory.category is category for memory in omitted) for category in _COUNTED}
    named = ", ".join(f"{many} {category.value}{'s' * (many > 1)}" for category, many in counts.items() if many)
    verb = "is" if len(omitted) == 1 else "are"
    return f"{len(omitted)} more {verb} not shown{f' ({named})' if named else ''}: recall finds them."
