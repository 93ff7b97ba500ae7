"""The session index beside a store: turns from plain records, and one ranked answer with the memories."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

import opencode_memory
from opencode_memory.errors import CorruptStoreError, InvalidInputError
from opencode_memory.models import ALL_PROJECTS, Hit, SessionHit, Turn
from opencode_memory.store.memory_store import MemoryStore
from opencode_memory.store.turns import SessionPage
from support.embedders import WordEmbedder
from support.turns import AT, PlainTexts, add, page


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryStore]:
    with opencode_memory.open(
        tmp_path / "store", embedder=WordEmbedder(), background=False, clock_ms=int(AT.timestamp() * 1000)
    ) as store:
        yield store


def labels(hits: Sequence[Hit | SessionHit]) -> list[str]:
    return [hit.turn.message if isinstance(hit, SessionHit) else hit.memory.content for hit in hits]


def test_memories_and_turns_are_one_ranked_answer(store: MemoryStore) -> None:
    store.remember("Orders are shipped by the carrier Hermes.", project="shop")
    store.indexes.embed_pending()
    add(store, {"m1": "For islands, orders of glass go by another carrier.", "m2": "Lunch is at noon."})
    hits = store.search("carrier orders glass islands", project="shop")
    assert labels(hits)[:2] == ["m1", "Orders are shipped by the carrier Hermes."]
    assert [hit.rank for hit in hits] == [*range(1, len(hits) + 1)]
    assert labels(store.search("carrier orders", project="shop", sources="memories")) == [
        "Orders are shipped by the carrier Hermes."
    ]
    found = store.search("carrier orders", project="shop", sources="sessions")
    assert all(isinstance(hit, SessionHit) for hit in found)


def test_memory_stands_before_the_turn_that_says_the_same(store: MemoryStore) -> None:
    store.remember("Never deploy on a Friday.", project="shop")
    store.remember("Deploys need two approvals.", project="shop", source={"session": "ses", "message": "m2"})
    store.indexes.embed_pending()
    add(store, {"m1": "never deploy  on a friday.", "m2": "From now on, deploys need two approvals by the team."})
    assert labels(store.search("deploy on a friday", project="shop"))[0] == "Never deploy on a Friday."
    shown = labels(store.search("deploys friday approvals", project="shop"))
    assert "m1" not in shown
    assert "m2" not in shown


class RecordingTexts(PlainTexts):
    """Records which messages were read."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        super().__init__(texts)
        self.asked: list[str] = []

    def read(self, turns: Sequence[Turn]) -> list[Turn | None]:
        self.asked += [turn.message for turn in turns]
        return super().read(turns)


def test_only_texts_of_shown_turns_are_read(store: MemoryStore) -> None:
    store.remember("The carrier of orders is Hermes.", project="shop")
    store.indexes.embed_pending()
    texts = {f"m{number}": f"Carrier orders, islands, {'glass ' * number}" for number in range(6)}
    add(store, texts)
    store.turns.texts = recording = RecordingTexts(texts)
    hits = store.search("carrier orders", project="shop", limit=3)
    shown = [hit.turn.message for hit in hits if isinstance(hit, SessionHit)]
    assert len(shown) == 2
    assert recording.asked == shown


def test_next_turn_takes_the_place_of_one_that_must_not_be_shown(store: MemoryStore) -> None:
    store.remember("The carrier of orders is Hermes.", project="shop")
    store.indexes.embed_pending()
    texts = {f"m{number}": f"Carrier orders, islands, {'glass ' * number}" for number in range(6)}
    add(store, texts)
    best = labels(store.search("carrier orders islands", project="shop", limit=3))
    hidden = next(label for label in best if label in texts)
    store.turns.texts = PlainTexts({message: text for message, text in texts.items() if message != hidden})
    left = store.search("carrier orders islands", project="shop", limit=3)
    assert hidden not in labels(left)
    assert len(left) == 3
    assert all(hit.turn.text for hit in left if isinstance(hit, SessionHit))


def test_turn_without_a_text_is_not_shown(store: MemoryStore) -> None:
    add(store, {"m1": "The carrier is Hermes."})
    store.turns.texts = PlainTexts({"m1": ""})
    assert store.search("carrier", project="shop") == []


def test_recall_of_memories_does_not_change(store: MemoryStore) -> None:
    store.remember("Orders are shipped by the carrier Hermes.", project="shop")
    store.indexes.embed_pending()
    before = [(hit.memory.id, hit.score) for hit in store.recall("carrier orders", project="shop")]
    add(store, {"m1": "The carrier of orders is Hermes."})
    assert [(hit.memory.id, hit.score) for hit in store.recall("carrier orders", project="shop")] == before


