"""Recall: hits, empty answers, order and explanation."""

from __future__ import annotations

import pytest

from opencode_memory import InvalidInputError, MemoryStore
from support.embedders import WordEmbedder
from support.stores import DAY_MS, NOW_MS, recalled, set_clock


@pytest.fixture
def meaningful(open_store) -> MemoryStore:
    """A store whose embedder knows that a pinniped is a walrus."""
    return open_store(project="app", embedder=WordEmbedder(synonyms={"pinniped": "walrus"}))


def test_memory_is_found_by_words_at_once_and_by_meaning_once_embedded(meaningful: MemoryStore) -> None:
    meaningful.remember("walrus")
    assert recalled(meaningful, "walrus") == ["walrus"]
    assert recalled(meaningful, "pinniped") == []
    meaningful.indexes.embed_pending()
    assert recalled(meaningful, "pinniped") == ["walrus"]


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("Deployments are running", "deploy runs"),
        ("def parseHTTPResponse(body)", "http response"),
        ("def parseHTTPResponse(body)", "parseHTTPResponse"),
        ("set max_retry_count to 3", "retry count"),
        ("see src/app/main.py for that", "src/app/main.py"),
        ("see src/app/main.py for that", "main.py"),
        ("use the --dry-run flag", "--dry-run"),
        ("fixed by !123", "!123"),
        ("rustc says E0308", "e0308"),
        ("Das Café ist geöffnet", "cafe geoffnet"),
        ("東京都に行きました", "東京"),
        ("Мы используем базу данных", "данных"),
        ("the ﬁle system", "file"),
    ],
)
@pytest.mark.parametrize("is_indexed", [False, True])
def test_words_are_found_in_the_forms_that_people_type(
    store: MemoryStore, text: str, query: str, is_indexed: bool
) -> None:
    store.remember(text)
    store.remember("something else entirely")
    if is_indexed:
        store.indexes.catch_up()
    assert recalled(store, query) == [text]


def test_an_answer_may_be_empty(meaningful: MemoryStore) -> None:
    meaningful.remember("Deploys go through ./scripts/deploy.sh")
    meaningful.remember("We chose PostgreSQL")
    meaningful.indexes.embed_pending()
    assert recalled(meaningful, "price of tea in china") == []


def test_stop_words_do_not_make_an_answer(store: MemoryStore) -> None:
    store.remember("the of and to in a is")
    store.remember("a walrus is in the sea")
    assert recalled(store, "what is the height of the tower in the city") == []


def test_a_hit_by_a_stop_word_never_outranks_a_true_match(meaningful: MemoryStore) -> None:
    meaningful.remember("how do we do that, and why do we do it")
    meaningful.remember("release walrus")
    meaningful.indexes.embed_pending()
    assert recalled(meaningful, "how do we release the pinniped")[0] == "release walrus"


def test_age_never_buries_a_strong_match(store: MemoryStore) -> None:
    store.remember("the walrus colony lives in the northern bay", time="2006-01-01T00:00+00:00")
    store.remember("the walrus museum opened", time=NOW_MS)
    assert recalled(store, "walrus colony northern bay")[0] == "the walrus colony lives in the northern bay"


def test_of_two_equal_matches_the_newer_comes_first(store: MemoryStore) -> None:
    store.remember("walrus one", time=NOW_MS)
    store.remember("walrus two", time=NOW_MS - 300 * DAY_MS)
    assert recalled(store, "walrus") == ["walrus one", "walrus two"]


def test_ranks_count_from_one_and_scores_fall(store: MemoryStore) -> None:
    store.remember_many({"content": f"walrus {'walrus ' * (number % 3)}{number}"} for number in range(20))
    hits = store.recall("walrus", limit=7)
    assert [hit.rank for hit in hits] == list(range(1, 8))
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert all(hit.explanation is None for hit in hits)


