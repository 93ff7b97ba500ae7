"""The time between a memory and its vectors: nothing is lost, nothing is mixed, nothing is embedded twice."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from itertools import count

import numpy as np
import pytest

import opencode_memory
from opencode_memory import DimensionMismatchError, EmbeddingError, InvalidInputError, MemoryStore
from opencode_memory.store import embedding_queue
from opencode_memory.store.embedder_choice import EmbedderChoice
from support.embedders import ConstantEmbedder, DownEmbedder, HookedEmbedder, WordEmbedder
from support.stores import recalled, texts

SYNONYMS = {"pinniped": "walrus"}


def test_each_text_is_embedded_once_wherever_it_stands(open_store) -> None:
    embedder = WordEmbedder()
    store = open_store(project="app", embedder=embedder)
    for project in ("app", "other", "third"):
        store.remember("the same walrus", project=project)
    assert store.indexes.embed_pending() == 3
    assert embedder.embedded == ["the same walrus"]
    store.edit(store.list()[0].id, tags=["changed"], category="idea")
    store.indexes.embed_pending()
    assert embedder.embedded == ["the same walrus"]


def test_index_rebuild_does_not_embed_again(open_store, data_dir) -> None:
    embedder = WordEmbedder(synonyms=SYNONYMS)
    store = open_store(project="app", embedder=embedder)
    store.remember_many({"content": f"walrus {number}"} for number in range(20))
    store.indexes.embed_pending()
    embedder.embedded.clear()
    report = store.indexes.reindex()
    assert (report.embedded, report.texts) == (0, 20)
    assert embedder.embedded == []
    assert len(recalled(store, "pinniped")) == 10


def test_embedding_can_be_done_in_steps_and_says_how_far_it_is(open_store) -> None:
    store = open_store()
    store.remember_many({"content": f"walrus {number}"} for number in range(10))
    seen: list[tuple[int, int]] = []
    assert store.indexes.embed_pending(limit=4, progress=lambda done, total: seen.append((done, total))) == 4
    assert store.stats().pending_embeddings == 6
    assert store.indexes.embed_pending(progress=lambda done, total: seen.append((done, total))) == 6
    assert seen == [(4, 10), (6, 6)]
    assert (store.stats().pending_embeddings, store.indexes.embed_pending()) == (0, 0)


def test_model_mismatch_is_reported_and_words_are_searched_until_reindex(
    open_store, caplog: pytest.LogCaptureFixture
) -> None:
    old = open_store(project="app", embedder=WordEmbedder("model-a", synonyms=SYNONYMS))
    old.remember("walrus")
    old.indexes.embed_pending()
    old.close()

    store = open_store(project="app", embedder=WordEmbedder("model-b", dimension=64, synonyms=SYNONYMS))
    with caplog.at_level(logging.WARNING, "opencode_memory"):
        assert recalled(store, "walrus") == ["walrus"]
        assert recalled(store, "pinniped") == []
    [said] = caplog.records
    for part in ("model-a", "model-b", "reindex"):
        assert part in said.getMessage()
        assert part in store.stats().model_mismatch
    assert store.stats().model == "model-a"
    with pytest.raises(EmbeddingError, match="reindex"):
        store.indexes.embed_pending()

    stages: list[str] = []
    report = store.indexes.reindex(progress=lambda stage, _done, _total: stages.append(stage))
    assert report.embedded == 1
    assert stages[0] == "embeddings"
    assert recalled(store, "pinniped") == ["walrus"]
    assert (store.stats().model, store.stats().dimension, store.stats().model_mismatch) == ("model-b", 64, None)
    assert store.indexes.verify().ok


def test_a_reindex_covers_every_project(open_store) -> None:
    first = open_store(project="app", embedder=WordEmbedder("model-a"))
    for project in ("app", "other"):
        first.remember("walrus", project=project)
    first.indexes.embed_pending()
    second = open_store(project="app", embedder=WordEmbedder("model-b", synonyms=SYNONYMS))
    assert second.indexes.reindex().embedded == 2
    assert recalled(second, "pinniped", project="other") == ["walrus"]


def test_going_back_to_an_earlier_model_is_a_mismatch_too(open_store) -> None:
    one = open_store(embedder=WordEmbedder("model-a", synonyms=SYNONYMS))
    one.remember("walrus")
    one.indexes.embed_pending()
    open_store(embedder=WordEmbedder("model-b")).indexes.reindex()
    assert recalled(one, "pinniped") == []
    assert one.stats().model_mismatch is not None
    one.indexes.reindex()
    assert recalled(one, "pinniped") == ["walrus"]


def test_an_open_store_never_switches_the_model_back_by_itself(open_store) -> None:
    """A long-lived process with the old model goes on writing after another one has reindexed."""
    old = open_store(embedder=WordEmbedder("model-a"), background=True)
    old.remember("one walrus")
    old.indexes.embed_pending()
    new = open_store(embedder=WordEmbedder("model-b"))
    new.indexes.reindex()
    old.remember("another walrus")
    old.close()
    assert new.stats().model == "model-b"
    assert new.stats().pending_embeddings == 1
    assert new.indexes.embed_pending() == 1


def test_the_same_model_with_another_dimension_is_refused(open_store) -> None:
    one = open_store(embedder=WordEmbedder("model-a", dimension=32))
    one.remember("walrus")
    one.indexes.embed_pending()
    two = open_store(embedder=WordEmbedder("model-a", dimension=64, synonyms=SYNONYMS))
    assert recalled(two, "walrus") == ["walrus"]
    assert recalled(two, "pinniped") == []
    with pytest.raises(DimensionMismatchError) as error:
        two.indexes.reindex()
    assert (error.value.expected, error.value.received) == (32, 64)
    assert recalled(one, "walrus") == ["walrus"]


def test_a_memory_that_was_written_after_a_store_was_asked_is_found_by_its_meaning(open_store) -> None:
    """The first vectors of a store reach processes that have looked at it before there were any."""
    embedder = WordEmbedder(synonyms=SYNONYMS)
    store, other = open_store(embedder=embedder), open_store(embedder=embedder)
    store.remember("walrus")
    for handle in (store, other):
        assert recalled(handle, "pinniped") == []
    store.indexes.embed_pending()
    for handle in (store, other):
        assert recalled(handle, "pinniped") == ["walrus"]


def test_failed_embedding_is_retried(open_store) -> None:
    embedder = DownEmbedder()
    store = open_store(embedder=embedder)
    store.remember("walrus")
    for _ in range(5):  # however often it failed
        with pytest.raises(EmbeddingError, match="out of order"):
            store.indexes.embed_pending()
    assert recalled(store, "walrus") == ["walrus"]
    assert store.stats().pending_embeddings == 1
    embedder.is_down = False
    assert store.indexes.embed_pending() == 1


def test_a_model_that_fails_on_a_query_leaves_the_words(open_store, caplog: pytest.LogCaptureFixture) -> None:
    embedder = DownEmbedder()
    store = open_store(embedder=embedder)
    store.remember("walrus")
    embedder.is_down = False
    store.indexes.embed_pending()
    embedder.is_down = True
    with caplog.at_level(logging.WARNING, "opencode_memory"):
        assert recalled(store, "walrus") == ["walrus"]
    assert "out of order" in caplog.text


@pytest.mark.parametrize("error", [EmbeddingError("the model is out of order"), RuntimeError("a bug in the embedder")])
def test_a_background_that_fails_once_goes_on_at_the_next_write(
    open_store, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    calls: list[Sequence[str]] = []

    def fail_first(batch: Sequence[str]) -> None:
        calls.append(batch)
        if len(calls) == 1:
            raise error

    store = open_store(embedder=HookedEmbedder(fail_first), background=True)
    with caplog.at_level(logging.ERROR, "opencode_memory"):
        store.remember("walrus")
        _wait_for_background(store, lambda: len(caplog.records) == 1)
    assert str(error) in caplog.text
    store.remember("heron")
    _wait_for_background(store, lambda: store.stats().pending_embeddings == 0)
    assert sorted(texts(store.list())) == ["heron", "walrus"]


def test_series_of_writes_is_embedded_at_once(open_store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding_queue, "_PAUSE_SECONDS", 60)
    monkeypatch.setattr(embedding_queue, "_SERIES_SECONDS", 60)
    batches: list[list[str]] = []
    store = open_store(embedder=HookedEmbedder(lambda texts: batches.append([*texts])), background=True)
    for number in range(5):
        store.remember(f"walrus {number}")
    store.close()
    assert [len(batch) for batch in batches] == [5]


def test_first_write_of_a_series_does_not_wait_for_its_end(open_store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding_queue, "_PAUSE_SECONDS", 60)
    monkeypatch.setattr(embedding_queue, "_SERIES_SECONDS", 0)
    embedder = WordEmbedder()
    store = open_store(embedder=embedder, background=True)
    others = count()

    def is_embedded() -> bool:
        store.remember(f"another walrus {next(others)}")
        return "a walrus" in embedder.embedded

    store.remember("a walrus")
    _wait_for_background(store, is_embedded)


def _wait_for_background(store: MemoryStore, is_done) -> None:
    """Let the embedding thread run; the test's own timeout ends a wait in vain."""
    import threading

    turn = threading.Event()
    while not is_done():
        turn.wait(0.005)


