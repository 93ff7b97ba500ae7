"""``doctor --recall`` on real stores: its searches, its findings, and that it changes nothing."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import opencode_memory
from opencode_memory import InvalidInputError, MemoryStore
from opencode_memory.cli.output import cells
from opencode_memory.maintenance.recall_check import DEFAULT_SAMPLE, check_recall
from opencode_memory.maintenance.recall_report import HitRate, RecallCheck
from support.command_line import CommandLine
from support.embedders import DownEmbedder, WordEmbedder
from support.stores import DAY_MS, NOW_MS, set_clock

OpenStore = Callable[..., MemoryStore]
NOW = datetime.fromtimestamp(NOW_MS / 1000, UTC)


class OtherModel(WordEmbedder):
    """A model other than the one of the store's vectors."""

    def __init__(self) -> None:
        super().__init__("another")


def write_memories(store: MemoryStore, *contents: str, **fields: Any) -> list[str]:
    """Write memories one second apart, embed them, and return their ids."""
    ids = []
    for content in contents:
        set_clock(store, store._engine.now_ms() + 1000)
        ids.append(store.remember(content, **fields).id)
    store.indexes.embed_pending()
    return ids


def check(open_store: OpenStore, **options: Any) -> RecallCheck:
    """Check the store at ``NOW``, as the doctor opens it."""
    return check_recall(open_store(read_only=True), **({"at": NOW} | options))


def numbered_texts(count: int) -> list[str]:
    """Return texts that share most words; each has one unique word in the middle."""
    return [f"The service reads from shard{number} of the table and writes to the log." for number in range(count)]


def test_check_searches_by_rarest_words_and_topic(store: MemoryStore, open_store: OpenStore) -> None:
    write_memories(store, *numbered_texts(20))
    write_memories(store, "Ulla signs the release.", topic="release", category="decision")
    found = check(open_store)
    assert found.words.overall == HitRate(asked=21, hits_at_1=21, hits_at_10=21)
    assert found.words.by_category == {
        "decision": HitRate(asked=1, hits_at_1=1, hits_at_10=1), "fact": HitRate(asked=20, hits_at_1=20, hits_at_10=20),
    }  # fmt: skip
    assert found.topics.overall == HitRate(asked=1, hits_at_1=1, hits_at_10=1)
    assert (found.memories, found.sampled, found.by_meaning) == (21, 21, True)
    assert found.words.missed == found.topics.missed == ()


def test_missed_memory_is_reported_with_its_query(store: MemoryStore, open_store: OpenStore) -> None:
    # Equal matches are ordered newest first, and there are more of them than the result limit.
    (lost,) = write_memories(store, "We put it into the blue cabinet.", topic="service table")
    write_memories(store, *numbered_texts(15))
    (missed,) = check(open_store).topics.missed
    assert (missed.memory.id, missed.memory.excerpt) == (lost, "We put it into the blue cabinet.")
    assert (missed.query, missed.project, missed.rank) == ("service table", "app", None)
    assert missed.first is not None
    assert missed.first != lost


def test_check_counts_no_use_and_changes_no_file(store: MemoryStore, open_store: OpenStore, data_dir: Path) -> None:
    write_memories(store, *numbered_texts(5))
    store.recall("shard1")
    store.close()
    before = file_hashes(data_dir)
    with open_store(read_only=True) as looked:
        uses = {memory.id: memory.uses for memory in looked.list(project="app")}
        seq = looked.stats().seq
        assert check_recall(looked, at=NOW).words.overall.hits_at_1 == 5
    assert file_hashes(data_dir) == before
    again = open_store()
    assert {memory.id: memory.uses for memory in again.list(project="app")} == uses
    assert any(uses.values())
    assert again.stats().seq == seq


def test_writable_store_is_refused(store: MemoryStore) -> None:
    with pytest.raises(InvalidInputError, match="read_only"):
        check_recall(store, at=NOW)


def test_sample_below_one_is_refused(store: MemoryStore, open_store: OpenStore) -> None:
    with pytest.raises(InvalidInputError, match="sample"):
        check(open_store, sample=0)


