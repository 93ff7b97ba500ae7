"""Metrics of the quality benchmark, repairs of annotations, and the comparison of two runs."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from benches.quality import compare as compare_command
from benches.quality.cached_embedder import CachedEmbedder
from benches.quality.comparison import compare
from benches.quality.conversations import Conversation, DataError, Question
from benches.quality.data_sets import beam, devmembench, locomo, longmemeval, sde
from benches.quality.in_sight import Sight, format_intervals, total
from benches.quality.metrics import (
    EMPTY,
    METRICS,
    MRR,
    NDCG_10,
    RECALL_5,
    RECALL_10,
    SESSION_HIT_5,
    SESSION_RECALL_10,
    RankedTurn,
    measure,
)
from benches.quality.results import QuestionResult, judged, read_results, write_results
from benches.quality.significance import interval, p_value
from support.embedders import WordEmbedder

ASKED = Conversation("c", (), (), datetime(2026, 1, 1, tzinfo=UTC))


def ranked(*turns: str) -> tuple[RankedTurn, ...]:
    """Return hits of turns such as ``s1:3``; the session is the part before the colon."""
    return tuple(RankedTurn(turn, turn.split(":")[0], 1 / rank) for rank, turn in enumerate(turns, 1))


def result(id: str, hits: tuple[RankedTurn, ...], *, text: str = "?", evidence: str = "s1:1") -> QuestionResult:
    """Return the result of a question whose answer is in one turn."""
    return judged("locomo", ASKED, Question(id, "any", text, frozenset({evidence}), frozenset({"s1"})), hits)


def write(folder: Path, name: str, content: object) -> Path:
    """Write a JSON file of a question set. Return its folder."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), encoding="utf-8")
    return folder


def test_perfect_answer_has_metrics_of_one() -> None:
    figures = measure(ranked("s1:1", "s2:4"), {"s1:1", "s2:4"}, {"s1", "s2"})
    assert figures == dict.fromkeys(METRICS, 1.0)


def test_empty_answer_has_metrics_of_zero() -> None:
    assert measure((), {"s1:1"}, {"s1"}) == dict.fromkeys(METRICS, 0.0)


def test_recall_is_share_of_evidence_among_first_hits() -> None:
    hits = ranked("x:1", "x:2", "x:3", "x:4", "s1:1", "s2:1", "x:5", "x:6", "x:7", "x:8", "s3:1")
    figures = measure(hits, {"s1:1", "s2:1", "s3:1"}, {"s1", "s2", "s3"})
    assert (figures[RECALL_5], figures[RECALL_10]) == pytest.approx((1 / 3, 2 / 3))
    assert figures[MRR] == pytest.approx(1 / 5)


def test_gain_is_discounted_by_rank_and_relative_to_ideal_order() -> None:
    figures = measure(ranked("x:1", "s1:1", "x:2", "s1:2"), {"s1:1", "s1:2"}, {"s1"})
    best = 1 + 1 / math.log2(3)
    assert figures[NDCG_10] == pytest.approx((1 / math.log2(3) + 1 / math.log2(5)) / best)


def test_session_is_found_by_any_of_its_turns() -> None:
    figures = measure(ranked("s1:7", "s1:8"), {"s1:1", "s2:1"}, {"s1", "s2"})
    assert (figures[RECALL_10], figures[SESSION_RECALL_10], figures[SESSION_HIT_5]) == (0.0, 0.5, 1.0)


def test_session_metrics_count_each_session_once() -> None:
    four = ranked("a:1", "a:2", "b:1", "b:2", "c:1", "d:1", "d:2")
    assert measure((*four, *ranked("s1:1")), {"s1:1"}, {"s1"})[SESSION_HIT_5] == 1.0
    assert measure((*four, *ranked("e:1", "s1:1")), {"s1:1"}, {"s1"})[SESSION_HIT_5] == 0.0


def test_second_hit_in_a_session_gains_zero_without_evidence_turns() -> None:
    once = measure(ranked("s1:1", "x:1", "x:2"), frozenset(), {"s1", "s2"})
    assert measure(ranked("s1:1", "s1:2", "s1:3"), frozenset(), {"s1", "s2"}) == once
    assert once[RECALL_5] == 0.5


