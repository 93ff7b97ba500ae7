"""Selection of the memories that a file shows, their order, and the limit of lines."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from opencode_memory.memory_file.headings import BY_LETTER
from opencode_memory.memory_file.selection import FEWEST_LINES, KeptBullet, body_of, memories_to_show
from opencode_memory.models import Category, Memory, Trust
from support.memory_files import AT, memory, rendered

FACT = BY_LETTER["f"]


class Shelf:
    """The part of a store that the selection uses: its memories, newest first."""

    def __init__(self, memories: list[Memory]) -> None:
        self._memories = memories

    def list(self, *, category: Category | None = None, pinned: bool = False, limit: int, **_: object) -> list[Memory]:
        found = [one for one in self._memories if category in (None, one.category) and (one.pinned or not pinned)]
        return found[:limit]


def chosen(memories: list[Memory], most: int = 100) -> list[str]:
    found = memories_to_show(Shelf(memories), project="app", with_global=False, most=most, at=AT)
    return [one.content for one in found]


def test_most_useful_kinds_come_first() -> None:
    memories = [
        memory("event", 1, category=Category.EVENT),
        memory("fact", 2),
        memory("solution", 3, category=Category.SOLUTION),
        memory("noted", 4, category=Category.DIRECTIVE, trust=Trust.AGENT),
        memory("ordered", 5, category=Category.DIRECTIVE),
        memory("pinned idea", 6, category=Category.IDEA, pinned=True),
        memory("talk", 7, category=Category.CONVERSATION, pinned=True),
        memory("convention", 8, category=Category.CONVENTION),
        memory("done", 9, category=Category.BLOCKER, tags=("resolved",)),
        memory("blocker", 10, category=Category.BLOCKER),
        memory("over", 11, expires_at=AT),
    ]
    expected = ["pinned idea", "ordered", "convention", "solution", "blocker", "fact", "event"]
    assert chosen(memories) == expected


def test_within_a_kind_use_counts_before_age_and_small_differences_of_use_do_not() -> None:
    memories = [
        memory("old, used 30 times", 1, uses=30, updated_at=AT - timedelta(days=9)),
        memory("old, used once", 2, uses=1, updated_at=AT - timedelta(days=9)),
        memory("new, used twice", 3, uses=2),
        memory("newest, not used", 4, updated_at=AT + timedelta(days=1)),
        memory("new, used 3 times", 5, uses=3, updated_at=AT - timedelta(days=1)),
    ]
    assert chosen(memories) == [
        "old, used 30 times",
        "new, used twice",
        "new, used 3 times",
        "old, used once",
        "newest, not used",
    ]


def test_selection_reads_no_more_memories_than_needed() -> None:
    memories = [memory(f"convention {number}", number, category=Category.CONVENTION) for number in range(5)]
    assert len(chosen([*memories, memory("fact", 9)], most=5)) == 5


@given(
    st.integers(min_value=FEWEST_LINES, max_value=60),
    st.lists(st.tuples(st.sampled_from(sorted(Category)), st.text(max_size=20)), max_size=40),
)
def test_part_has_at_most_so_many_lines_and_no_memory_twice(most: int, what: list[tuple[Category, str]]) -> None:
    memories = [memory(content, number, category=category) for number, (category, content) in enumerate(what)]
    body = body_of([*memories, *memories[:0]], max_lines=most)
    assert len(body.lines) + 2 <= most
    assert len(set(body.shown)) == len(body.shown)
    assert sum(line.startswith("- ") for line in body.lines) == len(body.shown)


def test_fewest_lines_hold_a_memory() -> None:
    assert len(body_of([memory("x")], max_lines=FEWEST_LINES).shown) == 1
    assert body_of([memory("x")], max_lines=FEWEST_LINES - 1).shown == ()


def test_first_memories_get_the_available_lines() -> None:
    memories = [
        memory("first", 1, category=Category.IDEA),
        memory("second", 2),
        memory("third", 3, category=Category.IDEA),
    ]
    body = body_of(memories, max_lines=6)
    assert body.lines[1] == "## Ideas"
    assert [line.split(" <!--")[0] for line in body.lines[2:]] == ["- first", "- third"]


def test_memory_without_visible_text_is_left_out() -> None:
    assert rendered([memory("\u202e\u2066")]).lines == ()


def test_memories_with_equal_short_ids_are_named_by_the_full_id() -> None:
    one = memory("one", 1, id="01920000-0000-7000-8000-00009c1d7b2e")
    two = memory("two", 2, id="01930000-0000-7000-8000-00009c1d7b2e")
    three = memory("three", 3)
    lines = rendered([one, two, three]).lines
    assert f"m:{one.id} " in lines[2]
    assert f"m:{two.id} " in lines[3]
    assert "m:00000003 " in lines[4]


def test_kept_bullet_stands_where_it_stood_and_in_place_of_its_memory() -> None:
    kept = KeptBullet(FACT, ("- as written", "  with more"), memory("x", 1).id)
    body = body_of([memory("x", 1), memory("y", 2)], max_lines=100, kept=[kept])
    assert body.lines[1:] == ("## Facts", rendered([memory("y", 2)]).lines[2], "- as written", "  with more")
    assert set(body.shown) == {memory("x", 1).id, memory("y", 2).id}


def test_kept_bullets_are_written_even_without_room() -> None:
    kept = KeptBullet(FACT, ("- as written",), None)
    assert body_of([memory("y", 2)], max_lines=5, kept=[kept]).lines == ("", "## Facts", "- as written")
