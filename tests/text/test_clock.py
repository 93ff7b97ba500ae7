"""Time as people write and read it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencode_memory.errors import InvalidInputError
from opencode_memory.text.clock import age, parse_due, parse_span, parse_when

AT = datetime(2026, 3, 10, 12, tzinfo=UTC)
EAST = timezone(timedelta(hours=2))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-03-01", datetime(2026, 2, 28, 22, tzinfo=UTC)),
        ("20260301", datetime(2026, 2, 28, 22, tzinfo=UTC)),
        ("2026-03-01T10:00", datetime(2026, 3, 1, 8, tzinfo=UTC)),
        ("2026-03-01 10:00", datetime(2026, 3, 1, 8, tzinfo=UTC)),
        ("2026-03-01T10:00Z", datetime(2026, 3, 1, 10, tzinfo=UTC)),
        ("2026-03-01T10:00-05:00", datetime(2026, 3, 1, 15, tzinfo=UTC)),
        ("today", datetime(2026, 3, 9, 22, tzinfo=UTC)),
        ("Yesterday", datetime(2026, 3, 8, 22, tzinfo=UTC)),
        ("now", AT),
        ("3d", AT - timedelta(days=3)),
        ("2 weeks ago", AT - timedelta(days=14)),
        ("90m", AT - timedelta(minutes=90)),
        ("1 hour", AT - timedelta(hours=1)),
    ],
)
def test_dates_words_and_spans_are_read_in_the_callers_zone(text: str, expected: datetime) -> None:
    assert parse_when(text, field="since", at=AT, zone=EAST) == expected


def test_a_day_may_mean_its_end() -> None:
    end = parse_when("2026-03-01", field="until", at=AT, zone=UTC, end_of_day=True)
    assert end == datetime(2026, 3, 1, 23, 59, 59, 999_000, tzinfo=UTC)


@pytest.mark.parametrize("text", ["", "soon", "31.3.2026", "2026-13-01", "3 parsecs", "999999y", "0001-01-01", "\0"])
def test_what_is_no_moment_is_refused_with_what_is_accepted(text: str) -> None:
    with pytest.raises(InvalidInputError, match=r"since: .* accepted are") as caught:
        parse_when(text, field="since", at=AT, zone=EAST)
    assert caught.value.field == "since"


@given(st.text(max_size=30))
def test_no_text_breaks_the_reader(text: str) -> None:
    parse_span(text)
    try:
        parse_when(text, field="since", at=AT)
    except InvalidInputError:
        return


@pytest.mark.parametrize(
    ("before", "expected"),
    [(0, "now"), (59, "now"), (60, "1 min ago"), (7200, "2 h ago"), (86400 * 3, "3 d ago"), (86400 * 20, "2 w ago"),
     (86400 * 70, "2 months ago"), (86400 * 800, "2 y ago"), (-7200, "in 2 h")],
)  # fmt: skip
def test_age_is_said_in_the_largest_unit_that_fits(before: int, expected: str) -> None:
    assert age(AT - timedelta(seconds=before), at=AT) == expected


def test_age_of_a_span_that_the_store_rounded_down_is_the_span() -> None:
    assert age(AT + timedelta(days=3, microseconds=-999), at=AT) == "in 3 d"


BERLIN = ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize("text", ["2026-03-29T02:00", "2026-03-29T02:30:00", "2026-03-29 02:59:59"])
def test_time_that_a_zone_skips_is_refused_with_the_next_one(text: str) -> None:
    with pytest.raises(InvalidInputError, match=r"--time: .* does not exist.*try 2026-03-29T03:") as failed:
        parse_when(text, field="--time", at=AT, zone=BERLIN)
    assert failed.value.field == "--time"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-03-29T01:59:59", datetime(2026, 3, 29, 0, 59, 59, tzinfo=UTC)),
        ("2026-03-29T03:00", datetime(2026, 3, 29, 1, 0, tzinfo=UTC)),
        ("2026-10-25T02:30", datetime(2026, 10, 25, 0, 30, tzinfo=UTC)),
        ("2026-03-29T02:30:00+01:00", datetime(2026, 3, 29, 1, 30, tzinfo=UTC)),
    ],
)
def test_times_around_a_change_of_clocks_are_read(text: str, expected: datetime) -> None:
    assert parse_when(text, field="--time", at=AT, zone=BERLIN) == expected


def test_day_whose_midnight_is_skipped_begins_with_its_first_time() -> None:
    day = parse_when("2018-11-04", field="since", at=AT, zone=ZoneInfo("America/Sao_Paulo"))
    assert day == datetime(2018, 11, 4, 3, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3d", AT + timedelta(days=3)),
        ("in 2 weeks", AT + timedelta(days=14)),
        ("tomorrow", datetime(AT.year, AT.month, AT.day, tzinfo=UTC) + timedelta(days=1)),
        ("2999-01-01", datetime(2999, 1, 1, tzinfo=UTC)),
    ],
)
def test_time_that_is_due_is_read_forward(text: str, expected: datetime) -> None:
    assert parse_due(text, field="when", at=AT, zone=UTC) == expected


@pytest.mark.parametrize(
    "text", ["yesterday", "3d ago", "2 Weeks  ago", "now", "2001-01-01", "0d", "soon", "in", "999999y", ""]
)
def test_time_that_is_not_in_the_future_is_refused(text: str) -> None:
    with pytest.raises(InvalidInputError) as error:
        parse_due(text, field="when", at=AT, zone=UTC)
    assert error.value.field == "when"
