"""Turns are scored together with their neighbours that pass the filter (I7), exactly as a reopened store scores them.

Texts whose scores are compared have four words each. Adding or removing a memory changes how rare a word is, which is
the same for all texts, but must not change the average length.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from opencode_memory import ALL_PROJECTS, ConflictError, InvalidInputError, MemoryStore, NotFoundError
from opencode_memory._core import Engine
from opencode_memory.embedding import BundledEmbedder
from support.embedders import WordEmbedder
from support.processes import run
from support.stores import DAY_MS, NOW_MS, bound_store, open_store, recalled, set_clock

SAME = 1e-5
"""Scores are the same up to the rounding of half and single precision: how rare a word is scales all of them alike."""

AROUND = {"words_around", "meaning_around"}


def scores(store: MemoryStore, query: str, **options: Any) -> dict[str, float]:
    """The score of each hit, by its text."""
    return {hit.memory.content: hit.score for hit in store.recall(query, limit=100, **options)}


def signals(store: MemoryStore, query: str, **options: Any) -> dict[str, dict[str, float]]:
    """What each signal gave to each hit, by its text."""
    return {
        hit.memory.content: {signal.name: signal.contribution for signal in hit.explanation.signals}
        for hit in store.recall(query, limit=100, explain=True, **options)
    }


def say(store: MemoryStore, *turns: str, session: str = "s", **options: Any) -> list[str]:
    """Say turns one after the other; returns their ids."""
    return [
        store.remember(turn, session=session, position=position, **options).id for position, turn in enumerate(turns)
    ]


# The context finds

QUESTION = "Which database did we choose for the walrus tracker?"
ANSWER = "PostgreSQL, after much back and forth."
NOTES = ("The linter is pleased again.", "Water the plants on Friday.", "Room four has a projector.")


@pytest.mark.parametrize("is_embedded", [False, True])
@pytest.mark.parametrize("is_indexed", [False, True])
def test_an_answer_is_found_by_the_words_of_the_question_before_it(
    store: MemoryStore, *, is_embedded: bool, is_indexed: bool
) -> None:
    say(store, QUESTION, ANSWER)
    store.remember_many({"content": note} for note in NOTES)
    if is_embedded:
        store.indexes.embed_pending()
    if is_indexed:
        store.indexes.catch_up()
    assert set(recalled(store, "walrus tracker database")) == {QUESTION, ANSWER}


@pytest.mark.parametrize("has_places", [False, True])
def test_the_bundled_model_finds_the_answer_by_the_words_of_the_question_before_it(
    open_store, *, has_places: bool
) -> None:
    store = open_store(embedder=BundledEmbedder())
    question = "Where did you go on vacation last summer?"
    answer = "Lisbon. We stayed for two weeks and ate too many pastries."
    for position, (speaker, text) in enumerate((("Ada", question), ("Ben", answer))):
        store.remember(text, speaker=speaker, **({"session": "s", "position": position} if has_places else {}))
    store.remember_many({"content": note} for note in NOTES)
    store.indexes.embed_pending()
    found = scores(store, "vacation summer")
    assert max(found, key=lambda text: found[text]) == question
    assert (found.get(answer, 0.0) > found[question] / 2) == has_places


@pytest.mark.parametrize("place", [{}, {"session": "s"}], ids=["no session", "no position"])
def test_without_a_place_in_a_conversation_a_text_stands_for_itself(store: MemoryStore, place: dict[str, str]) -> None:
    store.remember(QUESTION, **place)
    store.remember(ANSWER, **place)
    store.remember_many({"content": note} for note in NOTES)
    store.indexes.embed_pending()
    assert recalled(store, "walrus tracker database") == [QUESTION]
    assert not AROUND & set(signals(store, "walrus tracker database")[QUESTION])


@pytest.mark.parametrize("has_places", [False, True])
def test_of_two_equal_answers_the_one_to_the_question_comes_first(store: MemoryStore, *, has_places: bool) -> None:
    def place(session: str, position: int) -> dict[str, Any]:
        return {"session": session, "position": position} if has_places else {}

    store.remember("walrus colour tusks painted?", **place("a", 0))
    store.remember("blue alpha lacquer varnish", **place("a", 1))
    store.remember("curtain window fabric kitchen?", **place("b", 0))
    store.remember("blue bravo lacquer varnish", **place("b", 1))
    store.indexes.embed_pending()
    found = scores(store, "blue walrus")
    alpha, bravo = found["blue alpha lacquer varnish"], found["blue bravo lacquer varnish"]
    if has_places:
        assert alpha > bravo + 0.1
    else:
        assert alpha == pytest.approx(bravo, abs=SAME)


@pytest.mark.parametrize("distance", [1, 2, 3, 4, 2**62])
def test_window_reaches_two_positions_to_each_side(store: MemoryStore, distance: int) -> None:
    store.remember("walrus one two three", session="s", position=7)
    store.remember("walrus four five six", session="s", position=7 + distance)
    found = signals(store, "walrus")
    assert all((AROUND & set(given) != set()) == (distance <= 2) for given in found.values())
    assert len(found) == 2


def test_the_last_place_of_all_has_neighbours(store: MemoryStore) -> None:
    last = 2**63 - 1
    store.remember("walrus one two three", session="s", position=last)
    store.remember("walrus four five six", session="s", position=last - 2)
    store.remember("walrus seven eight nine", session="s", position=0)
    found = signals(store, "walrus")
    assert [text for text, given in found.items() if not AROUND & set(given)] == ["walrus seven eight nine"]
    assert len(found) == 3


@pytest.mark.parametrize("position", [-1, -(2**63), 2**63, 2**200])
def test_a_place_that_cannot_be_is_refused(store: MemoryStore, position: int) -> None:
    with pytest.raises(InvalidInputError) as error:
        store.remember("walrus", session="s", position=position)
    assert error.value.field == "position"
    assert store.count() == 0


@pytest.mark.parametrize(
    ("question", "answer", "other_question", "other_answer", "query"),
    [
        ("أين قضيت العطلة؟", "لشبونة مدينة جميلة", "أين تركت المفاتيح؟", "غرفة المطبخ جميلة", "العطلة جميلة"),
        ("איפה היית בחופשה?", "ליסבון עיר יפה", "איפה שמת מפתחות?", "מטבח חדר יפה", "בחופשה יפה"),
        ("休暇はどこでしたか？", "リスボンは素敵", "鍵はどこでしたか？", "キッチンは素敵", "休暇 素敵"),
        ("你去哪里度假了？", "里斯本非常漂亮", "你把钥匙放哪里？", "厨房非常漂亮", "度假 漂亮"),
        ("Где был отпуск?", "Лиссабон красивый город", "Где лежат ключи?", "Кухня красивый дом", "отпуск красивый"),
        (
            "Où étaient vos congés?",
            "Lisbonne trois semaines",
            "Où sont mes clés?",
            "Cuisine trois mois",
            "conges trois",
        ),
        (
            "Urlaub mit Mu\u0308sli?",
            "Rom drei Wochen",
            "Wo der Schlu\u0308ssel?",
            "K\u00fcche drei Tage",
            "M\u00fcsli drei",
        ),
    ],
    ids=["Arabic", "Hebrew", "Japanese", "Chinese", "Russian", "French", "decomposed"],
)
def test_conversations_in_every_script_have_context(
    store: MemoryStore, question: str, answer: str, other_question: str, other_answer: str, query: str
) -> None:
    say(store, question, answer, session="休暇 ü")
    say(store, other_question, other_answer, session="clés")
    found = signals(store, query)
    assert set(found) == {question, answer, other_answer}
    assert found[answer]["words_around"] > found[other_answer]["words_around"] + 0.1
    assert "question" in found[question]


# What may not be returned is no context (I7)

_STRANGERS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "of another project": ({"project": "other"}, {}),
    "of the person": ({"scope": "global"}, {"scope": "project"}),
    "archived": ({"then": lambda store, id: store.archive(id)}, {}),
    "deleted": ({"then": lambda store, id: store.delete(id)}, {}),
    "taken back": ({"then": lambda store, id: store.undo(id)}, {}),
    "expired": ({"ttl_seconds": 60, "then": lambda store, _: set_clock(store, NOW_MS + 60_000)}, {}),
    "waiting": ({"status": "candidate"}, {}),
    "of another category": ({"category": "idea"}, {"category": "fact"}),
    "too early": ({"time": NOW_MS - 2 * DAY_MS}, {"since": NOW_MS - DAY_MS}),
    "too late": ({"time": NOW_MS + 2 * DAY_MS}, {"until": NOW_MS + DAY_MS}),
    "about something else": ({"entities": ["!13"]}, {"entity": "!12"}),
}

TURNS = ("walrus heron otter lynx", "badger weasel walrus mole", "raven magpie jackdaw walrus", "owl eagle walrus kite")
STRANGER = "walrus walrus walrus sturgeon"


def conversation(store: MemoryStore) -> None:
    """Four turns with a gap after the second."""
    for position, turn in zip((0, 1, 3, 4), TURNS, strict=True):
        store.remember(turn, session="s", position=position, entities=["!12"])


@pytest.mark.parametrize("position", [2, 1], ids=["in a gap", "at the place of another"])
@pytest.mark.parametrize("is_indexed", [False, True])
@pytest.mark.parametrize("kind", _STRANGERS)
def test_i7_filtered_memories_do_not_change_scores(
    store: MemoryStore, kind: str, position: int, *, is_indexed: bool
) -> None:
    stranger, options = _STRANGERS[kind]
    stranger = {"entities": ["!12"]} | stranger
    then: Callable[[MemoryStore, str], object] = stranger.pop("then", lambda *_: None)
    conversation(store)
    store.indexes.embed_pending()
    before = scores(store, "walrus", **options)
    assert set(before) == set(TURNS)
    id = store.remember(STRANGER, session="s", position=position, **stranger).id
    store.indexes.embed_pending()
    then(store, id)
    if is_indexed:
        store.indexes.catch_up()
    assert scores(store, "walrus", **options) == pytest.approx(before, abs=SAME)


@pytest.mark.parametrize("position", [2, 1])
def test_unfiltered_memories_change_scores(store: MemoryStore, position: int) -> None:
    conversation(store)
    store.indexes.embed_pending()
    before = scores(store, "walrus")
    store.remember(STRANGER, session="s", position=position, entities=["!12"])
    store.indexes.embed_pending()
    after = scores(store, "walrus")
    assert set(after) == {*TURNS, STRANGER}
    assert after[TURNS[2]] != pytest.approx(before[TURNS[2]], abs=1e-3)


def test_i7_the_same_session_in_two_projects_is_two_conversations(store: MemoryStore) -> None:
    for position, (turn, project) in enumerate(zip(TURNS, ["app", "other", None, "app"], strict=True)):
        scope = "global" if project is None else "project"
        store.remember(turn, session="s", position=position, project=project, scope=scope)
    store.indexes.embed_pending()
    found = signals(store, "walrus", project=ALL_PROJECTS)
    assert set(found) == set(TURNS)
    assert not any(AROUND & set(given) for given in found.values())


# What changes is seen at once


def test_a_turn_that_goes_and_comes_back_leaves_no_trace(store: MemoryStore) -> None:
    conversation(store)
    store.indexes.embed_pending()
    whole = scores(store, "walrus")
    id = next(memory.id for memory in store.list() if memory.content == TURNS[1])
    ways: list[tuple[Callable[[str], object], Callable[[str], object]]] = [
        (store.archive, store.restore),
        (store.delete, store.undo),
        (lambda id: store.edit(id, project="other"), lambda id: store.edit(id, project="app")),
        (lambda id: store.edit(id, expires_at=NOW_MS - 1), store.undo),
        (lambda id: store.edit(id, content="kestrel buzzard falcon hawk"), store.undo),
    ]
    for go, come in ways:
        go(id)
        without = scores(store, "walrus")
        assert TURNS[1] not in without
        assert without[TURNS[0]] != pytest.approx(whole[TURNS[0]], abs=1e-3)
        come(id)
        store.indexes.embed_pending()
        assert scores(store, "walrus") == pytest.approx(whole, abs=SAME)


def test_a_conversation_that_moves_to_another_project_stays_one(store: MemoryStore) -> None:
    conversation(store)
    store.indexes.embed_pending()
    here = scores(store, "walrus")
    for memory in store.list():
        store.edit(memory.id, project="other")
    assert scores(store, "walrus") == {}
    assert scores(store, "walrus", project="other") == pytest.approx(here, abs=SAME)
    store.projects.merge("other", "app")
    assert scores(store, "walrus") == pytest.approx(here, abs=SAME)


def test_a_turn_that_gets_another_place_leaves_its_old_one(store: MemoryStore) -> None:
    store.remember("walrus one two three", session="s", position=0)
    store.remember("walrus four five six", session="s", position=1, topic="moving")
    assert all(AROUND & set(given) for given in signals(store, "walrus").values())
    store.remember("walrus four five six seven", session="s", position=9, topic="moving")
    assert not any(AROUND & set(given) for given in signals(store, "walrus").values())


def test_a_turn_that_another_process_says_is_context_at_once(store: MemoryStore) -> None:
    store.remember("walrus one two three", session="s", position=0)
    assert not AROUND & set(signals(store, "walrus")["walrus one two three"])
    run(
        """
        import sys
        from support.stores import open_store
        with open_store(sys.argv[1], project="app") as store:
            store.remember("walrus four five six", session="s", position=1)
        """,
        store.data_dir,
    ).check_returncode()
    assert all(AROUND & set(given) for given in signals(store, "walrus").values())


def test_earlier_memory_returns_to_its_position_when_the_later_goes(
    store: MemoryStore,
) -> None:
    store.remember("walrus one two three", session="s", position=0)
    store.remember("walrus four five six", session="s", position=1)
    before = scores(store, "walrus")
    later = store.remember("sturgeon seven eight nine", session="s", position=1).id
    assert store.recall("sturgeon")
    store.delete(later)
    assert scores(store, "walrus") == pytest.approx(before, abs=SAME)


def test_pin_does_not_decide_which_memory_holds_a_position(store: MemoryStore) -> None:
    store.remember("heron one two three", session="s", position=0)
    first = store.remember("walrus walrus five six", session="s", position=1).id
    store.remember("walrus seven eight nine", session="s", position=1)
    before = scores(store, "walrus")
    store.pin(first)
    store.unpin(first)
    assert scores(store, "walrus") == pytest.approx(before, abs=SAME)


# The same as in a store that was opened a moment ago

Operation = tuple[Any, ...]
_WORDS = ("walrus", "heron", "otter", "lynx", "mole")
# Without the search for which parts of a failing example matter, which takes a minute with a store for each try.
_PHASES = (Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink)
_WHICH = st.integers(0, 7)
_TEXT = st.lists(st.sampled_from(_WORDS), min_size=4, max_size=4).map(" ".join)
_LONGER_TEXT = st.lists(st.sampled_from(_WORDS), min_size=1, max_size=9).map(" ".join)
_POSITION = st.sampled_from([0, 1, 2, 4, 2**63 - 1])


def _operations(texts: st.SearchStrategy[str], topics: tuple[str | None, ...]) -> st.SearchStrategy[list[Operation]]:
    session = st.sampled_from(["s", "s", "t", None])
    topic = st.sampled_from(topics)
    return st.lists(
        st.one_of(
            st.tuples(st.just("remember"), texts, session, _POSITION, topic),
            st.tuples(st.just("remember"), texts, session, _POSITION, topic),
            st.tuples(st.just("elsewhere"), texts, session, _POSITION, topic),
            st.tuples(st.just("place"), _WHICH, texts, session, _POSITION),
            st.tuples(st.just("edit"), _WHICH, texts),
            st.tuples(st.just("recategorise"), _WHICH),
            st.tuples(st.just("move"), _WHICH, st.sampled_from(["app", "other"])),
            st.tuples(st.sampled_from(["archive", "restore", "delete", "undo", "pin"]), _WHICH),
            st.tuples(st.sampled_from(["undo last", "embed", "catch up", "merge projects"])),
        ),
        min_size=3,
        max_size=14,
    )


def _act(store: MemoryStore, name: str, *ids: str) -> None:
    act: dict[str, Callable[..., object]] = {
        "archive": store.archive,
        "restore": store.restore,
        "delete": store.delete,
        "undo": store.undo,
        "pin": store.pin,
        "undo last": store.undo,
        "embed": store.indexes.embed_pending,
        "catch up": store.indexes.catch_up,
        "merge projects": lambda: store.projects.merge("other", "app"),
    }
    act[name](*ids)


def _apply(store: MemoryStore, other: MemoryStore, ids: list[str], operation: Operation) -> None:
    name, *rest = operation
    if name in {"remember", "elsewhere"}:
        text, session, position, topic = rest
        place = {} if session is None else {"session": session, "position": position}
        ids.append((store if name == "remember" else other).remember(text, topic=topic, **place).id)
        return
    if name in {"undo last", "embed", "catch up", "merge projects"}:
        _act(store, name)
        return
    if not ids:
        return
    id = ids[rest[0] % len(ids)]
    if name == "edit":
        store.edit(id, content=rest[1])
    elif name == "place":
        _, text, session, position = rest
        place = {} if session is None else {"session": session, "position": position}
        store.remember_many([{"id": id, "content": text} | place])
    elif name == "recategorise":
        store.edit(id, category="idea")
    elif name == "move":
        store.edit(id, project=rest[1])
    else:
        _act(store, name, id)


def _answers(store: MemoryStore, queries: tuple[str, ...]) -> list[dict[str, float]]:
    return [
        {hit.memory.id: hit.score for hit in store.recall(query, limit=100, explain=True, **options)}
        for query in queries
        for options in ({}, {"project": ALL_PROJECTS}, {"category": "fact"}, {"status": ["active", "archived"]})
    ]


def _live_and_reopened(operations: list[Operation], queries: tuple[str, ...]) -> tuple[Any, Any]:
    """The answers of a store that went through operations, and of the same store opened anew."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store"
        with open_store(path, project="app") as store, open_store(path, project="app") as other:
            ids: list[str] = []
            _answers(store, queries)
            for operation in operations:
                try:
                    _apply(store, other, ids, operation)
                except (ConflictError, NotFoundError):
                    continue  # a person who tries what cannot be done changes nothing
                store.recall("walrus")  # so that this store follows step by step, and the fresh one does not
            live = _answers(store, queries)
            with open_store(path, project="app") as fresh:
                return live, _answers(fresh, queries)


