"""Fits the boot context into its token budget.

Directives and blockers are never dropped silently. Those that do not fit are listed in a last block: by id and title,
else by id, else by their number and the call that lists them. That block has priority over less important texts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain, zip_longest
from math import inf
from typing import Final

from opencode_memory.text.formatting import short_id

_HEAD: Final = "## Not shown for lack of room: get_memory reads one"
_SHARE: Final = 0.25
"""Share of a budget for the texts of what comes first, even if titles of the rest do not fit then."""
_MISSES: Final = 20
"""After so many texts in a row that do not fit, the others of a section are not tried."""


@dataclass(frozen=True, slots=True)
class Item:
    """One line or paragraph of a section.

    Attributes:
        text: The text to show.
        title: A few words that identify it.
        id: The memory; None if it is not a memory.
    """

    text: str
    title: str
    id: str | None = None

    @property
    def short(self) -> str:
        """The end of the id, which tools accept for the whole."""
        return "" if self.id is None else short_id(self.id)

    @property
    def line(self) -> str:
        """The line that replaces the text if it does not fit."""
        return f"- {self.short} {self.title}"


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a boot context.

    Attributes:
        name: Its key: ``directives``, ``unresolved_blockers`` ….
        heading: Its visible heading.
        items: Its items.
        omitted: Items for which there was no room.
        category: The category with which ``recall`` lists the section, if no item may be dropped silently.
    """

    name: str
    heading: str
    items: tuple[Item, ...]
    omitted: tuple[Item, ...] = ()
    category: str | None = None

    @property
    def label(self) -> str:
        """The line above the names of the omitted items."""
        return f"{self.name.removesuffix('_directives').replace('_', ' ')}:"


def fit_sections(sections: Sequence[Section], budget: int, count: Callable[[str], int]) -> tuple[list[Section], str]:
    """Fit sections, most important first, into a budget.

    Args:
        sections: All sections, with no item omitted yet.
        budget: Maximum number of tokens of the text.
        count: Counts the tokens of a text.

    Returns:
        The sections with their shown and omitted items, and the text of all.
    """
    cost = cache(count)
    aim = budget
    while True:
        taken, text = _Room(sections, aim, cost).filled()
        excess = count(text) - budget
        if excess <= 0 or aim <= 0:
            return taken, text
        # Joined lines may have more tokens than the sum of the lines.
        aim -= excess


class _Room:
    """One attempt to fill a budget.

    Costs are in tokens. The names of all items that must not be dropped silently are paid first; showing the text of an
    item refunds the cost of its name.
    """

    def __init__(self, sections: Sequence[Section], budget: int, cost: Callable[[str], int]) -> None:
        self._sections = sections
        self._budget = budget
        self._cost = cost
        self._used = 0
        named = [section for section in sections if section.category]
        self._frame = cost(_HEAD) + sum(cost(one.label) for one in named)
        self._frame += cost(_more(1)) if any(_is_less(one) for one in sections) else 0
        names = [item for section in named for item in section.items]
        self._ids = sum(cost(item.short) for item in names)
        # Thousands of titles are not worth counting, because they do not fit.
        titles = _sum_until((cost(item.line) for item in names), 2 * budget)
        self._titles = titles if titles <= 2 * budget else inf
        self._crowded = self._frame + self._ids > budget
        if self._crowded:
            self._frame += sum(cost(_more(len(one.items), one.category)) for one in named)

    def filled(self) -> tuple[list[Section], str]:
        """Add the texts that fit, then the names of the others."""
        taken = self._everything() or [self._taken(section) for section in self._sections]
        blocks = ["\n".join([f"## {one.heading}", *(item.text for item in one.items)]) for one in taken if one.items]
        if any(one.omitted for one in taken):
            blocks.append("\n".join(self._not_shown(taken)))
        return taken, "\n".join(blocks)

    def _everything(self) -> list[Section] | None:
        """Return all sections unchanged if they fit, so that no room is reserved for names."""
        texts = chain.from_iterable([one.heading, "##", *(item.text for item in one.items)] for one in self._sections)
        needed = _sum_until(map(self._cost, texts), self._budget)
        return list(self._sections) if needed <= self._budget else None

    def _taken(self, section: Section) -> Section:
        items: list[Item] = []
        omitted: list[Item] = []
        misses = 0
        for item in section.items:
            heading = 0 if items else self._cost(f"## {section.heading}")
            if misses < _MISSES and self._take(section, item, heading):
                items.append(item)
                misses = 0
            else:
                omitted.append(item)
                misses += 1
        return replace(section, items=tuple(items), omitted=tuple(omitted))

    def _take(self, section: Section, item: Item, heading: int) -> bool:
        """Show a text if the names of all omitted items still fit; return whether it is shown."""
        used = self._used + heading + self._cost(item.text)
        ids, titles = self._ids, self._titles
        if section.category:
            ids -= self._cost(item.short)
            titles -= self._cost(item.line)
        in_share = not _is_less(section) and used <= self._budget * _SHARE
        if not (
            self._frame + titles + used <= self._budget
            or (in_share and (self._crowded or self._frame + ids + used <= self._budget))
        ):
            return False
        self._used, self._ids, self._titles = used, ids, titles
        return True

    def _not_shown(self, taken: Sequence[Section]) -> list[str]:
        """Name the omitted items: by ids while there is room, then by titles, then the less important ones."""
        room = self._budget - self._used - self._frame
        named = [one for one in taken if one.category and one.omitted]
        ids: set[str | None] = set()
        for item in _in_turns(named):
            if self._cost(item.short) > room:
                break
            room -= self._cost(item.short)
            ids.add(item.id)
        lines = [_HEAD]
        for section in named:
            known = [item for item in section.omitted if item.id in ids]
            titled = 0
            for item in known:
                price = self._cost(item.line) - self._cost(item.short)
                if price > room:
                    break
                room -= price
                titled += 1
            rest = [item.short for item in known[titled:]]
            more = len(section.omitted) - len(known)
            parts = [" ".join(rest)] if rest else []
            parts += [_more(more, section.category)] if more else []
            lines += [section.label, *(item.line for item in known[:titled])]
            lines += [" ".join(parts)] if parts else []
        return lines + self._less(taken, room)

    def _less(self, taken: Sequence[Section], room: int) -> list[str]:
        """Name less important items as far as there is room, and count the rest."""
        lines: list[str] = []
        uncounted = 0
        for section in taken:
            if not _is_less(section):
                continue
            label = self._cost(section.label)
            for item in section.omitted:
                price = self._cost(item.line) + label
                if item.id is None or price > room:
                    uncounted += 1
                    continue
                room -= price
                lines += [section.label, item.line] if label else [item.line]
                label = 0
        return [*lines, _more(uncounted)] if uncounted else lines


def _is_less(section: Section) -> bool:
    """Return whether the section is less important than completeness."""
    return section.category is None and section.name != "identity"


def _in_turns(sections: Sequence[Section]) -> Iterable[Item]:
    """Return omitted directives and blockers alternately, so that many of one kind do not hide few of the other."""
    queues: dict[str | None, list[Item]] = {}
    for section in sections:
        queues.setdefault(section.category, []).extend(section.omitted)
    return (item for turn in zip_longest(*queues.values()) for item in turn if item is not None)


def _more(number: int, category: str | None = None) -> str:
    return f"and {number} more" + (f": recall with category {category}" if category else "")


def _sum_until(costs: Iterable[int], most: int) -> int:
    """Add up, but stop a little above ``most``."""
    total = 0
    for cost in costs:
        total += cost
        if total > most:
            break
    return total