@pytest.mark.parametrize(
    ("evidence", "ids"),
    [
        (["D1:3"], ["D1:3"]),
        (["D8:6; D9:17"], ["D8:6", "D9:17"]),
        (["D:11:26"], ["D11:26"]),
        (["D9:1 D4:4 D4:6"], ["D9:1", "D4:4", "D4:6"]),
        (["D1:18", "D", "D1:20"], ["D1:18", "D1:20"]),
        ([], []),
    ],
)
def test_dialog_ids_are_parsed_in_all_published_forms(evidence: list[str], ids: list[str]) -> None:
    assert locomo.dialog_ids(evidence) == ids


@pytest.mark.parametrize(
    ("source", "ids"),
    [
        ([24, 58], ["24", "58"]),
        ([116, [136, 138]], ["116", "136", "138"]),
        ({"first_statement": [58], "second_statement": [24, [26]]}, ["58", "24", "26"]),
        ([], []),
    ],
)
def test_message_ids_are_parsed_from_lists_and_mappings(source: object, ids: list[str]) -> None:
    assert beam.message_ids(source) == ids


@pytest.mark.parametrize("note", ["->-> 1,3", " ->->  3,8", "\n->-> 2,N/A", ""])
def test_note_of_the_authors_is_removed_from_message(note: str) -> None:
    assert beam.without_plan_reference(f"Is a -> b right?{note}") == "Is a -> b right?"


def test_locomo_turns_have_dates_and_captions(tmp_path: Path) -> None:
    said = {"speaker": "Ann", "dia_id": "D2:1", "text": "Look!", "blip_caption": "a photo of a walrus"}
    dialog = {
        "speaker_a": "Ann",
        "session_2_date_time": "12:48 am on 1 February, 2023",
        "session_2": [said],
        "session_10_date_time": "1:56 pm on 8 May, 2023",
        "session_10": [{"speaker": "Bob", "dia_id": "D10:1", "text": "Hm."}],
        "session_11_date_time": "1:56 pm on 9 May, 2023",
    }
    asked = [
        {"question": "What?", "evidence": ["D2:1; D10:1", "D7:7"], "category": 1},
        {"question": "Why?", "evidence": [], "category": 3},
    ]
    folder = write(tmp_path, "locomo.json", [{"sample_id": "conv-1", "conversation": dialog, "qa": asked}])
    (conversation,) = locomo.load(folder)
    assert [(turn.id, turn.session, turn.text) for turn in conversation.turns] == [
        ("D2:1", "session_2", "Look! and shared a photo of a walrus."),
        ("D10:1", "session_10", "Hm."),
    ]
    assert conversation.turns[0].time == datetime(2023, 2, 1, 0, 48, tzinfo=UTC)
    assert conversation.asked_at > conversation.turns[1].time
    assert [(question.category, question.turns) for question in conversation.questions] == [
        ("multi-hop", {"D2:1", "D10:1"}),
        ("open-domain", frozenset()),
    ]


def test_beam_batches_are_sessions_and_abstention_has_no_evidence(tmp_path: Path) -> None:
    batches = [
        {
            "batch_number": number,
            "turns": [
                [{"role": "user", "id": 2 * number, "content": "Hi ->-> 1,1", "time_anchor": f"March-1{number}-2024"}],
                [{"role": "assistant", "id": 2 * number + 1, "content": "Hello"}],
            ],
        }
        for number in (1, 2)
    ]
    write(tmp_path / "1", "chat.json", batches)
    asked = {
        "abstention": [{"question": "Who?"}],
        "knowledge_update": [{"question": "?", "source_chat_ids": {"a": [5]}}],
    }
    write(tmp_path / "1", "probing_questions.json", asked)
    (conversation,) = beam.load(tmp_path)
    assert [(turn.id, turn.session, turn.position, turn.text, turn.time.day) for turn in conversation.turns] == [
        ("2", "batch-1", 0, "Hi", 11),
        ("3", "batch-1", 1, "Hello", 11),
        ("4", "batch-2", 0, "Hi", 12),
        ("5", "batch-2", 1, "Hello", 12),
    ]
    assert [(question.is_answerable, question.turns, question.sessions) for question in conversation.questions] == [
        (False, frozenset(), frozenset()),
        (True, {"5"}, {"batch-2"}),
    ]