def test_repeated_check_gives_the_same_result(store: MemoryStore, open_store: OpenStore) -> None:
    write_memories(store, *numbered_texts(60))
    first = check(open_store, sample=20)
    assert (first.memories, first.sampled) == (60, 20)
    assert first == check(open_store, sample=20)


def test_empty_store_gives_empty_report(store: MemoryStore, open_store: OpenStore) -> None:
    found = check(open_store)
    assert (found.memories, found.sampled) == (0, 0)
    assert found.words.overall == found.topics.overall == HitRate(asked=0, hits_at_1=0, hits_at_10=0)


@pytest.mark.parametrize("embedder", [DownEmbedder(), OtherModel()], ids=["model down", "another model"])
def test_check_without_usable_model_searches_by_words(
    store: MemoryStore, open_store: OpenStore, embedder: WordEmbedder
) -> None:
    write_memories(store, *numbered_texts(8))
    found = check_recall(open_store(read_only=True, embedder=embedder), at=NOW)
    assert found.words.overall.hits_at_1 == 8
    assert found.by_meaning is (embedder.model_id == "words")
    assert (found.model_mismatch is None) is found.by_meaning


def test_check_without_vectors_searches_by_words(open_store: OpenStore) -> None:
    writer = open_store(project="app")
    for content in numbered_texts(8):
        writer.remember(content)
    found = check(open_store)
    assert (found.by_meaning, found.pending_embeddings, found.model_mismatch) == (False, 8, None)
    assert found.words.overall.hits_at_1 == 8
    assert found.similar == ()


def test_memory_without_searchable_words_is_skipped(store: MemoryStore, open_store: OpenStore) -> None:
    write_memories(store, "the of and", "a walrus")
    found = check(open_store)
    assert (found.sampled, found.without_words, found.words.overall.asked) == (2, 1, 1)


def test_duplicates_and_contradictions_are_reported_as_pairs(store: MemoryStore, open_store: OpenStore) -> None:
    older, newer = write_memories(
        store,
        "Orders are stored in the PostgreSQL database today, always there.",
        "Orders are stored in the PostgreSQL database today, always here.",
    )
    five, three = write_memories(
        store,
        "Every upload of a picture to the image server is tried at most 5 times by the worker.",
        "Every upload of a picture to the image server is tried at most 3 times by the worker.",
    )
    found = check(open_store)
    assert [(pair.newer.id, pair.older.id) for pair in found.similar] == [(newer, older)]
    assert found.similar[0].weight == pytest.approx(0.916, abs=0.001)
    assert [(pair.newer.id, pair.older.id) for pair in found.contradicting] == [(three, five)]


def test_contradictions_of_inactive_memories_are_ignored(store: MemoryStore, open_store: OpenStore) -> None:
    kept, archived, expired, elsewhere = (
        write_memories(store, f"A walrus number {number}.", **fields)[0]
        for number, fields in enumerate(
            ({}, {}, {"expires_at": NOW + timedelta(days=1)}, {"project": "other"}), start=1
        )
    )
    for other in (archived, expired, elsewhere):
        store._engine.link(kept, other, "contradicts", 1.0, "because")
    assert len(check(open_store).contradicting) == 3
    store.archive(archived)
    assert [pair.newer.id for pair in check(open_store, project="app").contradicting] == [expired]
    later = open_store(read_only=True, clock_ms=NOW_MS + 2 * DAY_MS)
    found = check_recall(later, at=NOW + timedelta(days=2)).contradicting
    assert [pair.newer.project for pair in found] == ["other"]


def test_unused_and_stale_memories_ignore_the_sample(store: MemoryStore, open_store: OpenStore) -> None:
    set_clock(store, NOW_MS - 200 * DAY_MS)
    stale = write_memories(store, *numbered_texts(5))
    set_clock(store, NOW_MS - 40 * DAY_MS)
    unused = write_memories(store, "A heron.")
    (used,) = write_memories(store, "A walrus.")
    set_clock(store, NOW_MS - DAY_MS)
    store.recall("walrus")
    write_memories(store, "An otter.")
    store.close()
    found = check(open_store, sample=1)
    assert [memory.id for memory in found.stale] == stale
    assert [memory.id for memory in found.never_recalled] == [*stale, *unused]
    assert used not in {memory.id for memory in found.never_recalled}
    assert found.sampled == 1