def test_one_text_that_cannot_be_embedded_does_not_hold_up_the_others(open_store) -> None:
    def refuse_poison(batch: Sequence[str]) -> None:
        if any("poison" in text for text in batch):
            raise EmbeddingError("the tokenizer choked")

    store = open_store(embedder=HookedEmbedder(refuse_poison))
    store.remember_many({"content": f"walrus {number}"} for number in range(30))
    store.remember("poison")
    store.remember_many({"content": f"heron {number}"} for number in range(30))
    with pytest.raises(EmbeddingError, match="the tokenizer choked"):
        store.indexes.embed_pending()
    assert store.stats().pending_embeddings == 1
    assert recalled(store, "poison") == ["poison"]


@pytest.mark.parametrize("value", [0.0, float("nan"), float("inf")])
def test_a_vector_of_zeros_or_nans_is_never_stored(open_store, value: float) -> None:
    store = open_store(embedder=ConstantEmbedder(value))
    store.remember("walrus")
    with pytest.raises(InvalidInputError, match="zero or not finite"):
        store.indexes.embed_pending()
    assert store.stats().pending_embeddings == 1
    assert store.stats().vectors == 0
    assert recalled(store, "walrus") == ["walrus"]


def test_spread_orders_memories_by_their_links_to_the_query(open_store) -> None:
    store = open_store(project="app", embedder=WordEmbedder())
    texts = ("the walrus eats clams", "clams live in sand", "a turbine turns", "the walrus waits")
    for text in texts[:3]:
        store.remember(text)
    store.indexes.embed_pending()
    store.remember(texts[3])
    memories = sorted(store.list(), key=lambda memory: texts.index(memory.content))
    walrus, clams, turbine, waits = store.indexes.spread("the walrus", memories)
    assert walrus > clams > turbine
    assert waits > turbine
    known = [memory.id for memory in memories if memory.content == texts[2]]
    assert store.indexes.spread("", memories, known=known)[2] > 0
    assert store.indexes.spread("", memories) == [0, 0, 0, 0]
    assert store.indexes.spread("the walrus \ud800", memories)[0] > 0
    by_words = open_store(project="app", embedder=DownEmbedder()).indexes.spread("the walrus", memories)
    assert by_words[0] > by_words[1] > by_words[2]


