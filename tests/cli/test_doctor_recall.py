"""A check of recall on real stores: what is asked, what is found, and that nothing changes by looking."""

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


class Silent(WordEmbedder):
    """A model of its own that the store's vectors do not come from."""

    def __init__(self) -> None:
        super().__init__("another")


def write(store: MemoryStore, *contents: str, **fields: Any) -> list[str]:
    """Write memories in their order, a second apart, and embed them; returns their ids."""
    ids = []
    for content in contents:
        set_clock(store, store._engine.now_ms() + 1000)
        ids.append(store.remember(content, **fields).id)
    store.indexes.embed_pending()
    return ids


def check(open_store: OpenStore, **options: Any) -> RecallCheck:
    """Check the store at ``NOW``, as the doctor opens it."""
    return check_recall(open_store(read_only=True), **({"at": NOW} | options))


def numbered(count: int) -> list[str]:
    """Texts that share most words; each has a word of its own in the middle."""
    return [f"The service reads from shard{number} of the table and writes to the log." for number in range(count)]


def test_memories_are_found_by_the_rarest_of_their_words_and_by_their_topic(
    store: MemoryStore, open_store: OpenStore
) -> None:
    write(store, *numbered(20))
    write(store, "Ulla signs the release.", topic="release", category="decision")
    found = check(open_store)
    assert found.words.overall == HitRate(asked=21, hits_at_1=21, hits_at_10=21)
    assert found.words.by_category == {
        "decision": HitRate(asked=1, hits_at_1=1, hits_at_10=1), "fact": HitRate(asked=20, hits_at_1=20, hits_at_10=20),
    }  # fmt: skip
    assert found.topics.overall == HitRate(asked=1, hits_at_1=1, hits_at_10=1)
    assert (found.memories, found.sampled, found.by_meaning) == (21, 21, True)
    assert found.words.missed == found.topics.missed == ()


def test_memory_that_is_not_found_is_named_with_what_was_asked(store: MemoryStore, open_store: OpenStore) -> None:
    # Of equals the newer come first, and there are more of them than an answer shows.
    (lost,) = write(store, "We put it into the blue cabinet.", topic="service table")
    write(store, *numbered(15))
    (missed,) = check(open_store).topics.missed
    assert (missed.memory.id, missed.memory.excerpt) == (lost, "We put it into the blue cabinet.")
    assert (missed.query, missed.project, missed.rank) == ("service table", "app", None)
    assert missed.first is not None
    assert missed.first != lost


def test_looking_counts_as_no_use_and_changes_no_file(
    store: MemoryStore, open_store: OpenStore, data_dir: Path
) -> None:
    write(store, *numbered(5))
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


def test_store_that_can_be_written_is_refused_because_asking_would_count(store: MemoryStore) -> None:
    with pytest.raises(InvalidInputError, match="read_only"):
        check_recall(store, at=NOW)


def test_sample_of_less_than_one_is_refused(store: MemoryStore, open_store: OpenStore) -> None:
    with pytest.raises(InvalidInputError, match="sample"):
        check(open_store, sample=0)


def test_two_checks_of_an_unchanged_store_say_the_same(store: MemoryStore, open_store: OpenStore) -> None:
    write(store, *numbered(60))
    first = check(open_store, sample=20)
    assert (first.memories, first.sampled) == (60, 20)
    assert first == check(open_store, sample=20)


def test_empty_store_is_nothing_to_complain_about(store: MemoryStore, open_store: OpenStore) -> None:
    found = check(open_store)
    assert (found.memories, found.sampled) == (0, 0)
    assert found.words.overall == found.topics.overall == HitRate(asked=0, hits_at_1=0, hits_at_10=0)


@pytest.mark.parametrize("embedder", [DownEmbedder(), Silent()], ids=["model down", "another model"])
def test_words_alone_are_asked_when_there_is_no_vector_to_compare(
    store: MemoryStore, open_store: OpenStore, embedder: WordEmbedder
) -> None:
    write(store, *numbered(8))
    found = check_recall(open_store(read_only=True, embedder=embedder), at=NOW)
    assert found.words.overall.hits_at_1 == 8
    assert found.by_meaning is (embedder.model_id == "words")
    assert (found.model_mismatch is None) is found.by_meaning


def test_store_without_vectors_is_asked_by_words(open_store: OpenStore) -> None:
    writer = open_store(project="app")
    for content in numbered(8):
        writer.remember(content)
    found = check(open_store)
    assert (found.by_meaning, found.pending_embeddings, found.model_mismatch) == (False, 8, None)
    assert found.words.overall.hits_at_1 == 8
    assert found.similar == ()