def test_memory_is_searched_in_its_own_project(store: MemoryStore, open_store: OpenStore) -> None:
    write_memories(store, "A walrus of the app.")
    write_memories(store, "A heron of the other.", project="other")
    write_memories(store, "An otter of the person.", scope="global")
    everywhere = check(open_store)
    assert everywhere.words.overall == HitRate(asked=3, hits_at_1=3, hits_at_10=3)
    assert check(open_store, project="app").memories == 2
    assert check(open_store, project="nowhere").memories == 1


def test_progress_reports_reading_and_asking(store: MemoryStore, open_store: OpenStore) -> None:
    write_memories(store, *numbered_texts(120))
    updates: list[tuple[str, int, int]] = []
    check(open_store, sample=4, progress=lambda *update: updates.append(update))
    assert updates == [("reading", 100, 120), *(("asking", done, 4) for done in range(1, 5))]


def test_memory_deleted_during_check_is_skipped(store: MemoryStore, open_store: OpenStore) -> None:
    ids = write_memories(store, *numbered_texts(100))
    found = check(open_store, progress=lambda stage, *_: store.delete(ids[:3]) if stage == "reading" else None)
    assert (found.memories, found.sampled) == (100, 97)
    assert found.words.overall == HitRate(asked=97, hits_at_1=97, hits_at_10=97)


def test_memory_added_during_check_is_not_counted(store: MemoryStore, open_store: OpenStore) -> None:
    store.remember_many({"content": text} for text in numbered_texts(1500))
    came: list[str] = []

    def write_one(stage: str, done: int, _total: int) -> None:
        if (stage, done) == ("reading", 500):
            came.append(store.remember("A heron.").id)

    found = check(open_store, sample=3, progress=write_one)
    assert came
    assert found.memories == 1500


# -- the command


@pytest.fixture
def shop(cli: CommandLine, tmp_path: Path) -> MemoryStore:
    """The store of the command line, open for writing at a time long past."""
    folder = tmp_path / "data" / "opencode-memory" / "store"
    return opencode_memory.open(folder, project="shop", background=False, clock_ms=NOW_MS - 900 * DAY_MS)


def test_doctor_recall_without_store_creates_none(cli: CommandLine) -> None:
    assert "the first memory creates it" in cli.ok("doctor", "--recall").out
    answer = cli.ok("doctor", "--recall", "--json").json
    assert (answer["ok"], answer["recall"]) == (True, None)
    assert not Path(cli.ok("config", "show", "--json").json["values"]["data_dir"]["value"]).exists()


def test_hints_are_existing_commands_within_80_columns(cli: CommandLine, shop: MemoryStore) -> None:
    with shop:
        older = shop.remember("We retry uploads at most 5 times, whatever the network says of it.").id
        newer = shop.remember("We retry uploads at most 3 times, whatever the network says of it.", trust="agent").id
        again = shop.remember("Every order lies in PostgreSQL " + "with 日本語 and all " * 20, category="decision").id
        shop._engine.link(newer, older, "contradicts", 1.0, "another number")
        shop._engine.link(again, older, "similar", 0.95, "cosine 0.950")
        # Equal matches are ordered newest first, and there are more of them than the result limit.
        shop.remember("We put it into the cabinet.", topic="colour of the pipe in the cellar")
        for number in range(12):
            shop.remember(f"The colour of pipe {number} in the cellar is green.")
    answer = cli.ok("doctor", "--recall")
    lines = answer.out.splitlines()
    assert max(map(cells, lines)) <= 80
    # The earlier of two contradicting statements is shown behind the later one.
    assert "        fact         15   93 %  100 %" in lines
    assert any(line.startswith("ok      own words     16 searches") for line in lines)
    assert f"        opencode-memory show {newer[-8:]} {older[-8:]}" in lines
    assert f"        opencode-memory show {again[-8:]} {older[-8:]}" in lines
    assert any(line.startswith("note    stale         16 memories") for line in lines)
    assert "        and 13 more; --json has them all" in lines
    commands = [line.split()[1] for line in lines if line.strip().startswith("opencode-memory ")]
    assert set(commands) == {"recall", "edit", "show", "archive", "reindex"}, answer.out
    for command in commands:
        assert cli(command, "--help").code == 0


