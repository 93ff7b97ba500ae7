"""Earlier statements are folded into the newest one on their subject."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from opencode_memory.context.folding import BEFORE_BYTES, Folded, fold, format_before
from opencode_memory.models import Category, Earlier, Memory, Trust
from support.memory_files import memory

NOW = datetime(2026, 9, 21, 14, 13, 20, tzinfo=UTC)


def said(name: str, days_ago: int, content: str | None = None) -> Memory:
    return replace(memory(content or f"{name}."), id=name, time=NOW - timedelta(days=days_ago))


OLD, MIDDLE, NEW, OTHER = said("old", 9), said("middle", 5), said("new", 1), said("other", 7)


def replaces(*memories: Memory) -> tuple[Earlier, ...]:
    return tuple(Earlier(memory=one, is_replaced=True) for one in memories)


def names(folded: Sequence[Folded]) -> list[tuple[str, tuple[str, ...]]]:
    return [(one.memory.id, tuple(before.id for before in one.before)) for one in folded]


def test_newest_statement_stands_where_the_first_of_its_subject_stood() -> None:
    folded = fold([OLD, OTHER, NEW], {"new": replaces(OLD)})
    assert names(folded) == [("new", ("old",)), ("other", ())]


def test_chain_of_statements_becomes_one() -> None:
    folded = fold([OTHER, MIDDLE, OLD, NEW], {"new": replaces(MIDDLE), "middle": replaces(OLD)})
    assert names(folded) == [("other", ()), ("new", ("middle", "old"))]


def test_replaced_memory_outside_of_the_view_is_named() -> None:
    assert names(fold([NEW], {"new": replaces(OLD)})) == [("new", ("old",))]


def test_statement_that_may_hold_elsewhere_follows_the_newer_one() -> None:
    folded = fold([OLD, OTHER, NEW], {"new": (Earlier(memory=OLD, is_replaced=False),)})
    assert names(folded) == [("new", ()), ("old", ()), ("other", ())]


def test_newer_statement_outside_of_the_view_steps_in() -> None:
    assert names(fold([OLD], {"new": replaces(OLD)}, others=[OTHER, NEW])) == [("new", ("old",))]
    assert names(fold([OTHER], {"new": replaces(OLD)}, others=[OLD, NEW])) == [("other", ())]


def test_withheld_directive_is_not_named() -> None:
    withheld = replace(OLD, category=Category.DIRECTIVE, trust=Trust.IMPORTED)
    assert names(fold([withheld, NEW], {"new": replaces(withheld)})) == [("new", ())]


def test_unrelated_memories_keep_their_order() -> None:
    assert names(fold([NEW, OLD, OTHER], {})) == [("new", ()), ("old", ()), ("other", ())]


def test_change_is_told_in_one_short_line() -> None:
    assert format_before(NEW, [], at=NOW) == ""
    assert format_before(NEW, [said("old", 9, "SQLite")], at=NOW) == "changed 1 d ago; before: SQLite"
    long = format_before(NEW, [said("old", 9, "a line\n" * 99)], at=NOW)
    assert "\n" not in long
    assert len(long.encode()) < BEFORE_BYTES + 40
