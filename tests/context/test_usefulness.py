"""Whether memories that were shown were of use, and the small say that this has."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from opencode_memory.context.usefulness import is_taken_up, rank_by_usefulness, terms
from opencode_memory.models import Hit
from opencode_memory.store.ledger import Usefulness
from opencode_memory.text.formatting import short_id
from support.memory_files import memory

ID = "01920000-0000-7000-8000-0000000000ab"
WALRUS = "The walrus build needs make -j1: parallel builds corrupt the archive."


@pytest.mark.parametrize(
    "done",
    [
        "I run make with one job, since parallel builds corrupt the walrus archive.",
        "bash make -j1 && tar -cf walrus-archive.tar builds\nparallel corrupt archive walrus",
        f"As noted in {short_id(ID)}, done.",
    ],
)
def test_what_the_agent_repeats_or_names_was_taken_up(done: str) -> None:
    assert is_taken_up(WALRUS, id=ID, asked="How do I build it?", done=done)


@pytest.mark.parametrize(
    "done",
    [
        "",
        "Done.",
        "I use the archive.",
        "The user uses the same file, and now it runs.",
        "Parallel lines never meet.",
        "The walrus archive.",
    ],
)
def test_what_it_silently_heeds_or_never_mentions_counts_as_nothing(done: str) -> None:
    assert not is_taken_up(WALRUS, id=ID, asked="", done=done)


def test_words_that_the_user_had_written_are_no_sign() -> None:
    done = "The walrus build: parallel builds corrupt the archive, you say?"
    assert is_taken_up(WALRUS, id=ID, asked="", done=done)
    assert not is_taken_up(
        WALRUS, id=ID, asked="Do parallel builds corrupt the walrus archive? What of make -j1?", done=done
    )


def test_a_memory_of_common_words_is_taken_up_by_nobody() -> None:
    assert not is_taken_up(
        "You should always run all of the tests", id=ID, asked="", done="I run all the tests, always."
    )
    assert not is_taken_up("\u4e2d\u6587", id=ID, asked="", done="\u4e2d\u6587")


def test_terms_are_what_tells_a_text_from_others() -> None:
    assert terms("Run `npm test` in src/app.ts: see (https://x.example/a).") == {
        "npm",
        "src/app.ts",
        "https://x.example/a",
    }


# Its say


def hits(many: int) -> list[tuple[Hit, str]]:
    return [
        (Hit(memory=memory(f"text {number}", number), score=1.0, rank=number), "why") for number in range(1, many + 1)
    ]


def order(found: list[tuple[Hit, str]], **known: Usefulness) -> list[int]:
    by_id = {memory("", int(name[1:])).id: value for name, value in known.items()}
    return [hit.rank for hit, _ in rank_by_usefulness(found, by_id)]


def seen(shown: int, used: int = 0, contradicted: int = 0) -> Usefulness:
    return Usefulness(shown=shown, used=used, contradicted=contradicted)


def test_where_nothing_is_known_the_most_relevant_stays_first() -> None:
    assert order(hits(5)) == [1, 2, 3, 4, 5]
    assert order(hits(5), m3=seen(0)) == [1, 2, 3, 4, 5]
    assert order([]) == []


def test_one_showing_says_little() -> None:
    assert order(hits(3), m2=seen(1)) == [1, 2, 3]
    assert order(hits(3), m2=seen(1, used=1)) == [1, 2, 3]


@pytest.mark.parametrize(("place", "moved"), [(2, [2, 1, 3]), (3, [1, 3, 2])])
def test_what_was_often_of_use_moves_up_by_one_place(place: int, moved: list[int]) -> None:
    assert order(hits(3), **{f"m{place}": seen(10, used=10)}) == moved


def test_what_was_contradicted_or_never_of_use_moves_down() -> None:
    assert order(hits(3), m1=seen(4, contradicted=1)) == [2, 1, 3]
    assert order(hits(3), m2=seen(4, contradicted=1)) == [1, 3, 2]
    assert order(hits(3), m1=seen(20)) == [1, 2, 3]
    assert order(hits(3), m1=seen(20), m2=seen(4, used=2)) == [2, 1, 3]


@pytest.mark.parametrize(
    ("known", "stays"), [((2, 0, 2), False), ((9, 1, 2), False), ((9, 2, 2), True), ((9, 0, 1), True)]
)
def test_what_was_contradicted_more_often_than_used_is_left_out(known: tuple[int, int, int], stays: bool) -> None:
    assert (1 in order(hits(2), m1=seen(*known))) == stays


COUNTS = st.integers(0, 1_000)


@given(st.lists(st.tuples(COUNTS, COUNTS, COUNTS), min_size=1, max_size=12))
@example([(1_000, 1_000, 0), *[(1_000, 0, 0)] * 6])
def test_its_say_is_bounded(counts: list[tuple[int, int, int]]) -> None:
    known = {
        f"m{number}": seen(used + contradicted + silent, used, contradicted)
        for number, (used, contradicted, silent) in enumerate(counts, start=1)
    }
    ordered = order(hits(len(counts)), **known)
    wrong = {
        number for number, (used, contradicted, _) in enumerate(counts, start=1) if contradicted >= max(2, used + 1)
    }
    assert sorted(ordered) == [number for number in range(1, len(counts) + 1) if number not in wrong]
    if 1 in ordered and len(counts) > 3:
        # What is most relevant is never buried.
        assert ordered.index(1) <= 2