def test_memory_without_a_word_to_search_by_is_not_asked_for(store: MemoryStore, open_store: OpenStore) -> None:
    write(store, "the of and", "a walrus")
    found = check(open_store)
    assert (found.sampled, found.without_words, found.words.overall.asked) == (2, 1, 1)


def test_near_duplicates_and_contradictions_are_pairs_of_newer_and_older(
    store: MemoryStore, open_store: OpenStore
) -> None:
    older, newer = write(
        store,
        "Orders are stored in the PostgreSQL database today, always there.",
        "Orders are stored in the PostgreSQL database today, always here.",
    )
    five, three = write(
        store,
        "Every upload of a picture to the image server is tried at most 5 times by the worker.",
        "Every upload of a picture to the image server is tried at most 3 times by the worker.",
    )
    found = check(open_store)
    assert [(pair.newer.id, pair.older.id) for pair in found.similar] == [(newer, older)]
    assert found.similar[0].weight == pytest.approx(0.916, abs=0.001)
    assert [(pair.newer.id, pair.older.id) for pair in found.contradicting] == [(three, five)]


def test_archived_expired_and_other_projects_memories_contradict_nobody(
    store: MemoryStore, open_store: OpenStore
) -> None:
    kept, archived, expired, elsewhere = (
        write(store, f"A walrus number {number}.", **fields)[0]
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


def test_unused_and_stale_memories_are_counted_over_the_whole_store(store: MemoryStore, open_store: OpenStore) -> None:
    set_clock(store, NOW_MS - 200 * DAY_MS)
    stale = write(store, *numbered(5))
    set_clock(store, NOW_MS - 40 * DAY_MS)
    unused = write(store, "A heron.")
    (used,) = write(store, "A walrus.")
    set_clock(store, NOW_MS - DAY_MS)
    store.recall("walrus")
    write(store, "An otter.")
    store.close()
    found = check(open_store, sample=1)
    assert [memory.id for memory in found.stale] == stale
    assert [memory.id for memory in found.never_recalled] == [*stale, *unused]
    assert used not in {memory.id for memory in found.never_recalled}
    assert found.sampled == 1


def test_each_memory_is_asked_for_where_it_belongs(store: MemoryStore, open_store: OpenStore) -> None:
    write(store, "A walrus of the app.")
    write(store, "A heron of the other.", project="other")
    write(store, "An otter of the person.", scope="global")
    everywhere = check(open_store)
    assert everywhere.words.overall == HitRate(asked=3, hits_at_1=3, hits_at_10=3)
    assert check(open_store, project="app").memories == 2
    assert check(open_store, project="nowhere").memories == 1


def test_progress_tells_of_reading_and_of_asking(store: MemoryStore, open_store: OpenStore) -> None:
    write(store, *numbered(120))
    told: list[tuple[str, int, int]] = []
    check(open_store, sample=4, progress=lambda *heard: told.append(heard))
    assert told == [("reading", 100, 120), *(("asking", done, 4) for done in range(1, 5))]


def test_memory_that_another_process_deletes_meanwhile_is_left_out(store: MemoryStore, open_store: OpenStore) -> None:
    ids = write(store, *numbered(100))
    found = check(open_store, progress=lambda stage, *_: store.delete(ids[:3]) if stage == "reading" else None)
    assert (found.memories, found.sampled) == (100, 97)
    assert found.words.overall == HitRate(asked=97, hits_at_1=97, hits_at_10=97)


def test_memories_that_come_while_others_are_read_do_not_make_them_count_twice(
    store: MemoryStore, open_store: OpenStore
) -> None:
    store.remember_many({"content": text} for text in numbered(1500))
    came: list[str] = []

    def write_one(stage: str, done: int, _total: int) -> None:
        if (stage, done) == ("reading", 500):
            came.append(store.remember("A heron.").id)

    found = check(open_store, sample=3, progress=write_one)
    assert came
    assert found.memories == 1500


# The command


@pytest.fixture
def shop(cli: CommandLine, tmp_path: Path) -> MemoryStore:
    """The store of the command line, open for writing at ``NOW_MS``, a moment long past."""
    folder = tmp_path / "data" / "opencode-memory" / "store"
    return opencode_memory.open(folder, project="shop", background=False, clock_ms=NOW_MS - 900 * DAY_MS)


def test_doctor_without_a_store_has_nothing_to_ask(cli: CommandLine) -> None:
    assert "the first memory creates it" in cli.ok("doctor", "--recall").out
    answer = cli.ok("doctor", "--recall", "--json").json
    assert (answer["ok"], answer["recall"]) == (True, None)
    assert not Path(cli.ok("config", "show", "--json").json["values"]["data_dir"]["value"]).exists()


def test_doctor_says_what_to_do_in_commands_that_exist_and_in_80_columns(cli: CommandLine, shop: MemoryStore) -> None:
    with shop:
        older = shop.remember("We retry uploads at most 5 times, whatever the network says of it.").id
        newer = shop.remember("We retry uploads at most 3 times, whatever the network says of it.").id
        again = shop.remember("Every order lies in PostgreSQL " + "with 日本語 and all " * 20, category="decision").id
        shop._engine.link(newer, older, "contradicts", 1.0, "another number")
        shop._engine.link(again, older, "similar", 0.95, "cosine 0.950")
        # Of equals the newer come first, and there are more of them than an answer shows.
        shop.remember("We put it into the cabinet.", topic="colour of the pipe in the cellar")
        for number in range(12):
            shop.remember(f"The colour of pipe {number} in the cellar is green.")
    answer = cli.ok("doctor", "--recall")
    lines = answer.out.splitlines()
    assert max(map(cells, lines)) <= 80
    assert "        fact         15  100 %  100 %" in lines
    assert any(line.startswith("ok      own words     16 searches") for line in lines)
    assert f"        opencode-memory show {newer[-8:]} {older[-8:]}" in lines
    assert f"        opencode-memory show {again[-8:]} {older[-8:]}" in lines
    assert any(line.startswith("note    stale         16 memories") for line in lines)
    assert "        and 13 more; --json has them all" in lines
    commands = [line.split()[1] for line in lines if line.strip().startswith("opencode-memory ")]
    assert set(commands) == {"recall", "edit", "show", "archive", "reindex"}, answer.out
    for command in commands:
        assert cli(command, "--help").code == 0


def test_doctor_finds_the_same_without_colours_and_as_json(cli: CommandLine, shop: MemoryStore) -> None:
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


def test_doctor_asks_in_the_project_that_is_named_and_else_in_all(cli: CommandLine) -> None:
    cli.ok("-p", "shop", "remember", "A walrus.")
    cli.ok("-p", "other", "remember", "A heron.")
    assert "searched for 2 of 2" in cli.ok("doctor", "--recall").out
    named = cli.ok("doctor", "--recall", "-p", "shop").out
    assert "searched for 1 of 1" in named
    assert "shop, and global memories" in named
    assert "there are no memories yet" in cli.ok("doctor", "--recall", "-p", "nowhere").out
    assert "searched for 1 of 2" in cli.ok("doctor", "--recall", "--sample", "1").out


def test_doctor_ends_with_1_when_memories_are_not_found_by_their_own_words(
    cli: CommandLine, shop: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    with shop:
        shop.remember("A walrus.")
        shop.remember("A heron.")
    # A store of which an index is lost cannot be made here: the engine notices and goes round it.
    monkeypatch.setattr(MemoryStore, "recall", lambda *_, **__: [])
    answer = cli("doctor", "--recall")
    assert answer.code == 1
    assert "problem own words     2 searches: 0 % found first, 0 % in the first ten" in answer.out
    assert "        opencode-memory recall -p shop --explain -- heron.\n" in answer.out
    assert "opencode-memory verify" in answer.out
    assert "in ten" not in answer.out
    assert cli("doctor", "--recall", "--json").json["ok"] is False


def test_doctor_says_what_is_wrong_with_a_store_that_cannot_be_opened(cli: CommandLine, tmp_path: Path) -> None:
    folder = tmp_path / "data" / "opencode-memory" / "store"
    folder.mkdir(parents=True)
    (folder / "store.db").write_bytes(b"no database" * 1000)
    answer = cli("doctor", "--recall")
    assert answer.code == 1
    assert answer.out.startswith("problem store")


def test_doctor_counts_no_use(cli: CommandLine) -> None:
    id_of_memory = cli.remember("A walrus.")
    cli.ok("doctor", "--recall")
    assert cli.ok("show", id_of_memory, "--json").json["memories"][0]["uses"] == 0


def test_help_says_how_many_are_asked_for(cli: CommandLine) -> None:
    assert f"[default: {DEFAULT_SAMPLE}]" in " ".join(cli.ok("doctor", "--help").out.split())


@pytest.mark.parametrize("arguments", [("--sample", "3"), ("--recall", "--sample", "0")])
def test_sample_that_makes_no_sense_is_wrong_usage(cli: CommandLine, arguments: tuple[str, ...]) -> None:
    answer = cli("doctor", *arguments)
    assert (answer.code, answer.out) == (2, "")
    assert "--sample" in answer.err


def file_hashes(folder: Path) -> Mapping[str, str]:
    """What is in every file of a store, without the index of the WAL, which says who reads."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.stat().st_size and not path.name.endswith("-shm")
    }
