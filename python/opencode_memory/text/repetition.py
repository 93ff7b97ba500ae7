"""Times of a reminder or a review that repeats after some days, at the same time of day."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo

from opencode_memory.text.clock import add_days


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """A time at which something is due.

    Attributes:
        at: The time. Of a repetition that nobody has ended, the latest one that has passed.
        waits_since: The first time that passed, if it is an earlier one.
    """

    at: datetime
    waits_since: datetime | None = None

    @property
    def waiting(self) -> str:
        """Since when it waits, for a text; empty if it does not."""
        return "" if self.waits_since is None else f"waits since {self.waits_since.astimezone():%Y-%m-%d}"


def find_due(first: datetime, every_days: int | None, *, at: datetime, zone: tzinfo | None = None) -> Due:
    """Return when something is due that nobody has ended yet.

    Args:
        first: The time that is stored.
        every_days: Days until it is due again; None for once.
        at: The current time.
        zone: Zone of the time of day; None for the zone of this machine.
    """
    if every_days is None or every_days <= 0 or first > at:
        return Due(at=first)
    # A day may have 23 or 25 hours: count from one interval later.
    count = (at - first) // timedelta(days=every_days) + 1
    while count > 0 and (latest := add_days(first, count * every_days, zone=zone)) > at:
        count -= 1
    return Due(at=latest, waits_since=first) if count > 0 else Due(at=first)


def find_next(first: datetime, every_days: int, *, at: datetime, zone: tzinfo | None = None) -> datetime:
    """Return the first time in the future of something that repeats, but not ``first`` itself.

    Args:
        first: The time that is stored.
        every_days: Days until it is due again, at least 1.
        at: The current time.
        zone: Zone of the time of day; None for the zone of this machine.

    Raises:
        OverflowError: The time is outside of the calendar.
    """
    # A day may have 23 or 25 hours: count from one interval before.
    count = max((at - first) // timedelta(days=every_days), 1)
    while (following := add_days(first, count * every_days, zone=zone)) <= at:
        count += 1
    return following