@settings(max_examples=60, phases=_PHASES)
@given(_operations(_TEXT, (None,)))
def test_a_store_sees_the_context_that_a_reopened_store_sees(operations: list[Operation]) -> None:
    live, reopened = _live_and_reopened(operations, ("walrus", "heron"))
    for mine, fresh in zip(live, reopened, strict=True):
        assert mine == pytest.approx(fresh, abs=SAME)


@settings(max_examples=60, phases=_PHASES)
@given(_operations(_LONGER_TEXT, (None, None, "x")))
def test_a_store_answers_what_a_reopened_store_answers(operations: list[Operation]) -> None:
    # Each turn has a place of its own, so that this is about everything but who of two stands at one place.
    operations = [
        (name, *rest[:2], number, rest[3]) if name in {"remember", "elsewhere"} else (name, *rest)
        for number, (name, *rest) in enumerate(operations)
        if name != "place"
    ]
    live, reopened = _live_and_reopened(operations, ("walrus heron otter", "mole"))
    for mine, fresh in zip(live, reopened, strict=True):
        assert mine == pytest.approx(fresh, abs=1e-9)


def test_a_text_that_is_gone_does_not_make_its_words_common(open_store) -> None:
    store = open_store(project="app")
    store.remember("walrus heron")
    store.remember("otter mole lynx")
    store.remember("walrus badger weasel otter")
    gone = [store.remember(f"otter {number}").id for number in range(8)]
    store.recall("walrus")
    store.delete(gone)
    with open_store(project="app") as fresh:
        assert scores(store, "walrus otter") == pytest.approx(scores(fresh, "walrus otter"), abs=1e-9)