def test_doctor_recall_json_has_all_checks_and_fields(cli: CommandLine, shop: MemoryStore) -> None:
    with shop:
        shop.remember("A walrus.", topic="walrus")
        shop.remember("A heron.", category="decision")
    report = cli.ok("doctor", "--recall", "--json").json
    assert report["ok"] is True
    assert {check["name"] for check in report["checks"]} == {
        "memories", "embeddings", "own words", "topics", "duplicates", "contrary", "unused", "stale",
    }  # fmt: skip
    assert set(report["recall"]) == set(RecallCheck.__slots__)
    assert report["recall"]["words"]["by_category"]["fact"] == {"asked": 1, "hits_at_1": 1, "hits_at_10": 1}
    assert [memory["excerpt"] for memory in report["recall"]["stale"]] == ["A walrus.", "A heron."]


def test_doctor_recall_checks_named_project_or_all(cli: CommandLine) -> None:
    cli.ok("-p", "shop", "remember", "A walrus.")
    cli.ok("-p", "other", "remember", "A heron.")
    assert "searched for 2 of 2" in cli.ok("doctor", "--recall").out
    named = cli.ok("doctor", "--recall", "-p", "shop").out
    assert "searched for 1 of 1" in named
    assert "shop, and global memories" in named
    assert "there are no memories yet" in cli.ok("doctor", "--recall", "-p", "nowhere").out
    assert "searched for 1 of 2" in cli.ok("doctor", "--recall", "--sample", "1").out


def test_missed_memories_exit_with_1(cli: CommandLine, shop: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    with shop:
        shop.remember("A walrus.")
        shop.remember("A heron.")
    # Patch recall, because the engine detects a lost index and searches without it.
    monkeypatch.setattr(MemoryStore, "recall", lambda *_, **__: [])
    answer = cli("doctor", "--recall")
    assert answer.code == 1
    assert "problem own words     2 searches: 0 % found first, 0 % in the first ten" in answer.out
    assert "        opencode-memory recall -p shop --explain -- heron.\n" in answer.out
    assert "opencode-memory verify" in answer.out
    assert "in ten" not in answer.out
    assert cli("doctor", "--recall", "--json").json["ok"] is False


def test_unreadable_store_is_a_problem(cli: CommandLine, tmp_path: Path) -> None:
    folder = tmp_path / "data" / "opencode-memory" / "store"
    folder.mkdir(parents=True)
    (folder / "store.db").write_bytes(b"no database" * 1000)
    answer = cli("doctor", "--recall")
    assert answer.code == 1
    assert answer.out.startswith("problem store")


def test_doctor_recall_counts_no_use(cli: CommandLine) -> None:
    id_of_memory = cli.remember("A walrus.")
    cli.ok("doctor", "--recall")
    assert cli.ok("show", id_of_memory, "--json").json["memories"][0]["uses"] == 0


def test_help_names_default_sample(cli: CommandLine) -> None:
    assert f"[default: {DEFAULT_SAMPLE}]" in " ".join(cli.ok("doctor", "--help").out.split())


@pytest.mark.parametrize("arguments", [("--sample", "3"), ("--recall", "--sample", "0")])
def test_invalid_sample_is_a_usage_error(cli: CommandLine, arguments: tuple[str, ...]) -> None:
    answer = cli("doctor", *arguments)
    assert (answer.code, answer.out) == (2, "")
    assert "--sample" in answer.err


def file_hashes(folder: Path) -> Mapping[str, str]:
    """Hash every file of a store except the WAL index, which also changes for readers."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.stat().st_size and not path.name.endswith("-shm")
    }