def test_longmemeval_question_has_its_own_conversation_and_date(tmp_path: Path) -> None:
    one = {
        "question_type": "multi-session",
        "question": "Where?",
        "question_date": "2023/05/30 (Tue) 23:40",
        "haystack_session_ids": ["a", "b", "a"],
        "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/21 (Sun) 02:21", "2023/05/20 (Sat) 02:21"],
        "haystack_sessions": [
            [{"role": "user", "content": "In Oslo", "has_answer": True}, {"role": "assistant", "content": " "}],
            [{"role": "user", "content": "Hi"}],
            [{"role": "user", "content": "In Oslo", "has_answer": True}],
        ],
        "answer_session_ids": ["a"],
    }
    folder = write(tmp_path, "longmemeval_s.json", [one | {"question_id": "q1"}, one | {"question_id": "q2_abs"}])
    asked, abstention = longmemeval.load(folder)
    assert [turn.id for turn in asked.turns] == ["a:0", "b:0"]
    assert asked.asked_at == datetime(2023, 5, 30, 23, 40, tzinfo=UTC)
    assert (asked.questions[0].turns, asked.questions[0].sessions) == ({"a:0"}, {"a"})
    assert not abstention.questions[0].is_answerable


def test_sde_bench_asks_amended_tasks_in_a_store_without_the_tasks_they_repeat(tmp_path: Path) -> None:
    def chat(text: str) -> list[dict[str, str]]:
        return [{"role": "user", "text": text}]

    def task(name: str, conversations: object) -> dict[str, object]:
        return {"task_id": name, "bug_report": f"{name} fails", "conversations": conversations}

    tasks = [task("a", chat("a")), task("b", chat("b")), task("a-amended", [chat("first"), chat("then")])]
    write(tmp_path, "decoys.json", [{"topic": "x", "turns": chat("decoy")}])
    once, amended = sde.load(write(tmp_path, "tasks.json", tasks))
    assert {turn.session for turn in once.turns} == {"a/0", "b/0", "decoy-0/0"}
    assert [(question.id, question.sessions) for question in once.questions] == [("a", {"a/0"}), ("b", {"b/0"})]
    assert {turn.session for turn in amended.turns} == {"b/0", "a-amended/0", "a-amended/1", "decoy-0/0"}
    assert [question.sessions for question in amended.questions] == [{"a-amended/1"}]
    time = {turn.session: turn.time for turn in amended.turns}
    assert time[sde.earlier_session("a-amended/1")] < time["a-amended/1"]


@pytest.mark.parametrize(
    ("module", "file"), [(locomo, "locomo.json"), (longmemeval, "longmemeval_oracle.json"), (sde, "tasks.json")]
)
def test_file_with_another_layout_is_refused_by_name(tmp_path: Path, module, file: str) -> None:
    samples: list[object] = [{"what": "else"}, "text", []]
    for sample in samples:
        with pytest.raises(DataError, match="layout"):
            list(module.load(write(tmp_path, file, [sample])))


@pytest.mark.parametrize("module", [locomo, beam, devmembench, longmemeval, sde])
def test_missing_set_is_reported_with_its_path(tmp_path: Path, module) -> None:
    with pytest.raises(DataError, match="absent"):
        list(module.load(tmp_path / "absent"))


def test_results_survive_writing_and_reading(tmp_path: Path) -> None:
    abstention = Question("q3", "any", "line one\u2028line two", frozenset(), frozenset(), is_answerable=False)
    unknown = Question("q4", "any", "?", frozenset(), frozenset())
    results = [
        result("q1", ranked("s1:1", "x:1")),
        judged("locomo", ASKED, abstention, ()),
        judged("locomo", ASKED, unknown, ranked("x:1")),
    ]
    write_results(tmp_path / "out" / "run.jsonl", results)
    assert read_results(tmp_path / "out" / "run.jsonl") == results
    assert [sorted(result.metrics) for result in results] == [sorted(METRICS), [EMPTY], []]