def test_a_larger_limit_does_not_change_the_hits_before_it(meaningful: MemoryStore) -> None:
    meaningful.remember_many({"content": f"walrus {number} in the sea"} for number in range(30))
    meaningful.indexes.embed_pending()
    of_limit = {
        limit: [(hit.memory.id, hit.score) for hit in meaningful.recall("walrus sea", limit=limit)]
        for limit in (1, 5, 20)
    }
    assert of_limit[20][:5] == of_limit[5]
    assert of_limit[5][:1] == of_limit[1]


def test_the_explanation_adds_up_to_the_score(meaningful: MemoryStore) -> None:
    meaningful.remember("a walrus decision", category="decision", pinned=True)
    meaningful.remember("another walrus")
    meaningful.indexes.embed_pending()
    for hit in meaningful.recall("walrus decision", explain=True):
        assert hit.explanation is not None
        signals = hit.explanation.signals
        assert sum(signal.contribution for signal in signals) == pytest.approx(hit.score)
        assert {"words", "meaning", "recency"} <= {signal.name for signal in signals}
        assert all(signal.detail in str(hit.explanation) for signal in signals)
    best = meaningful.recall("walrus decision", explain=True)[0]
    assert {"pinned", "category"} <= {signal.name for signal in best.explanation.signals}


def test_explaining_changes_no_answer(meaningful: MemoryStore) -> None:
    meaningful.remember_many({"content": f"walrus {number}"} for number in range(5))
    meaningful.indexes.embed_pending()
    plain = [(hit.memory.id, hit.score) for hit in meaningful.recall("walrus 3")]
    assert [(hit.memory.id, hit.score) for hit in meaningful.recall("walrus 3", explain=True)] == plain


def test_recall_counts_uses_without_being_a_write(store: MemoryStore) -> None:
    id = store.remember("a walrus").id
    seq = store.stats().seq
    set_clock(store, NOW_MS + 5000)
    store.recall("walrus")
    store.recall("walrus")
    store.maintain()
    assert store.stats().seq == seq
    memory = store.get(id)
    assert (memory.uses, memory.updated_at) == (2, memory.created_at)
    assert [entry.kind for entry in store.history(id)] == ["create"]


def test_a_long_text_is_found_by_its_last_words(open_store) -> None:
    store = open_store(embedder=WordEmbedder(synonyms={"pinniped": "walrus"}, window=8))
    store.remember(" ".join(f"filler{number}" for number in range(999)) + " walrus")
    store.indexes.embed_pending()
    assert len(store.recall("walrus")) == len(store.recall("pinniped")) == 1


def test_a_text_of_many_chunks_is_one_hit(meaningful: MemoryStore) -> None:
    meaningful.remember("walrus " * 500)
    meaningful.indexes.embed_pending()
    assert len(meaningful.recall("pinniped")) == len(meaningful.recall("walrus")) == 1


def test_answers_are_the_same_before_and_after_the_indexes_have_caught_up(meaningful: MemoryStore) -> None:
    meaningful.remember_many({"content": f"walrus number {number} of the sea"} for number in range(40))
    meaningful.remember("a lone heron")
    meaningful.indexes.embed_pending()
    queries = ("heron", "pinniped", "number 17")
    before = [recalled(meaningful, query)[:1] for query in queries]
    meaningful.indexes.catch_up()
    assert (
        [recalled(meaningful, query)[:1] for query in queries]
        == before
        == [
            ["a lone heron"],
            before[1],
            ["walrus number 17 of the sea"],
        ]
    )


@pytest.mark.parametrize("limit", [0, -1, 1001, 2**63, 2**200])
def test_a_limit_out_of_bounds_is_refused(store: MemoryStore, limit: int) -> None:
    with pytest.raises(InvalidInputError) as error:
        store.recall("walrus", limit=limit)
    assert error.value.field == "limit"


def test_a_period_that_ends_before_it_begins_is_refused(store: MemoryStore) -> None:
    with pytest.raises(InvalidInputError, match="until"):
        store.recall("walrus", since=NOW_MS, until=NOW_MS - 1)