def test_vectors_of_the_wrong_length_are_refused(open_store) -> None:
    class Liar(WordEmbedder):
        def embed(self, texts: Sequence[str]):
            return super().embed(texts)[:, :-1].copy()

    store = open_store(embedder=Liar())
    store.remember("walrus")
    with pytest.raises(DimensionMismatchError) as error:
        store.indexes.embed_pending()
    assert (error.value.expected, error.value.received) == (256, 255)
    assert store.stats().pending_embeddings == 1


def test_too_few_vectors_never_give_a_text_the_vector_of_another(open_store) -> None:
    class Short(WordEmbedder):
        def embed(self, texts: Sequence[str]):
            return super().embed(texts)[-1:]

    store = open_store(embedder=Short(synonyms=SYNONYMS))
    store.remember_many([{"content": "heron"}, {"content": "walrus"}])
    with pytest.raises(EmbeddingError, match="1 vectors for 2 texts"):
        store.indexes.embed_pending()
    assert recalled(store, "pinniped") == ["walrus"]


def test_a_text_that_is_edited_while_it_is_being_embedded_is_embedded_again(open_store) -> None:
    edits = ["walrus"]

    def edit_once(batch: Sequence[str]) -> None:
        if edits:
            store.edit(id, content=edits.pop())

    store = open_store(embedder=HookedEmbedder(edit_once))
    id = store.remember("heron").id
    store.indexes.embed_pending()
    store.indexes.embed_pending()
    assert store.stats().pending_embeddings == 0
    store._queue.choice = EmbedderChoice(store._engine, WordEmbedder(synonyms=SYNONYMS))
    assert recalled(store, "pinniped") == ["walrus"]


def test_a_text_that_is_deleted_while_it_is_being_embedded_stays_deleted(open_store) -> None:
    store = open_store(embedder=HookedEmbedder(lambda _batch: store.delete(id) if store.count() else None))
    id = store.remember("heron").id
    assert store.indexes.embed_pending() == 0
    assert store.count() == 0
    assert store.indexes.verify().ok