def test_invalid_result_line_is_reported_by_number(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    write_results(path, [result("q1", ())])
    path.write_text(path.read_text(encoding="utf-8") + "{}\n", encoding="utf-8")
    with pytest.raises(DataError, match="line 2"):
        read_results(path)


def test_intervals_of_what_is_in_sight_are_over_sessions() -> None:
    sessions = [Sight(wanted=2, full=1, headline=2, right=1, noise=1, idle=1, silent=1)] * 3
    told = "95 %: in full 0.50 to 0.50, with headlines 1.00 to 1.00, precision 0.50 to 0.50, nothing 1.00 to 1.00"
    assert format_intervals(sessions) == told
    assert total(sessions).wanted == 6


def test_interval_of_a_figure_holds_it_and_grows_with_the_spread() -> None:
    def mean(parts: Sequence[float]) -> float:
        return sum(parts) / len(parts)

    low, high = interval([0.0, 1.0] * 20, mean)
    assert 0.3 < low < 0.5 < high < 0.7
    assert interval([0.5] * 40, mean) == (0.5, 0.5)


def test_shared_difference_is_significant_and_balanced_one_is_not() -> None:
    assert p_value(np.full(40, 0.1)) < 0.001
    assert p_value(np.tile([0.1, -0.1], 20)) == 1.0
    assert p_value(np.zeros(40)) == 1.0


def test_p_value_counts_all_sign_changes() -> None:
    # Two of the 32 combinations of signs give a sum as far from zero.
    assert p_value(np.ones(5)) == pytest.approx(2 / 32, abs=0.01)
    assert p_value(np.ones(5)) == p_value(np.ones(5))


def test_comparison_counts_wins_losses_ties_and_lists_worst() -> None:
    before = [result("q1", ranked("s1:1")), result("q2", ranked("s1:1")), result("q3", ()), result("q4", ())]
    after = [result("q1", ranked("x:1", "s1:1")), result("q2", ()), result("q3", ranked("s1:1")), result("q4", ())]
    found = compare(before, after, by=MRR).sets[0]
    reciprocal = next(metric for metric in found.metrics if metric.metric == MRR)
    assert (reciprocal.wins, reciprocal.losses, reciprocal.ties) == (1, 2, 1)
    assert reciprocal.difference == pytest.approx(-0.125)
    assert [(loss.result.question, loss.before, loss.after) for loss in found.worst] == [("q2", 1, 0), ("q1", 1, 0.5)]


def test_comparison_skips_questions_that_differ_between_runs() -> None:
    before = [result("q1", ()), result("q2", ()), result("q3", ()), result("q4", ())]
    after = [result("q1", ()), result("q2", (), text="other"), result("q3", (), evidence="s1:2"), result("q5", ())]
    found = compare(before, after, by=NDCG_10)
    assert (found.sets[0].answerable, found.left_out) == (1, 4)


def test_comparison_fits_into_80_columns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, hits in (("before", ranked("s1:1")), ("after", ())):
        write_results(tmp_path / f"{name}.jsonl", [result(f"conv-26:{n}", hits, text="why " * 50) for n in range(20)])
    assert compare_command.main([str(tmp_path / "before.jsonl"), str(tmp_path / "after.jsonl")]) == 0
    printed = capsys.readouterr().out
    assert "conv-26:9" in printed
    assert "conv-26:10" not in printed
    assert max(map(len, printed.splitlines())) <= 80
    assert compare_command.main([str(tmp_path / "before.jsonl"), str(tmp_path / "none.jsonl")]) == 2
    assert "none.jsonl is not there" in capsys.readouterr().err


def test_cached_vectors_equal_those_of_the_model(tmp_path: Path) -> None:
    models = [WordEmbedder(), WordEmbedder()]
    vectors = []
    for model in models:
        with CachedEmbedder.open(model, tmp_path / "cache" / "vectors.db") as embedder:
            vectors.append(embedder.embed(["a walrus", "a heron", "a walrus"]))
            assert embedder.embed_query("a walrus").tolist() == model.embed_query("a walrus").tolist()
    assert np.array_equal(*vectors)
    assert [model.embedded for model in models] == [["a walrus", "a heron"], []]
