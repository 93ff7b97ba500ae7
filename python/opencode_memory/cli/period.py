"""Times as the command line takes them; those without a zone are in this machine's."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from opencode_memory.text.clock import parse_when


@dataclass(frozen=True, slots=True)
class Period:
    """From a moment, up to a moment; None where it is open."""

    since: datetime | None
    until: datetime | None


def parse_moment(text: str | None, *, field: str, at: datetime) -> datetime | None:
    """Read one moment; None stays None."""
    return None if text is None else parse_when(text, field=field, at=at)


def parse_period(since: str | None, until: str | None, *, at: datetime) -> Period:
    """Read ``--since`` and ``--until``; a day given as the end belongs to the period."""
    return Period(
        since=parse_moment(since, field="--since", at=at),
        until=None if until is None else parse_when(until, field="--until", at=at, end_of_day=True),
    )
