"""Pages to look at rather than to read: when memories were made, and what they speak of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import StrEnum
from itertools import chain, pairwise
from typing import Any, Final

from opencode_memory._core import place_vectors
from opencode_memory.embedding.rows import to_rows
from opencode_memory.errors import InvalidInputError
from opencode_memory.models import Category, Memory
from opencode_memory.server.pages.asked import Asked, Page
from opencode_memory.server.pages.browse import choices
from opencode_memory.server.pages.topics import find_topics

_NUMBERS: Final = {"day": 30, "week": 26, "month": 24}
_HEADLINES: Final = 3
_TELLING: Final = (Category.DECISION, Category.DIRECTIVE, Category.CONVENTION)
"""Categories whose memories are named in the timeline."""
_MOST_ON_MAP: Final = 1_000
_DECEMBER: Final = 12


class Interval(StrEnum):
    """The period of one bar of the timeline."""

    DAY = "day"
    WEEK = "week"
    MONTH = "month"


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """A period with its memories.

    Attributes:
        since: Its first day.
        until: The day after its last.
        number: How many memories speak of it.
        share: That number, as a share of the greatest.
        memories: The newest decisions, directives and conventions.
    """

    since: date
    until: date
    number: int
    share: float
    memories: list[Memory]


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A memory on the map, at coordinates from 0 to 1."""

    memory: Memory
    x: float
    y: float


def show_timeline(asked: Asked) -> Page:
    """Show how many memories were made in each period, and the decisions of each."""
    name = asked.text("step") or Interval.WEEK
    if name not in set(Interval):
        known = ", ".join(Interval)
        raise InvalidInputError(f"step: {name[:40]!r} is none of {known}", field="step", limit=known)
    filters = asked.filters()
    bounds = list(_split_periods(Interval(name), asked.at))
    numbers = [asked.store.count(**{**filters, "since": str(since), "until": str(until)}) for since, until in bounds]
    most = max(numbers)
    periods = [
        Period(
            since=since,
            until=until,
            number=number,
            share=number / most if most else 0.0,
            memories=_find_telling(asked, filters, since, until) if number else [],
        )
        for (since, until), number in zip(bounds, numbers, strict=True)
    ]
    values = {**choices(asked), "periods": periods, "step": name, "steps": list(Interval), "total": sum(numbers)}
    return Page(template="timeline.html", values=values)


def show_map(asked: Asked) -> Page:
    """Show the topics of the newest memories, and where each memory lies among them."""
    found = asked.store.list(limit=_MOST_ON_MAP, **asked.filters())
    vectors = asked.store.indexes.vectors_of([memory.id for memory in found])
    known = [(memory, vector) for memory, vector in zip(found, vectors, strict=True) if vector is not None]
    topics: list[dict[str, Any]] = []
    if known:
        rows = to_rows(chain.from_iterable(vector for _, vector in known), len(known[0][1]))
        groups = find_topics([memory.content for memory, _ in known], rows)
        places = place_vectors(rows, [topic.members for topic in groups])
        topics = [
            {
                "name": topic.name or "other",
                "points": [
                    Point(memory=known[member][0], x=places[member][0], y=places[member][1]) for member in topic.members
                ],
            }
            for topic in groups
        ]
    values = {
        **choices(asked),
        "topics": topics,
        "number": len(known),
        "without_vector": len(found) - len(known),
        "is_cut": len(found) == _MOST_ON_MAP,
    }
    return Page(template="map.html", values=values)


def _find_telling(asked: Asked, filters: dict[str, Any], since: date, until: date) -> list[Memory]:
    wanted = {"category": list(_TELLING), **filters, "since": str(since), "until": str(until)}
    return asked.store.list(limit=_HEADLINES, **wanted)


def _split_periods(step: Interval, at: datetime) -> Iterator[tuple[date, date]]:
    """Yield the latest periods, the earliest first, each with its first day and the day after its last."""
    today = at.date()
    starts = {
        Interval.DAY: today,
        Interval.WEEK: today - timedelta(days=today.weekday()),
        Interval.MONTH: today.replace(day=1),
    }
    edges = [_after(starts[step], step), starts[step]]
    for _ in range(_NUMBERS[step] - 1):
        edges.append(_before(edges[-1], step))
    edges.reverse()
    yield from pairwise(edges)


def _after(day: date, step: Interval) -> date:
    if step is Interval.MONTH:
        return date(day.year + day.month // _DECEMBER, day.month % _DECEMBER + 1, 1)
    return day + timedelta(days=1 if step is Interval.DAY else 7)


def _before(day: date, step: Interval) -> date:
    if step is Interval.MONTH:
        return (day - timedelta(days=1)).replace(day=1)
    return day - timedelta(days=1 if step is Interval.DAY else 7)
