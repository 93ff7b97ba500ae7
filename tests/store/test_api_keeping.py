"""Maintenance of a store: verify, repair, reindex, backup and restore, purge, statistics, files of other programs."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest

from opencode_memory import (
    ConflictError,
    CorruptStoreError,
    FormatVersionError,
    MemoryStore,
    NotFoundError,
    OpencodeMemoryError,
    StorageError,
)
from opencode_memory._core import Engine
from opencode_memory.exchange import export_memories
from support.embedders import WordEmbedder
from support.stores import DAY_MS, NOW_MS, bound_store, files_holding, recalled, set_clock, texts

SECRET_WORD = "Xylophonicorn"


@pytest.fixture
def filled(open_store) -> MemoryStore:
    """A store of thirty memories, embedded and indexed."""
    store = open_store(project="app")
    store.remember_many({"content": f"walrus {number}", "tags": ["t"]} for number in range(30))
    store.indexes.embed_pending()
    store.indexes.catch_up()
    return store


def test_a_sound_store_is_called_sound(filled: MemoryStore) -> None:
    report = filled.indexes.verify()
    assert report.ok
    assert (report.memories, report.lexical_documents, report.problems) == (30, 30, [])
    assert filled.indexes.repair().rebuilt is None


def test_a_store_without_indexes_is_sound_and_answers(filled: MemoryStore, open_store, data_dir: Path) -> None:
    before = recalled(filled, "walrus 7")[0]
    filled.close()
    shutil.rmtree(data_dir / "lexical")
    shutil.rmtree(data_dir / "vectors", ignore_errors=True)
    store = open_store(project="app")
    assert recalled(store, "walrus 7")[0] == before
    assert store.indexes.verify().ok


def _damage(file: Path) -> None:
    data = bytearray(file.read_bytes())
    for at in range(len(data) // 3, len(data) // 3 + 64):
        data[at % len(data)] ^= 0xFF
    file.write_bytes(data)


@pytest.mark.parametrize("suffix", [".store", ".term", ".idx", "meta.json"])
def test_a_damaged_index_is_named_and_repaired_and_answers_meanwhile(
    filled: MemoryStore, open_store, data_dir: Path, suffix: str
) -> None:
    filled.close()
    [file] = [path for path in (data_dir / "lexical").iterdir() if path.name.endswith(suffix)]
    _damage(file)
    store = open_store(project="app")
    assert recalled(store, "7", status="active")[0] == "walrus 7"
    report = store.indexes.repair()
    assert report.remaining == ()
    assert store.indexes.verify().ok
    assert recalled(store, "7")[0] == "walrus 7"


def test_a_text_that_was_changed_behind_our_back_is_named_and_not_hidden(filled: MemoryStore, data_dir: Path) -> None:
    id = filled.list(limit=1)[0].id
    with sqlite3.connect(data_dir / "store.db") as connection:
        connection.execute("UPDATE memory SET content = 'forged' WHERE id = ?", (id,))
    connection.close()
    report = filled.indexes.verify()
    assert not report.ok
    assert id in report.store_problems[0]
    repaired = filled.indexes.repair()
    assert (repaired.ok, repaired.remaining) == (False, report.store_problems)


def test_a_reindex_tells_its_stages(filled: MemoryStore) -> None:
    stages: list[str] = []
    report = filled.indexes.reindex(progress=lambda stage, done, total: stages.append(stage))
    assert (report.texts, report.embedded) == (30, 0)
    assert "words" in stages


def test_error_in_progress_ends_the_work_without_damage(filled: MemoryStore) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        filled.indexes.reindex(progress=stop)
    assert recalled(filled, "walrus 7")[0] == "walrus 7"
    filled.indexes.reindex()
    assert filled.indexes.verify().ok


def test_error_in_the_last_progress_is_raised(tmp_path: Path) -> None:
    def stop(stage: str, done: int, total: int) -> None:
        if stage == "vectors" and done == total:
            raise BrokenPipeError

    engine = Engine(tmp_path, graph_from=10, background=False, clock_ms=NOW_MS)
    with bound_store(engine, project="app", embedder=WordEmbedder()) as store:
        store.remember_many({"content": f"walrus {number}"} for number in range(30))
        store.indexes.embed_pending()
        with pytest.raises(BrokenPipeError):
            store.indexes.reindex(progress=stop)
        assert store.indexes.verify().ok


def test_restored_backup_holds_all_rows(filled: MemoryStore, tmp_path: Path) -> None:
    filled.kv.set("k", 1)
    path = filled.backups.create(tmp_path / "backup.db")
    assert path == tmp_path / "backup.db"
    filled.delete([memory.id for memory in filled.list()])
    filled.kv.delete("k")
    assert filled.backups.restore(path) == 30
    assert filled.count() == 30
    assert filled.kv.get("k") == 1
    assert recalled(filled, "walrus 7")[0] == "walrus 7"
    assert filled.stats().pending_embeddings == 0
    filled.indexes.catch_up()
    assert filled.indexes.verify().ok


def test_a_backup_is_restored_while_another_handle_is_open(filled: MemoryStore, open_store, tmp_path: Path) -> None:
    other = open_store(project="app")
    path = filled.backups.create(tmp_path / "backup.db")
    later = filled.remember("a late heron").id
    assert recalled(other, "heron") == ["a late heron"]
    filled.backups.restore(path)
    assert recalled(other, "heron") == []
    assert recalled(other, "walrus 7")[0] == "walrus 7"
    with pytest.raises(NotFoundError):
        other.get(later)
    other.remember("a new heron")
    assert recalled(filled, "heron") == ["a new heron"]


def test_keys_are_not_used_again_after_a_backup_is_restored(filled: MemoryStore, tmp_path: Path) -> None:
    """I6: an index, or another process, may still know the keys that were given out since."""
    path = filled.backups.create(tmp_path / "backup.db")
    used = filled.get(filled.remember("a late heron").id).key
    filled.indexes.catch_up()
    filled.backups.restore(path)
    assert filled.get(filled.remember("an owl").id).key > used
    assert recalled(filled, "heron") == []
    assert recalled(filled, "owl") == ["an owl"]


def test_without_a_name_a_backup_goes_beside_the_store_and_is_listed(filled: MemoryStore, data_dir: Path) -> None:
    first = filled.backups.create()
    set_clock(filled, NOW_MS + 1000)
    second = filled.backups.create()
    assert first.parent == second.parent == data_dir / "backups"
    assert [backup.path for backup in filled.backups.list()] == [second, first]
    assert all(backup.bytes > 0 for backup in filled.backups.list())
    first.unlink()
    assert [backup.path for backup in filled.backups.list()] == [second]


def test_backup_to_an_existing_file_is_refused(filled: MemoryStore, tmp_path: Path) -> None:
    file = tmp_path / "precious"
    file.write_text("precious")
    with pytest.raises(ConflictError, match="precious"):
        filled.backups.create(file)
    assert file.read_text() == "precious"


def test_backups_are_still_known_after_one_of_them_was_restored(filled: MemoryStore, tmp_path: Path) -> None:
    first = filled.backups.create(tmp_path / "first.db")
    second = filled.backups.create(tmp_path / "second.db")
    filled.backups.restore(first)
    assert {backup.path for backup in filled.backups.list()} == {first, second}


@pytest.mark.parametrize("kind", ["missing", "a folder", "garbage", "empty", "another database"])
def test_file_that_is_not_a_backup_is_not_restored(filled: MemoryStore, tmp_path: Path, kind: str) -> None:
    source = tmp_path / "source"
    if kind == "a folder":
        source.mkdir()
    elif kind == "garbage":
        source.write_bytes(b"not a database at all " * 500)
    elif kind == "empty":
        source.touch()
    elif kind == "another database":
        with sqlite3.connect(source) as connection:
            connection.execute("CREATE TABLE t(x)")
        connection.close()
    with pytest.raises(OpencodeMemoryError):
        filled.backups.restore(source)
    assert filled.count() == 30


def test_a_purge_leaves_no_byte_behind(open_store, data_dir: Path) -> None:
    store = open_store(project="app")
    gone = store.remember(
        f"the first {SECRET_WORD}", topic=f"topic {SECRET_WORD}", tags=[SECRET_WORD], metadata={"a": SECRET_WORD}
    ).id
    stays = store.remember("a walrus stays").id
    store.edit(gone, content=f"the second {SECRET_WORD}", tags=[f"{SECRET_WORD} again"])
    store.link(gone, stays, reason=f"because of {SECRET_WORD}")
    store.indexes.embed_pending()
    store.indexes.catch_up()
    store.recall(SECRET_WORD)
    store.maintain()
    store.archive(gone, reason=f"too much {SECRET_WORD}")
    store.delete(gone)
    store.undo()
    assert files_holding(data_dir, SECRET_WORD)
    report = store.purge(gone)
    assert (report.memories, report.backups, report.problems) == (1, (), ())
    assert files_holding(data_dir, SECRET_WORD) == []
    assert files_holding(data_dir, SECRET_WORD.lower()) == []
    assert recalled(store, "walrus") == ["a walrus stays"]
    with pytest.raises(NotFoundError):
        store.history(gone)
    with pytest.raises(NotFoundError):
        store.undo(gone)
    assert store.indexes.verify().ok


def test_a_deleted_memory_is_purged_too(open_store, data_dir: Path) -> None:
    store = open_store()
    id = store.remember(f"a {SECRET_WORD}").id
    store.delete(id)
    assert store.purge(id).memories == 1
    assert files_holding(data_dir, SECRET_WORD) == []


def test_a_purge_is_complete_while_another_handle_is_open(open_store, data_dir: Path) -> None:
    store, other = open_store(), open_store()
    id = store.remember(f"a {SECRET_WORD}").id
    assert recalled(other, SECRET_WORD) == [f"a {SECRET_WORD}"]
    assert store.purge(id).problems == ()
    assert files_holding(data_dir, SECRET_WORD) == []
    assert recalled(other, SECRET_WORD) == []


def test_a_purge_names_the_backups_that_still_hold_the_text(open_store, tmp_path: Path) -> None:
    store = open_store()
    store.remember("a walrus")
    without = store.backups.create(tmp_path / "without.db")
    id = store.remember(f"a {SECRET_WORD}").id
    holding = store.backups.create(tmp_path / "holding.db")
    store.delete(id)
    in_history = store.backups.create(tmp_path / "history.db")
    report = store.purge(id)
    assert set(report.backups) == {holding, in_history}
    assert without not in report.backups


def test_a_purge_names_the_backup_that_the_store_was_restored_from(open_store, tmp_path: Path) -> None:
    store = open_store()
    id = store.remember(f"a {SECRET_WORD}").id
    path = store.backups.create(tmp_path / "backup.db")
    store.backups.restore(path)
    assert store.purge(id).backups == (path,)


def test_maintenance_removes_the_copy_that_a_killed_export_left(open_store, data_dir: Path) -> None:
    with open_store() as store:
        store.remember("A text.")
        (data_dir / "dump-killed").mkdir()
        store.maintain()
    assert not (data_dir / "dump-killed").exists()


def test_a_purge_reaches_the_copy_that_a_killed_export_left(open_store, data_dir: Path) -> None:
    store = open_store()
    id = store.remember(f"a {SECRET_WORD}").id
    left = data_dir / "dump-killed"
    left.mkdir()
    shutil.copy(data_dir / "store.db", left)
    (left / "more").write_text(SECRET_WORD)
    assert store.purge(id).problems == ()
    assert files_holding(data_dir, SECRET_WORD) == []


def test_a_purge_says_that_a_running_export_still_holds_the_text(open_store, data_dir: Path) -> None:
    store = open_store()
    id = store.remember(f"a {SECRET_WORD}").id
    rows = store.rows.dump()
    first = next(rows)
    [problem] = store.purge(id).problems
    assert "export" in problem
    assert [row["content"] for kind, row in (first, *rows) if kind == "memory"] == [f"a {SECRET_WORD}"]
    assert files_holding(data_dir, SECRET_WORD) == []


def test_a_purge_erases_vectors_that_no_other_memory_uses(open_store, data_dir: Path) -> None:
    store = open_store()
    id = store.remember("a walrus").id
    store.remember("a heron")
    store.indexes.embed_pending()
    store.purge(id)
    with sqlite3.connect(data_dir / "store.db") as connection:
        assert connection.execute("SELECT count(*) FROM embedding").fetchone() == (1,)
    connection.close()


def test_deleted_memories_are_forgotten_after_thirty_days_and_not_before(store: MemoryStore) -> None:
    id = store.remember("a walrus").id
    store.delete(id)
    set_clock(store, NOW_MS + 30 * DAY_MS)
    assert store.maintain() == (0, 0)
    set_clock(store, NOW_MS + 30 * DAY_MS + 1)
    assert store.maintain()[1] > 0
    with pytest.raises(NotFoundError):
        store.undo(id)


def test_statistics_count_memories_and_indexes(open_store) -> None:
    store = open_store(project="app")
    assert store.stats().memories == 0
    store.remember("one", category="decision")
    store.remember("two", ttl_seconds=1)
    store.archive(store.remember("three").id)
    store.remember("four", status="candidate", project="other")
    store.kv.set("k", 1)
    set_clock(store, NOW_MS + 1000)
    stats = store.stats()
    assert stats.memories == 4
    assert stats.by_status == {"active": 2, "candidate": 1, "superseded": 0, "archived": 1}
    assert stats.by_category == {"decision": 1, "fact": 1}
    assert (stats.expired, stats.projects, stats.kv) == (1, 2, 1)
    assert (stats.pending_embeddings, stats.model, stats.model_mismatch, stats.vectors) == (4, None, None, 0)
    store.indexes.embed_pending()
    stats = store.stats()
    assert (stats.pending_embeddings, stats.model, stats.dimension, stats.vectors) == (0, "words", 256, 4)
    store.indexes.catch_up()
    assert (store.stats().lexical_documents, store.stats().lexical_tail) == (4, 0)


def test_a_store_that_is_only_read_changes_no_file(filled: MemoryStore, open_store, data_dir: Path) -> None:
    filled.close()
    before = {path: path.read_bytes() for path in data_dir.rglob("*") if path.is_file()}
    reader = open_store(project="app", read_only=True)
    assert recalled(reader, "walrus 7")[0] == "walrus 7"
    assert reader.indexes.verify().ok
    assert export_memories(reader, data_dir.parent / "export.json").counts["memory"] == 30
    for write in (
        lambda: reader.remember("x"),
        lambda: reader.edit(reader.list()[0].id, content="x"),
        lambda: reader.delete(reader.list()[0].id),
        lambda: reader.kv.set("k", 1),
        lambda: reader.undo(),
    ):
        with pytest.raises(StorageError, match="read-only"):
            write()
    reader.close()
    after = {path: path.read_bytes() for path in data_dir.rglob("*") if path.is_file()}
    assert {path.name: data for path, data in after.items() if not path.name.endswith(("-shm", "-wal"))} == {
        path.name: data for path, data in before.items()
    }


def test_read_only_open_of_a_missing_store_creates_no_file(open_store, data_dir: Path) -> None:
    with pytest.raises(StorageError, match="no store"):
        open_store(read_only=True)
    assert not data_dir.exists()


def test_a_store_of_a_newer_version_is_refused_and_not_touched(filled: MemoryStore, open_store, data_dir: Path) -> None:
    filled.close()
    with sqlite3.connect(data_dir / "store.db") as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    before = (data_dir / "store.db").read_bytes()
    for read_only in (False, True):
        with pytest.raises(FormatVersionError, match="upgrade") as error:
            open_store(read_only=read_only)
        assert error.value.found == 99
        assert error.value.supported < 99
    assert (data_dir / "store.db").read_bytes() == before


@pytest.mark.parametrize("kind", ["garbage", "another database", "short"])
def test_a_file_that_is_not_ours_is_refused_and_not_touched(open_store, data_dir: Path, kind: str) -> None:
    data_dir.mkdir()
    file = data_dir / "store.db"
    if kind == "another database":
        with sqlite3.connect(file) as connection:
            connection.execute("CREATE TABLE precious(x)")
        connection.close()
    else:
        file.write_bytes(b"precious " * (1 if kind == "short" else 1000))
    before = file.read_bytes()
    for read_only in (False, True):
        with pytest.raises(CorruptStoreError, match=r"store\.db"):
            open_store(read_only=read_only)
    assert file.read_bytes() == before


def test_a_data_directory_that_is_a_file_is_refused(open_store, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("precious")
    with pytest.raises(StorageError):
        open_store(file)
    assert file.read_text() == "precious"


def test_a_closed_store_says_so(filled: MemoryStore) -> None:
    filled.close()
    filled.close()
    for use in (lambda: filled.recall("x"), lambda: filled.remember("x"), filled.stats, filled.kv.list):
        with pytest.raises(RuntimeError, match="closed"):
            use()


def test_reopened_store_holds_all_memories(filled: MemoryStore, open_store) -> None:
    expected = sorted(texts(filled.list()))
    filled.close()
    again = open_store(project="app")
    assert sorted(texts(again.list())) == expected
    assert recalled(again, "walrus 7")[0] == "walrus 7"
    assert again.stats().pending_embeddings == 0
