"""Times of something that repeats: the latest one that has passed, and the next one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencode_memory.text.repetition import Due, find_due, find_next

BERLIN = ZoneInfo("Europe/Berlin")
FIRST = datetime(2026, 3, 2, 9, tzinfo=UTC)


@pytest.mark.parametrize(
    ("every", "at", "expected"),
    [
        (7, datetime(2026, 3, 1, tzinfo=UTC), Due(at=FIRST)),
        (7, FIRST, Due(at=FIRST)),
        (7, datetime(2026, 3, 9, 8, tzinfo=UTC), Due(at=FIRST)),
        (7, datetime(2026, 3, 9, 9, tzinfo=UTC), Due(at=datetime(2026, 3, 9, 9, tzinfo=UTC), waits_since=FIRST)),
        (7, datetime(2026, 3, 25, tzinfo=UTC), Due(at=datetime(2026, 3, 23, 9, tzinfo=UTC), waits_since=FIRST)),
        (None, datetime(2026, 3, 25, tzinfo=UTC), Due(at=FIRST)),
        (-3, datetime(2026, 3, 25, tzinfo=UTC), Due(at=FIRST)),
    ],
)
def test_repetition_is_due_at_its_latest_time(every: int | None, at: datetime, expected: Due) -> None:
    assert find_due(FIRST, every, at=at, zone=UTC) == expected


def test_latest_time_keeps_the_time_of_day_when_clocks_change() -> None:
    first = datetime(2026, 3, 27, 9, tzinfo=BERLIN)
    # The day of the change has 23 hours.
    just_after = datetime(2026, 3, 30, 9, 0, tzinfo=BERLIN)
    assert find_due(first, 1, at=just_after, zone=BERLIN).at == just_after
    just_before = just_after - timedelta(minutes=1)
    assert find_due(first, 1, at=just_before, zone=BERLIN).at == datetime(2026, 3, 29, 9, tzinfo=BERLIN)


@given(
    every=st.integers(1, 400),
    hours=st.integers(0, 30_000),
    zone=st.sampled_from([UTC, BERLIN, ZoneInfo("America/New_York")]),
)
def test_latest_time_is_one_interval_before_the_next(every: int, hours: int, zone: ZoneInfo) -> None:
    at = FIRST + timedelta(hours=hours)
    latest = find_due(FIRST, every, at=at, zone=zone).at
    following = find_next(FIRST, every, at=at, zone=zone)
    assert latest <= at < following
    assert following.astimezone(zone).date() - latest.astimezone(zone).date() == timedelta(days=every)