def test_turns_of_another_project_are_not_found(store: MemoryStore) -> None:
    add(store, {"m1": "The carrier is Hermes."})
    assert store.search("carrier", project="other", sources="sessions") == []
    assert labels(store.search("carrier", project=ALL_PROJECTS, sources="sessions")) == ["m1"]


def test_sessions_of_one_id_in_two_databases_are_both_read(store: MemoryStore) -> None:
    add(store, {"m1": "The carrier is Hermes.", "m2": "Lunch is at noon.", "m3": "The bell rings."})
    twin = replace(page("ses", {"m3": "The bell rings."}), database="/other.db")
    assert store.turns.add([twin, page("else", {"m4": "Tea is at four."})])
    found = store.turns.of_session("ses", first=0, limit=2)
    assert [(turn.database, turn.message) for turn in found] == [
        ("/agent.db", "m1"),
        ("/agent.db", "m2"),
        ("/other.db", "m3"),
    ]
    assert store.turns.of_session("unknown") == []


def test_period_selects_turns(store: MemoryStore) -> None:
    add(store, {"m1": "The carrier is Hermes."})
    assert store.search("carrier", project="shop", sources="sessions", until="2026-02-01") == []
    assert labels(store.search("carrier", project="shop", sources="sessions", since="2026-02-01")) == ["m1"]


def test_filter_that_turns_lack_leaves_sessions_out(store: MemoryStore) -> None:
    add(store, {"m1": "The carrier is Hermes."})
    assert store.search("carrier", project="shop", category="fact") == []
    with pytest.raises(InvalidInputError, match="sources: sessions cannot be filtered"):
        store.search("carrier", project="shop", category="fact", sources="sessions")


def test_unknown_source_is_refused(store: MemoryStore) -> None:
    with pytest.raises(InvalidInputError, match="sources: 'files' is none of memories, sessions, all"):
        store.search("carrier", sources="files")


def test_session_moves_with_its_project(store: MemoryStore) -> None:
    add(store, {"m1": "The carrier is Hermes."})
    assert store.search("carrier", project="shop", sources="sessions")
    assert store.turns.add([SessionPage(database="/agent.db", session="ses", project="store")])
    assert store.search("carrier", project="shop", sources="sessions") == []
    assert labels(store.search("carrier", project="store", sources="sessions")) == ["m1"]


def test_dropped_session_is_gone_and_its_keys_are_not_used_again(store: MemoryStore) -> None:
    add(store, {"m1": "The carrier is Hermes."})
    assert store.turns.drop("/agent.db", ["ses"])
    assert store.search("carrier", project="shop", sources="sessions") == []
    add(store, {"m2": "The ledger is yearly."})
    assert store.search("carrier", project="shop", sources="sessions") == []
    assert labels(store.search("ledger", project="shop", sources="sessions")) == ["m2"]


def test_restart_replaces_the_turns_of_a_session(store: MemoryStore) -> None:
    add(store, {"m1": "The carrier is Hermes.", "m2": "The ledger is yearly."})
    assert store.turns.add([page("ses", {"m2": "The ledger is yearly."}, restart=True)])
    assert [turn.message for turn in store.turns.of_session("ses")] == ["m2"]
    assert store.search("carrier", project="shop", sources="sessions") == []


def test_other_store_object_sees_new_turns(store: MemoryStore) -> None:
    add(store, {"m1": "The carrier is Hermes."})
    with opencode_memory.open(store.data_dir, embedder=WordEmbedder(), read_only=True) as other:
        other.turns.texts = PlainTexts({"m1": "The carrier is Hermes.", "m2": "The ledger is yearly."})
        assert labels(other.search("carrier", project="shop", sources="sessions")) == ["m1"]
        assert store.turns.add([page("ses", {"m2": "The ledger is yearly."})])
        assert labels(other.search("ledger", project="shop", sources="sessions")) == ["m2"]
        assert store.turns.clear()
        assert other.search("ledger", project="shop", sources="sessions") == []


