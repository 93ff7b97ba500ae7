"""What of a message is looked up, and which hits are worth showing to somebody who did not ask."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencode_memory.context.relevance import (
    FEATURES,
    MOST_CHARACTERS,
    TUNED,
    Selection,
    compute_features,
    query_of,
    select_hits,
)
from opencode_memory.models import Category, Explanation, Hit, Signal
from support.memory_files import memory

QUERY = "the gateway drops websocket frames over 64 KiB"
NOISE = (
    "Invoices are immutable once issued.",
    "Colours come from the design tokens.",
    "Migrations are written by hand.",
    "Releases are tagged on Mondays.",
    "Fixtures live beside the tests.",
)


def hit(content: str, cosine: float | None, *, rank: int = 1, **fields: object) -> Hit:
    signals = () if cosine is None else (Signal(name="meaning", raw=cosine, rank=rank, contribution=0.1, detail=""),)
    return Hit(
        memory=memory(content, rank, **fields),
        score=1 / rank,
        rank=rank,
        explanation=Explanation(signals=signals),
    )


def pool(*hits: Hit, cosine: float = 0.1) -> list[Hit]:
    return [*hits, *(hit(text, cosine, rank=100 + number) for number, text in enumerate(NOISE))]


def relevant(hits: list[Hit]) -> list[tuple[Hit, str]]:
    return [*select_hits(QUERY, hits).relevant]


@pytest.mark.parametrize(
    "text",
    [
        "yes",
        "ok go on",
        "Thanks!",
        "continue",
        "sounds good, do it",
        "1 and 3 please",
        "👍",
        "...",
        "",
        " \n ",
        "ja, mach weiter",
        "sí, gracias",
        "continue, s'il te plaît",
        "好的，继续。",
        "はい、続けてください",
        "да, продолжай",
        "그래 계속해",
        "> all of this is quoted\n> and this\n\nyes",
        "<project-memory>\nfrozen pond\n</project-memory>\nok",
        "<system-reminder>frozen pond",
        "<private>the frozen pond</private> go on",
    ],
)
def test_a_message_that_only_goes_on_asks_for_nothing(text: str) -> None:
    assert query_of(text) == ""


@pytest.mark.parametrize(
    "text", ["commit it", "run the tests", "yes, but use pnpm", "Why?", "テスト", "no tests", "继续测试"]
)
def test_a_message_that_says_anything_is_looked_up(text: str) -> None:
    assert query_of(text) == text


def test_what_a_memory_or_a_tool_put_into_a_message_is_not_looked_up() -> None:
    text = "<project-memory>\nthe frozen pond\n</project-memory>\nfix the heron\n<file path='a'>\nthe marsh\n</file>"
    assert query_of(text) == "fix the heron"


def test_of_a_long_log_the_lines_that_tell_something_are_looked_up() -> None:
    log = [f"2024-05-01T10:00:{second:02}Z INFO [worker] tick {second}" for second in range(60)]
    log[30] = "2024-05-01T10:00:30Z ERROR [db] connection to 0x7f3a refused by the frozen pond"
    query = query_of("\n".join(["the worker dies, why?", "", *log]))
    assert query == "the worker dies, why?\nERROR [db] connection to refused by the frozen pond"


def test_of_many_errors_the_first_and_the_last_stay() -> None:
    errors = [f"ERROR number {name} failed" + " in the marsh" * 3 for name in ("one", "two", "three", "four", "five")]
    told = query_of("\n".join(["help", "", *errors, *(f"INFO line {n} of a log" for n in range(20))])).split("\n")
    assert [line.split()[2] for line in told[1:]] == ["one", "four", "five"]


def test_an_error_that_repeats_is_told_once() -> None:
    log = [
        f"10:00:{n % 60:02} ERROR the heron left the marsh, and nobody knows why it failed to return" for n in range(90)
    ]
    assert query_of("\n".join(["help", *log])).count("heron") == 1


def test_code_is_pasted_and_its_fence_is_not_looked_up() -> None:
    code = "\n".join(f"heron_{number} = pond({number})" for number in range(100))
    query = query_of(f"make this shorter\n```python\n{code}\n```\nand faster")
    assert query == "make this shorter and faster\nheron_0 = pond(0)\nheron_1 = pond(1)"


def test_a_short_paste_stays_whole_without_what_differs_from_run_to_run() -> None:
    text = "CI says\n\nINFO  [alembic] Upgrade 85\nTraceback (most recent call last):\n  src/a.py:14: TypeError: naive"
    assert query_of(text) == (
        "CI says src/a.py:14: TypeError: naive\nINFO [alembic] Upgrade 85\nTraceback (most recent call last):"
    )


def test_of_a_long_text_the_beginning_and_the_end_are_looked_up() -> None:
    query = query_of("first the heron. " + "and so on and on with words. " * 100 + "At last the pond.")
    assert query.startswith("first the heron.")
    assert query.endswith("At last the pond.")
    assert MOST_CHARACTERS - 40 < len(query) <= MOST_CHARACTERS


@given(st.text(max_size=3000))
def test_any_message_gives_a_query_within_its_bound(text: str) -> None:
    assert len(query_of(text)) <= MOST_CHARACTERS


@given(st.lists(st.sampled_from(["<file", "```", ">", "| a |", "ERROR x", "    y", "word", "<", "\x1b[0m", ";" * 50])))
def test_any_mixture_of_pasted_lines_gives_a_query_within_its_bound(lines: list[str]) -> None:
    assert len(query_of("\n".join(lines * 20))) <= MOST_CHARACTERS


def test_a_hit_that_stands_out_is_shown_with_its_reason() -> None:
    good = hit("The gateway drops websocket frames over 64 KiB; raise max_frame_size.", 0.75)
    assert relevant(pool(good)) == [(good, "meaning 0.75, words 7 of 7")]


def test_the_same_hit_is_not_shown_where_everything_is_as_near() -> None:
    near = hit("Frames are logged.", 0.45)
    assert relevant(pool(near, cosine=0.1)) != []
    assert relevant(pool(near, cosine=0.45)) == []


def test_where_most_of_a_store_is_about_the_message_the_best_of_it_is_shown() -> None:
    many = [hit(f"The gateway drops websocket frames over 64 KiB, case {n}.", 0.8, rank=n) for n in range(1, 9)]
    assert relevant(pool(*many)) != []


def test_nothing_is_shown_when_nothing_stands_out() -> None:
    assert relevant(pool()) == []
    assert relevant([]) == []


def test_the_order_is_by_relevance_and_not_by_rank() -> None:
    second = hit("The gateway drops websocket frames over 64 KiB.", 0.8, rank=2)
    first = hit("A websocket gateway closes idle connections.", 0.55, rank=1)
    assert [one for one, _ in relevant(pool(first, second))] == [second, first]


def test_beside_a_good_hit_a_weaker_one_is_enough_but_not_alone() -> None:
    weak = hit("The gateway is a Go program.", 0.33, rank=2)
    assert relevant(pool(weak)) == []
    good = hit("The gateway drops websocket frames over 64 KiB.", 0.8)
    assert [one for one, _ in relevant(pool(good, weak))] == [good, weak]


def test_third_hit_needs_more_than_the_second() -> None:
    good = hit("The gateway drops websocket frames over 64 KiB.", 0.8)
    weak = [hit(f"The gateway is a Go program, part {n}.", 0.33, rank=n) for n in (2, 3)]
    chances = [TUNED.chance(one.features) for one in compute_features(QUERY, pool(good, *weak))[1:3]]
    assert all(TUNED.second <= chance < TUNED.further for chance in chances)
    selection = select_hits(QUERY, pool(good, *weak))
    assert [one for one, _ in selection.relevant] == [good, weak[0]]
    assert selection.further == (weak[1],)


def test_no_more_are_shown_than_are_rarely_wrong() -> None:
    many = [hit(f"The gateway drops websocket frames over 64 KiB, number {n}.", 0.8, rank=n) for n in range(1, 9)]
    assert len(relevant(pool(*many))) == TUNED.most


def test_weaker_hits_are_further_ones_only_beside_a_relevant_hit() -> None:
    good = hit("The gateway drops websocket frames over 64 KiB.", 0.8)
    weak = hit("The gateway has a timer.", 0.24, rank=2)
    turn = hit("The gateway has which timer?", 0.3, rank=3, category=Category.CONVERSATION)
    selection = select_hits(QUERY, pool(good, weak, turn))
    assert [one for one, _ in selection.relevant] == [good]
    assert selection.further == (weak,)
    assert select_hits(QUERY, pool(weak, turn)) == Selection()


def test_relevant_hit_beyond_the_maximum_is_a_further_one() -> None:
    many = [hit(f"The gateway drops websocket frames over 64 KiB, number {n}.", 0.8, rank=n) for n in range(1, 5)]
    selection = select_hits(QUERY, pool(*many))
    assert {one.rank for one in selection.further} == {1, 2, 3, 4} - {one.rank for one, _ in selection.relevant}


def test_a_summary_and_what_is_true_everywhere_need_more() -> None:
    said = "Websocket frames are logged."
    plain, summary, everywhere = (
        TUNED.chance(compute_features(QUERY, pool(one))[0].features)
        for one in (hit(said, 0.45), hit(said, 0.45, category=Category.CONVERSATION), hit(said, 0.45, project=None))
    )
    assert plain > summary
    assert plain > everywhere


def test_turn_that_only_repeats_the_question_is_not_shown() -> None:
    repeated = hit("Why does the gateway drop websocket frames over 64 KiB?", 0.9, category=Category.CONVERSATION)
    answer = hit("The gateway drops frames over 64 KiB because of the limit of its proxy.", 0.8, rank=2)
    assert [one.rank for one, _ in relevant(pool(repeated, answer))] == [2]


def test_one_summary_is_shown_and_below_the_statements() -> None:
    summaries = [
        hit(
            f"Goal: websocket frames of the gateway over 64 KiB. Outcome: raised limit {n} of the proxy to {n} MiB.",
            0.9,
            rank=n,
            category=Category.CONVERSATION,
        )
        for n in (1, 2)
    ]
    decision = hit("The gateway drops websocket frames over 64 KiB.", 0.7, rank=3, category=Category.DECISION)
    shown = [one.rank for one, _ in relevant(pool(*summaries, decision))]
    assert shown in ([3, 1], [3, 2])


def test_a_memory_without_a_vector_needs_many_rare_words() -> None:
    unembedded = hit("The gateway drops websocket frames over 64 KiB.", None)
    assert relevant([unembedded]) == [(unembedded, "words 7 of 7")]
    assert relevant([hit("A websocket gateway.", None)]) == []


def test_words_that_every_request_has_count_for_less_than_a_subject() -> None:
    def words(query: str) -> float:
        return compute_features(query, [hit("add a file for the gateway", 0.3)])[0].features[FEATURES.index("words")]

    assert words("gateway") > words("add a file")


def test_judging_knows_its_features() -> None:
    features = compute_features(QUERY, pool(hit("x", 0.3)))[0].features
    assert len(features) == len(FEATURES) == len(TUNED.weights)