def test_vector_that_maintenance_removes_while_texts_are_embedded_is_computed_again(open_store) -> None:
    store, other = (open_store(project="app", embedder=WordEmbedder(), background=False) for _ in range(2))
    memory = store.remember("first a walrus").id
    store.indexes.embed_pending()
    store.edit(memory, content="then a seal")
    store.indexes.embed_pending()
    store.undo(memory)  # No memory uses the vector of its text, until the memory is embedded again.
    store.remember("at last an otter")
    hooked = open_store(project="app", embedder=HookedEmbedder(lambda _: other.maintain()), background=False)
    assert hooked.indexes.embed_pending() == 2
    assert hooked.indexes.count_pending() == 0


def test_closed_store_has_embedded_its_writes(open_store) -> None:
    embedder = WordEmbedder()
    store = open_store(embedder=embedder, background=True)
    store.remember("walrus")
    store.close()
    assert open_store().stats().pending_embeddings == 0
    assert embedder.embedded == ["walrus"]


def test_texts_left_by_another_process_are_embedded(open_store) -> None:
    open_store().remember("walrus")
    store = open_store(background=True)
    store.remember("heron")
    store.close()
    assert open_store().stats().pending_embeddings == 0


def test_a_write_succeeds_although_the_model_cannot_be_found(open_store) -> None:
    class Missing(WordEmbedder):
        def __init__(self) -> None:
            pass

        @property
        def model_id(self) -> str:
            raise opencode_memory.ModelNotFoundError("the model's file is missing")

    store = open_store(embedder=WordEmbedder())
    store.remember("walrus")
    store.indexes.embed_pending()
    broken = open_store(embedder=Missing(), background=True)
    assert broken.remember("heron").status == "stored"
    assert sorted(texts(broken.list())) == ["heron", "walrus"]
    assert recalled(broken, "walrus") == ["walrus"]
    broken.close()


def test_near_duplicates_are_linked_and_both_stay(open_store) -> None:
    store = open_store()
    old = store.remember("the walrus colony lives in the northern bay near the old harbour").id
    new = store.remember("the walrus colony lives in the northern bay near the old harbour wall").id
    store.indexes.embed_pending()
    [link] = [found for found in store.related(new) if found.kind != "near"]
    assert (link.memory.id, link.kind, link.direction) == (old, "similar", "out")
    assert store.count() == 2


def test_utterances_of_a_conversation_are_not_linked_as_duplicates(open_store) -> None:
    store = open_store()
    ids = [
        store.remember(f"the walrus colony lives in the northern bay {word}", category="conversation").id
        for word in ("today", "tomorrow")
    ]
    store.indexes.embed_pending()
    assert {found.kind for id in ids for found in store.related(id)} == {"near"}


def test_the_bundled_model_finds_by_meaning(open_store) -> None:
    store = open_store(embedder=None)
    store.remember("The cat sat on the windowsill")
    store.remember("We deploy to production with a shell script")
    store.remember("PostgreSQL was chosen over MySQL")
    store.indexes.embed_pending()
    assert recalled(store, "feline", limit=1) == ["The cat sat on the windowsill"]
    assert recalled(store, "shipping a release", limit=1) == ["We deploy to production with a shell script"]
    vector = store._queue.choice.wanted().embed_query("feline")
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-3)


def test_the_bundled_model_finds_a_long_text_by_its_end(open_store) -> None:
    store = open_store(embedder=None)
    filler = "The committee discussed the budget for the coming year at length. " * 60
    store.remember(filler + "Then a cat walked across the table and slept.")
    store.remember("The committee will meet again in spring to discuss the budget.")
    store.indexes.embed_pending()
    assert len(store.recall("a kitten on the desk", limit=1)[0].memory.content) > 1000


def test_verify_counts_vectors_of_another_model_as_pending(open_store) -> None:
    old = open_store(embedder=WordEmbedder("model-a"))
    old.remember_many({"content": f"walrus {number}"} for number in range(3))
    old.indexes.embed_pending()
    old.remember("a walrus without a vector")
    assert old.indexes.verify().pending_embeddings == 1

    new = open_store(embedder=WordEmbedder("model-b"))
    assert new.indexes.verify().pending_embeddings == 4
    new.indexes.reindex()
    assert new.indexes.verify().pending_embeddings == 0
    assert old.indexes.verify().pending_embeddings == 4