def test_lock_of_the_index_outlives_it(store: MemoryStore) -> None:
    """Otherwise one process would lock the deleted file, another one a new file, and both would write."""
    add(store, {"m1": "The carrier is Hermes."})
    lock = store.data_dir / "sessions" / "indexer.lock"
    locked = lock.stat().st_ino
    assert store.turns.clear()
    assert sorted(left.name for left in lock.parent.iterdir()) == [lock.name]
    changed = lock.parent.stat().st_mtime_ns
    assert store.turns.clear()
    assert store.turns.drop("/agent.db", ["ses"])
    assert lock.parent.stat().st_mtime_ns == changed, "no index was created only to be deleted"
    add(store, {"m1": "The carrier is Hermes."})
    with closing(sqlite3.connect(lock.with_name("turns.db"))) as index:
        index.execute("PRAGMA user_version = 1")
    with opencode_memory.open(store.data_dir, embedder=WordEmbedder()) as other:
        assert other.turns.counts().turns == 0
        assert other.turns.add([page("ses", {"m2": "The ledger is yearly."})])
        assert other.turns.counts().turns == 1
    assert lock.stat().st_ino == locked


def test_other_model_starts_a_new_index(store: MemoryStore) -> None:
    add(store, {"m1": "The carrier is Hermes."})
    with opencode_memory.open(store.data_dir, embedder=WordEmbedder("others", dimension=64)) as other:
        assert not other.turns.add([page("ses", {"m2": "The ledger is yearly."})])
        assert other.turns.counts().turns == 0
        assert other.turns.add([page("ses", {"m2": "The ledger is yearly."})])


def test_vector_of_another_model_is_not_compared(store: MemoryStore) -> None:
    add(store, {"m1": "The carrier is Hermes."})
    same = WordEmbedder(synonyms={"zebra": "carrier"})
    for embedder, found in ((same, ["m1"]), (WordEmbedder("others", synonyms={"zebra": "carrier"}), [])):
        with opencode_memory.open(store.data_dir, embedder=embedder, read_only=True) as other:
            other.turns.texts = store.turns.texts
            assert labels(other.search("zebra", project="shop", sources="sessions")) == found


def test_damaged_full_text_index_starts_a_new_index(store: MemoryStore) -> None:
    add(store, {"m1": "The carrier is Hermes."})
    for path in (store.data_dir / "sessions" / "lexical").glob("*.term"):
        path.write_bytes(b"x")
    assert not store.turns.add([page("ses", {"m2": "The ledger is yearly."})])
    assert store.turns.progress("/agent.db") == {}
    add(store, {"m1": "The carrier is Hermes."})
    assert labels(store.search("carrier", project="shop", sources="sessions")) == ["m1"]


def test_read_only_store_with_a_damaged_session_index_finds_memories(
    store: MemoryStore, caplog: pytest.LogCaptureFixture
) -> None:
    memory = "Orders are shipped by the carrier Hermes."
    store.remember(memory, project="shop")
    add(store, {"m1": "The carrier of orders is Hermes."})
    store.close()
    (store.data_dir / "sessions" / "turns.db").write_bytes(b"not a database, " * 1_000)
    with opencode_memory.open(store.data_dir, embedder=WordEmbedder(), read_only=True) as reader:
        reader.turns.texts = store.turns.texts
        for _ in range(2):
            assert labels(reader.search("carrier orders", project="shop")) == [memory]
        with pytest.raises(CorruptStoreError, match="the session index is damaged"):
            reader.search("carrier orders", project="shop", sources="sessions")
    assert len([record for record in caplog.records if "sessions were not searched" in record.message]) == 1


@pytest.mark.parametrize(
    ("opening", "speaker", "order"),
    [
        ("Amendment to the rule about the carrier.", "user", ["new", "old"]),
        ("A question about the carrier.", "user", ["old", "new"]),
        ("Amendment to the rule about the carrier.", "assistant", ["old", "new"]),
    ],
)
def test_session_whose_person_announces_a_change_stands_first(
    store: MemoryStore, opening: str, speaker: str, order: list[str]
) -> None:
    texts = {
        "old": "The carrier of orders is Hermes.",
        "opening": opening,
        "new": "The carrier of glass orders is Hydra.",
    }
    later = page("later", {name: texts[name] for name in ("opening", "new")})
    first, second = (replace(turn, time=AT + timedelta(days=1)) for turn in later.turns)
    later = replace(later, turns=[replace(first, speaker=speaker), second])
    assert store.turns.add([page("earlier", {"old": texts["old"]}), later])
    store.turns.texts = recording = RecordingTexts(texts)
    found = store.search("carrier of orders", project="shop", sources="sessions", limit=2)
    assert labels(found) == order
    # The index says that the session announces a change, so the text of its first message is not read.
    assert "opening" not in recording.asked
