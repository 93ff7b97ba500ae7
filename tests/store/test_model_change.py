"""Changes of the embedding model: recall goes on, an interruption loses little, and a failing text blocks nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from opencode_memory import MemoryStore
from opencode_memory.errors import ConflictError, EmbeddingError
from opencode_memory.models.found import Hit, Signal
from opencode_memory.store import model_change
from opencode_memory.worker.duties import maintenance_duties
from support.embedders import DownEmbedder, HookedEmbedder, Vectors, WordEmbedder
from support.stores import texts
from support.worker_loop import BAD, fails_on_marker, work_until_idle

OpenStore = Callable[..., MemoryStore]

_OLD = WordEmbedder("old", dimension=64, synonyms={"car": "vehicle", "automobile": "vehicle"})
_TEXTS = [f"The automobile of team {number} is painted in colour {number}" for number in range(150)]


def _new() -> WordEmbedder:
    return WordEmbedder("new", dimension=96, synonyms={"cat": "animal", "feline": "animal"})


@pytest.fixture
def filled(open_store: OpenStore) -> MemoryStore:
    """A store whose memories the former model embedded."""
    store = open_store(project="app", embedder=_OLD, background=False)
    store.remember_many({"content": text} for text in _TEXTS)
    assert store.indexes.embed_pending() == len(_TEXTS)
    return store


def _signals(hits: Sequence[Hit]) -> list[Signal]:
    return [signal for hit in hits if hit.explanation is not None for signal in hit.explanation.signals]


def test_recall_goes_on_by_meaning_while_memories_are_embedded(filled: MemoryStore, open_store: OpenStore) -> None:
    seen: list[bool] = []
    searching = open_store(project="app", embedder=_OLD, background=False)

    def look(_: Sequence[str]) -> None:
        hits = searching.recall("car", limit=3, explain=True)
        seen.append(any(signal.name == "meaning" for signal in _signals(hits)))

    store = open_store(project="app", embedder=HookedEmbedder(look, "new"), other_embedders=[_OLD], background=False)
    assert store.indexes.models.change() == len(_TEXTS)
    assert len(seen) >= 2
    assert all(seen)
    assert store.indexes.models.status().active == "new"
    assert store.indexes.count_pending() == 0


def test_all_processes_use_the_next_model_at_once(filled: MemoryStore, open_store: OpenStore) -> None:
    new = _new()
    serving = open_store(project="app", embedder=_OLD, other_embedders=[new], background=False)
    assert serving.indexes.mismatch() is None
    open_store(project="app", embedder=new, other_embedders=[_OLD], background=False).indexes.models.change()
    assert serving.indexes.mismatch() is None
    assert serving._queue.matching_embedder() is new
    assert filled.indexes.mismatch() is not None
    serving.remember("A feline sleeps on the sofa")
    assert serving.indexes.embed_pending() == 1
    assert texts(serving.recall("cat"))[0] == "A feline sleeps on the sofa"


class _SlowEmbedder(WordEmbedder):
    """Calls a hook after it has embedded a query."""

    def __init__(self, after: Callable[[], object]) -> None:
        super().__init__("old", dimension=64, synonyms={"car": "vehicle", "automobile": "vehicle"})
        self._after = after

    def embed_query(self, text: str) -> Vectors:
        """Embed a query, then call the hook."""
        vector = super().embed_query(text)
        self._after()
        return vector


@pytest.mark.parametrize("dimension", [64, 96])
def test_query_that_the_former_model_embedded_is_not_compared_after_a_change(
    filled: MemoryStore, open_store: OpenStore, dimension: int
) -> None:
    new = WordEmbedder("new", dimension=dimension)
    changing = open_store(project="app", embedder=new, other_embedders=[_OLD], background=False)
    searching = open_store(project="app", embedder=_SlowEmbedder(changing.indexes.models.change), background=False)
    hits = searching.recall("car of team 77", limit=3, explain=True)
    assert changing.indexes.models.status().active == "new"
    assert "team 77" in hits[0].memory.content
    assert "meaning" not in {signal.name for signal in _signals(hits)}


class _StopError(Exception):
    """Ends a change in the middle, as a kill does."""


def test_change_goes_on_where_it_was_interrupted(filled: MemoryStore, open_store: OpenStore) -> None:
    engine = filled._engine
    assert not model_change.stage(engine, _new(), limit=100)
    with pytest.raises(_StopError):
        model_change.stage(engine, HookedEmbedder(_raise_stop, "new", dimension=96))
    status = open_store(project="app", embedder=_new(), background=False).indexes.models.status()
    assert (status.active, status.next) == ("old", "new")
    assert 100 <= status.embedded < len(_TEXTS)
    rest = _new()
    store = open_store(project="app", embedder=rest, other_embedders=[_OLD], background=False)
    assert store.indexes.models.change() == len(_TEXTS)
    assert len(rest.embedded) == len(_TEXTS) - status.embedded


def _raise_stop(_: Sequence[str]) -> None:
    raise _StopError


def test_worker_goes_on_with_a_change_that_was_begun(filled: MemoryStore, open_store: OpenStore) -> None:
    store = open_store(project="app", embedder=_new(), other_embedders=[_OLD])
    work_until_idle(store, maintenance_duties())
    assert store.indexes.models.status().active == "old", "nobody has asked for a change"
    store.indexes.models.begin_change()
    work_until_idle(store, maintenance_duties())
    assert store.indexes.models.status().active == "new"
    assert store.indexes.count_pending() == 0


def test_worker_without_the_next_model_leaves_the_change_to_others(filled: MemoryStore, open_store: OpenStore) -> None:
    open_store(project="app", embedder=_new(), background=False).indexes.models.begin_change()
    work_until_idle(filled, maintenance_duties())
    assert filled.indexes.models.status().next == "new"
    with pytest.raises(EmbeddingError, match="does not have the next model"):
        filled.indexes.models.go_on(limit=1)


def test_text_that_fails_waits_and_blocks_no_other(filled: MemoryStore, open_store: OpenStore) -> None:
    filled.remember(f"the {BAD} one")
    filled.indexes.embed_pending()
    embedder = HookedEmbedder(fails_on_marker, "new")
    store = open_store(project="app", embedder=embedder, other_embedders=[_OLD], background=False)
    assert store.indexes.models.change() == len(_TEXTS)
    assert store.indexes.count_pending() == 1


def test_model_that_fails_ends_the_change_and_keeps_the_former(filled: MemoryStore, open_store: OpenStore) -> None:
    store = open_store(project="app", embedder=DownEmbedder(), other_embedders=[_OLD], background=False)
    with pytest.raises(EmbeddingError):
        store.indexes.models.change()
    assert store.indexes.models.status().active == "old"
    assert store.indexes.mismatch() is None
    assert store.indexes.models.give_up_change()
    assert store.indexes.models.status().next is None


def test_purge_during_a_change_costs_time_only(filled: MemoryStore, open_store: OpenStore) -> None:
    erased = filled.remember("A secret plan of the automobile club").id
    filled.indexes.embed_pending()
    purged: list[str] = []

    def purge(_: Sequence[str]) -> None:
        if not purged:
            purged.append(erased)
        elif purged == [erased]:
            purged.append("done")
            filled.purge(erased)

    store = open_store(project="app", embedder=HookedEmbedder(purge, "new"), other_embedders=[_OLD], background=False)
    assert store.indexes.models.change() == len(_TEXTS)
    assert purged == [erased, "done"]
    assert store.indexes.count_pending() == 0


def test_purge_and_maintenance_during_a_change_embed_no_text_again(filled: MemoryStore, open_store: OpenStore) -> None:
    new = _new()
    assert not model_change.stage(filled._engine, new, limit=64)
    staged = len(new.embedded)
    purged = filled.recall("automobile", limit=1)[0].memory
    filled.purge(purged.id)
    filled.maintain()
    store = open_store(project="app", embedder=new, other_embedders=[_OLD], background=False)
    assert store.indexes.models.change() == len(_TEXTS) - 1
    assert len(new.embedded) == len(set(new.embedded))
    assert len(_TEXTS) - 1 <= len(new.embedded) <= len(_TEXTS)
    assert staged == 64


def test_change_that_is_given_up_leaves_no_vector(filled: MemoryStore) -> None:
    new = _new()
    model_change.stage(filled._engine, new, limit=64)
    filled.indexes.models.give_up_change()
    filled._engine.begin_model_change(new.model_id, new.dimension)
    assert not any(filled._engine.staged_embeddings(_TEXTS))


def test_reindex_changes_the_model_with_the_former_vectors_in_use(filled: MemoryStore, open_store: OpenStore) -> None:
    store = open_store(project="app", embedder=_new(), other_embedders=[_OLD], background=False)
    assert store.indexes.reindex().embedded == len(_TEXTS)
    assert store.indexes.models.status().active == "new"


def test_change_to_the_active_model_is_refused(filled: MemoryStore) -> None:
    with pytest.raises(ConflictError, match="active model already"):
        filled.indexes.models.change()


class _ShortEmbedder(WordEmbedder):
    def embed(self, texts: Sequence[str]) -> Vectors:
        return super().embed(texts)[:-1] if len(texts) > 1 else np.empty((0, self.dimension), np.float32)


def test_vectors_that_are_missing_in_an_answer_are_an_error(filled: MemoryStore, open_store: OpenStore) -> None:
    store = open_store(project="app", embedder=_ShortEmbedder("new"), other_embedders=[_OLD], background=False)
    with pytest.raises(EmbeddingError, match="vectors for"):
        store.indexes.models.change()
    assert store.indexes.models.status().active == "old"
