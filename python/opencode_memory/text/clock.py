"""Parses and formats times.

``now`` is the only place in the Python code that reads the current wall-clock time. All other code takes times as
arguments, so that tests need no patching. Times are aware ``datetime`` objects in UTC.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Final

from opencode_memory.errors import InvalidInputError

_SPAN: Final = re.compile(r"(?P<count>\d{1,6})\s*(?P<unit>[a-z]+)(?:\s+ago)?")
_SECONDS: Final = {"s": 1, "min": 60, "h": 3600, "d": 86_400, "w": 604_800, "month": 2_629_746, "y": 31_556_952}
_UNITS: Final = {
    "s": "s", "sec": "s", "second": "s",
    "min": "min", "minute": "min", "m": "min",
    "h": "h", "hour": "h",
    "d": "d", "day": "d",
    "w": "w", "week": "w",
    "mo": "month", "month": "month",
    "y": "y", "year": "y",
}  # fmt: skip
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_ACCEPTED: Final = "2026-03-31, 2026-03-31T14:00, today, yesterday, or a span such as 3d, 2w, 6h"
_ACCEPTED_DUE: Final = "2026-03-31, 2026-03-31T14:00, tomorrow, or a span from now such as 3d, 2w, 6h"


def now() -> datetime:
    """Return the current time. A clock before 1970 counts as one that stands at its beginning, as in the core."""
    return max(datetime.now(UTC), _EPOCH)


def to_ms(moment: datetime) -> int:
    """Convert an aware ``datetime`` to UTC milliseconds, rounded down.

    >>> to_ms(datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC))
    253402300799999
    """
    # Not moment.timestamp() * 1000: a float does not hold the milliseconds of the year 9999.
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def parse_when(
    text: str,
    *,
    field: str,
    at: datetime,
    zone: tzinfo | None = None,
    end_of_day: bool = False,
    accepted: str = _ACCEPTED,
) -> datetime:
    """Parse a time as users type it.

    Args:
        text: An ISO 8601 date or time, ``today``, ``yesterday``, ``now``, or a span before ``at`` (``3d``, ``2w``).
        field: The name of the argument, for the error.
        at: The current time.
        zone: Zone of dates and times that name none; None for the zone of this machine.
        end_of_day: Whether a date without a time means its last millisecond instead of its first.
        accepted: The accepted forms, for the error.

    Returns:
        The time in UTC.

    Raises:
        InvalidInputError: The text has another form, is outside the calendar, or names a time that the zone skips.
    """
    words = " ".join(text.strip().lower().split())
    try:
        if words == "now":
            return at
        if (span := parse_span(words)) is not None:
            return at - span
        today = at.astimezone(zone).date()
        day = {"today": today, "yesterday": today - timedelta(days=1)}.get(words) or _iso_day(words)
        if day is not None:
            midnight = datetime(day.year, day.month, day.day)  # noqa: DTZ001  the zone is attached by _in_utc
            return _in_utc(midnight + timedelta(days=1, milliseconds=-1) if end_of_day else midnight, zone)
        moment = datetime.fromisoformat(text.strip())
        in_utc = _in_utc(moment, zone)
        local = in_utc.astimezone(zone).replace(tzinfo=None)
    except (ValueError, OverflowError) as error:
        message = f"{field}: {text!r} is not a date or time; accepted are {accepted}"
        raise InvalidInputError(message, field=field) from error
    if moment.tzinfo is None and local != moment:
        message = f"{field}: {text!r} does not exist, because clocks were put forward then; try {local.isoformat()}"
        raise InvalidInputError(message, field=field)
    return in_utc


def parse_due(text: str, *, field: str, at: datetime, zone: tzinfo | None = None) -> datetime:
    """Parse a time in the future: a date, a time, ``tomorrow``, or a span from now such as ``3d`` or ``in 2 weeks``.

    Raises:
        InvalidInputError: As for ``parse_when``, or the time is not in the future.
    """
    words = " ".join(text.strip().lower().split())
    # "3d ago" is in the past, which parse_when finds.
    span = None if words.endswith(" ago") else parse_span(words.removeprefix("in "))
    if words == "tomorrow":
        text = str(at.astimezone(zone).date() + timedelta(days=1))
    try:
        due = at + span if span is not None else parse_when(text, field=field, at=at, zone=zone, accepted=_ACCEPTED_DUE)
    except OverflowError as error:
        raise InvalidInputError(f"{field}: {text!r} is after the year 9999", field=field) from error
    if due <= at:
        raise InvalidInputError(f"{field}: {text!r} is not in the future", field=field)
    return due


def parse_span(text: str) -> timedelta | None:
    """Parse a span of time such as ``3d``, ``90 min`` or ``2 weeks ago``; None if the text is not a span."""
    match = _SPAN.fullmatch(text.strip().lower())
    if match is None:
        return None
    name = match["unit"]
    unit = _UNITS.get(name) or _UNITS.get(name.removesuffix("s"))
    return None if unit is None else timedelta(seconds=int(match["count"]) * _SECONDS[unit])


def age(moment: datetime, *, at: datetime) -> str:
    """Format the time since a moment in the largest unit that fits: ``3 d ago``.

    >>> age(datetime(2026, 3, 1, tzinfo=UTC), at=datetime(2026, 3, 4, tzinfo=UTC))
    '3 d ago'
    """
    # The store keeps milliseconds, so what is due in 3 d is due a little earlier.
    seconds = round((at - moment).total_seconds())
    if abs(seconds) < 60:  # noqa: PLR2004  a minute
        return "now"
    unit = max((unit for unit, size in _SECONDS.items() if size <= abs(seconds)), key=_SECONDS.__getitem__)
    count = abs(seconds) // _SECONDS[unit]
    plural = "s" if unit == "month" and count > 1 else ""
    return f"{count} {unit}{plural} ago" if seconds > 0 else f"in {count} {unit}{plural}"


def add_days(moment: datetime, days: int, *, zone: tzinfo | None = None) -> datetime:
    """Return the same time of another day, also if clocks are put forward or back between both.

    Args:
        moment: A time.
        days: Number of days.
        zone: Zone of the time of day; None for the zone of this machine.

    Raises:
        OverflowError: The time is outside of the calendar.
    """
    return _in_utc(moment.astimezone(zone).replace(tzinfo=None) + timedelta(days=days), zone)


def _iso_day(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def _in_utc(moment: datetime, zone: tzinfo | None) -> datetime:
    if moment.tzinfo is None and zone is not None:
        moment = moment.replace(tzinfo=zone)
    # A naive time takes the machine's zone of that day, including daylight saving.
    return moment.astimezone(UTC)
