"""Results for a reader: where the list ends, and where a memory comes from."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from opencode_memory.context.provenance import describe_source, find_headings
from opencode_memory.context.results import cut
from opencode_memory.models import Hit, Source
from support.memory_files import memory


def hits(*judged: tuple[float, float | None]) -> list[Hit]:
    """Return hits with these scores and relevances, best first."""
    return [
        Hit(memory=memory("A note."), score=score, rank=rank, relevance=relevance)
        for rank, (score, relevance) in enumerate(judged, start=1)
    ]


@pytest.mark.parametrize(
    ("judged", "kept"),
    [
        ([(1.0, 0.6), (0.6, 0.1), (0.4, 0.1), (0.9, 0.9)], 2),
        ([(1.0, 0.6), (0.6, 0.3), (0.4, 0.3), (0.6, 0.3), (0.9, 0.9)], 3),
        ([(1.0, 0.2), (0.9, 0.15), (0.8, 0.15), (0.8, 0.15), (0.8, 0.15)], 3),
        ([(1.0, 0.3), (0.9, 0.3), (0.8, 0.3), (0.8, 0.3), (0.8, 0.3), (0.8, 0.3)], 5),
        ([(1.0, 0.4), (0.9, 0.3), (0.8, 0.3), (0.8, 0.3), (0.8, 0.3), (0.8, 0.3)], 6),
        ([(1.0, 0.6), (1.0, None), (0.1, 0.1)], 2),
        ([], 0),
    ],
    ids=[
        "drop among the first",
        "drop behind the first",
        "weak answer",
        "weak hits",
        "strong best",
        "contradicting hit",
        "no hit",
    ],
)
def test_list_ends_where_relevance_ends(judged: list[tuple[float, float | None]], kept: int) -> None:
    assert cut(hits(*judged)) == hits(*judged)[:kept]


def test_note_is_named_by_file_line_and_headings() -> None:
    section = replace(
        memory("Run the script."),
        topic="file:docs/deploy.md#Deploying/Rollback~2",
        source=Source(file="docs/deploy.md", line=12),
    )
    assert describe_source(section) == "docs/deploy.md:12 > Deploying > Rollback"
    assert describe_source(replace(section, topic="deploying")) == "docs/deploy.md:12"
    assert find_headings(replace(section, topic="file:other.md#Deploying")) == ()


def test_statement_is_named_by_session_and_day() -> None:
    said = replace(memory("We deploy on Monday."), session="ses_1", time=datetime(2026, 9, 20, 12, tzinfo=UTC))
    assert describe_source(said) == "session ses_1, 2026-09-20"
    assert describe_source(replace(said, session=None)) == ""
    assert describe_source(replace(said, session=None, source=Source(session="ses_2"))).startswith("session ses_2, ")


def test_source_stays_on_one_line() -> None:
    hostile = replace(memory("x"), source=Source(file="a\n## b\x1b[2J" * 99, line=1))
    assert "\n" not in describe_source(hostile)
    assert "\x1b" not in describe_source(hostile)
