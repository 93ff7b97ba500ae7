"""The store as of an earlier time: exact over edits, deletes, moves, expiry and undo."""

from __future__ import annotations

import io
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencode_memory import MemoryStore
from opencode_memory.exchange import export_memories, import_memories
from support.stores import NOW_MS, open_store, recalled, set_clock, texts


def _at(store: MemoryStore, second: int) -> None:
    set_clock(store, NOW_MS + 1000 * second)


def _ms(second: float) -> int:
    return NOW_MS + int(1000 * second)


def test_each_moment_has_the_text_of_that_moment(store: MemoryStore) -> None:
    id = store.remember("the first walrus").id
    _at(store, 10)
    store.edit(id, content="the second walrus")
    _at(store, 20)
    store.delete(id)
    _at(store, 30)
    store.undo()
    expected = {
        -0.001: [],
        0: ["the first walrus"],
        9.999: ["the first walrus"],
        10: ["the second walrus"],
        19.999: ["the second walrus"],
        20: [],
        29.999: [],
        30: ["the second walrus"],
        99: ["the second walrus"],
    }
    for second, wanted in expected.items():
        assert recalled(store, "walrus", as_of=_ms(second)) == wanted, second
        assert texts(store.list(as_of=_ms(second))) == wanted, second


def test_words_are_those_of_that_moment(store: MemoryStore) -> None:
    id = store.remember("the crimson walrus").id
    _at(store, 10)
    store.edit(id, content="the azure heron")
    assert recalled(store, "heron", as_of=_ms(5)) == []
    assert recalled(store, "walrus", as_of=_ms(5)) == ["the crimson walrus"]


def test_meaning_is_that_of_that_moment(open_store) -> None:
    from support.embedders import WordEmbedder

    store = open_store(embedder=WordEmbedder(synonyms={"pinniped": "walrus"}))
    id = store.remember("walrus").id
    store.indexes.embed_pending()
    _at(store, 10)
    store.edit(id, content="heron")
    store.indexes.embed_pending()
    assert recalled(store, "pinniped") == []
    assert recalled(store, "pinniped", as_of=_ms(5)) == ["walrus"]


def test_filters_apply_to_the_state_of_that_moment(store: MemoryStore) -> None:
    id = store.remember("a walrus", category="idea", entities=["E"], tags=["T"]).id
    _at(store, 10)
    store.edit(id, category="plan", entities=[], tags=[])
    store.archive(id)
    then = _ms(5)
    assert recalled(store, "walrus", category="idea", as_of=then) == ["a walrus"]
    assert recalled(store, "walrus", category="plan", as_of=then) == []
    assert recalled(store, "walrus", entity="e", as_of=then) == ["a walrus"]
    assert texts(store.list(tag="t", as_of=then)) == ["a walrus"]
    assert texts(store.list(status="archived", as_of=then)) == []
    assert texts(store.list(status="archived", as_of=_ms(15))) == ["a walrus"]


def test_an_expired_memory_was_there_before_it_expired(store: MemoryStore) -> None:
    store.remember("a walrus", ttl_seconds=10)
    _at(store, 60)
    assert recalled(store, "walrus") == []
    assert recalled(store, "walrus", as_of=_ms(9.999)) == ["a walrus"]
    assert recalled(store, "walrus", as_of=_ms(10)) == []


def test_a_memory_was_where_it_was_before_it_moved(store: MemoryStore) -> None:
    id = store.remember("a walrus").id
    _at(store, 10)
    store.edit(id, project="other")
    assert recalled(store, "walrus", as_of=_ms(5)) == ["a walrus"]
    assert recalled(store, "walrus", project="other", as_of=_ms(5)) == []
    assert recalled(store, "walrus", project="other", as_of=_ms(10)) == ["a walrus"]


def test_a_renamed_project_is_asked_by_its_present_name(open_store) -> None:
    """A name is what people call a project now; which memories it had then does not depend on it."""
    store = open_store(project="old")
    changed = store.remember("a crimson walrus").id
    store.remember("a grey walrus")
    _at(store, 10)
    store.edit(changed, content="an azure heron")
    store.projects.rename("old", "new")
    assert sorted(texts(store.list(project="new", as_of=_ms(5)))) == ["a crimson walrus", "a grey walrus"]


def test_a_purge_reaches_into_the_past(store: MemoryStore) -> None:
    id = store.remember("a walrus").id
    _at(store, 10)
    store.edit(id, content="a heron")
    store.purge(id)
    assert store.list(as_of=_ms(5)) == store.list(as_of=_ms(15)) == []


def test_as_of_is_when_the_store_learned_it_not_when_it_happened(store: MemoryStore) -> None:
    store.remember("a walrus in 2020", time="2020-01-01T00:00+00:00")
    assert recalled(store, "walrus", as_of="2021-01-01T00:00+00:00") == []
    assert recalled(store, "walrus", as_of=datetime.fromtimestamp(NOW_MS / 1000, UTC)) == ["a walrus in 2020"]


def test_the_past_moves_with_an_export_to_another_machine(open_store, tmp_path) -> None:
    store = open_store(project="app")
    edited, deleted = store.remember("the first walrus").id, store.remember("a short heron").id
    _at(store, 10)
    store.edit(edited, content="the second walrus")
    _at(store, 20)
    store.delete(deleted)
    out = io.StringIO()
    export_memories(store, out)

    elsewhere = open_store(tmp_path / "elsewhere", project="app", clock_ms=_ms(100))
    import_memories(elsewhere, io.StringIO(out.getvalue()))
    for second in (0, 5, 10, 15, 20, 25, 200):
        then = _ms(second)
        assert set(texts(elsewhere.list(as_of=then))) == set(texts(store.list(as_of=then))), second
    kinds = [(entry.kind, entry.before and entry.before.content) for entry in store.history(edited)]
    assert [(entry.kind, entry.before and entry.before.content) for entry in elsewhere.history(edited)] == kinds
    assert elsewhere.history(edited)[-1].after.content == "the second walrus"


_STEPS = st.lists(
    st.tuples(st.sampled_from(["remember", "edit", "delete", "archive", "restore", "undo"]), st.integers(0, 3)),
    min_size=1,
    max_size=12,
)


@given(_STEPS)
def test_every_earlier_state_is_remembered_exactly(tmp_path_factory: pytest.TempPathFactory, steps) -> None:
    with open_store(tmp_path_factory.mktemp("as-of")) as store:
        states: dict[int, set[str]] = {}
        ids: list[str] = []
        for second, (operation, which) in enumerate(steps):
            _at(store, second)
            _take(store, operation, which, second, ids)
            states[second] = set(texts(store.list()))
        for second, state in states.items():
            assert set(texts(store.list(as_of=_ms(second)))) == state
            assert set(recalled(store, "walrus", as_of=_ms(second))) == state


def _take(store: MemoryStore, operation: str, which: int, second: int, ids: list[str]) -> None:
    from opencode_memory import ConflictError, NotFoundError

    if operation == "remember" or not ids:
        ids.append(store.remember(f"walrus {second}").id)
        return
    id = ids[which % len(ids)]
    try:
        if operation == "edit":
            store.edit(id, content=f"walrus edited {second}")
        elif operation == "undo":
            store.undo()
        else:
            getattr(store, operation)(id)
    except (ConflictError, NotFoundError):
        pass  # deleted already, or nothing left to take back: no change, which is what the test wants too