# Indexes change no answer


def _mixture(store: MemoryStore) -> list[str]:
    ids = []
    for number in range(12):
        ids += say(
            store,
            f"Which animal comes in week {number}?",
            f"{('walrus', 'heron', 'otter')[number % 3]}, as the keeper said",
            "Fine, so be it then.",
            session=f"week {number}",
        )
    notes = [f"The {first} feeds {second} at noon" for first, second in pairwise(("walrus", "heron", "otter", "lynx"))]
    ids += [store.remember(note, category="decision").id for note in notes]
    return ids


QUERIES = ("walrus", "Which animal comes in week 7?", "heron keeper noon", "what did the keeper say", "otter lynx")


def test_catch_up_does_not_change_the_hits(store: MemoryStore) -> None:
    ids = _mixture(store)
    store.indexes.embed_pending()
    for _ in range(3):
        before = [{hit.memory.id for hit in store.recall(query, limit=100)} for query in QUERIES]
        assert all(before)
        store.indexes.catch_up()
        assert [{hit.memory.id for hit in store.recall(query, limit=100)} for query in QUERIES] == before
        store.delete(ids[:3])
        store.archive(ids[3:5])
        store.edit(ids[5], content="A lynx, of all animals")
        del ids[:6]
        store.indexes.embed_pending()


def test_catching_up_the_graph_does_not_change_which_chunk_counts(tmp_path: Path) -> None:
    embedder = WordEmbedder(dimension=4096, synonyms={"pinniped": "walrus"})
    engine = Engine(tmp_path / "store", graph_from=20, background=False, clock_ms=NOW_MS)
    with bound_store(engine, project="app", embedder=embedder) as store:
        first_chunk = " ".join(f"filler{number}" for number in range(64))
        store.remember_many({"content": f"{first_chunk} walrus a{number}"} for number in range(50))
        short = [f"walrus walrus b{number} c{number} d{number} e{number} f{number}" for number in range(10)]
        store.remember_many({"content": text} for text in short)
        store.indexes.embed_pending()
        # A later chunk counts for nine tenths: 0.64 where the short texts have 0.67.
        assert set(recalled(store, "pinniped", limit=10)) == set(short)
        store.indexes.catch_up()
        assert set(recalled(store, "pinniped", limit=10)) == set(short)
