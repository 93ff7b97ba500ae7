"""Export and import: complete, without loss, and the same when done twice."""

from __future__ import annotations

import io
import json
import os
import sqlite3
import stat
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from opencode_memory import CorruptStoreError, InvalidInputError, MemoryStore, ProjectIdentity, Source, StorageError
from opencode_memory.exchange import export_memories, import_memories
from support.stores import DAY_MS, NOW_MS, set_clock, texts


@pytest.fixture
def full(open_store) -> MemoryStore:
    """A store with something of everything."""
    store = open_store(project="app")
    identity = ProjectIdentity(remotes=("example.org/app",), root_commits=("a" * 40,), folder="/home/ada/app")
    name = store.projects.resolve(identity)
    one = store.remember(
        "Zürich — 東京 🦀\n\n  indented\r\n",
        topic="t",
        category="decision",
        session="s",
        position=1,
        speaker="Ada",
        time="2020-02-29T12:00:00.123+00:00",
        expires_at="2036-01-01T00:00+00:00",
        source=Source(tool="bash", file="a.py", line=3, commit="abc"),
        entities=["!12", "a.py"],
        tags=["x", "y"],
        trust="extracted",
        pinned=True,
        confidence=0.1 + 0.2,
        metadata={"float": 0.1 + 0.2, "large": 2**70 + 1, "tiny": 5e-324, "nested": [{"a": None}]},
    ).id
    two = store.remember("archived", project=name).id
    three = store.remember("waiting", category="directive", trust="tool", scope="global").id
    four = store.remember("deleted").id
    expired = store.remember("expired", ttl_seconds=1).id
    set_clock(store, NOW_MS + 5000)
    store.edit(one, tags=["x", "y", "z"])
    store.archive(two, reason="done")
    store.delete(four)
    store.remember("the new text", topic="updated")
    store.remember("the newer text", topic="updated")
    store.link(one, three, "explains", "because", weight=0.25)
    store.link(one, expired)
    store.kv.set("k", {"float": 0.1 + 0.2, "large": 2**70 + 1}, ttl_seconds=None)
    store.kv.set("k", "in a project", project=name)
    store.indexes.embed_pending()
    return store


def _exported(store: MemoryStore, **options: Any) -> dict[str, Any]:
    out = io.StringIO()
    export_memories(store, out, **options)
    return json.loads(out.getvalue())


def _without_numbering(exported: dict[str, Any]) -> dict[str, Any]:
    """An export without what is only about the file: the numbers of operations, and when it was made."""
    rows = dict(exported, exported_at=None)
    rows["history"] = [{k: v for k, v in row.items() if k not in ("operation", "undone_by")} for row in rows["history"]]
    for row in rows["history"]:
        if row["before"]:
            row["before"] = {k: v for k, v in row["before"].items() if k not in ("key", "project_id")}
    for kind in ("memories", "history", "projects", "links", "kv"):
        rows[kind] = sorted(json.dumps(row, sort_keys=True) for row in rows[kind])
    return rows


def test_an_export_read_into_an_empty_store_gives_the_same_export(
    full: MemoryStore, open_store, tmp_path: Path
) -> None:
    file = tmp_path / "export.json"
    report = export_memories(full, file)
    assert report.counts == {"project": 2, "memory": 5, "link": 2, "kv": 2, "history": 12, "document": 0} | {
        "history": report.counts["history"]
    }
    copy = open_store(tmp_path / "copy", project="app", clock_ms=NOW_MS + DAY_MS)
    import_memories(copy, file)
    assert _without_numbering(_exported(copy)) == _without_numbering(_exported(full))
    assert copy.indexes.verify().ok


def test_every_memory_comes_back_as_it_was(full: MemoryStore, open_store, tmp_path: Path) -> None:
    file = tmp_path / "export.json"
    export_memories(full, file)
    copy = open_store(tmp_path / "copy", project="app", clock_ms=NOW_MS + 5000)
    import_memories(copy, file)
    everything = {"project": "*", "status": ["active", "candidate", "archived", "superseded"], "with_expired": True}
    compared = [name for name in type(full.list()[0]).__slots__ if name not in ("key", "uses", "used_at")]
    plain = lambda store: {  # noqa: E731
        memory.id: {name: getattr(memory, name) for name in compared} for memory in store.list(**everything)
    }
    assert plain(copy) == plain(full)
    assert copy.projects.list() == full.projects.list()
    assert copy.kv.get("k", project="example.org/app") == "in a project"


def test_an_import_twice_changes_nothing(full: MemoryStore, open_store, tmp_path: Path) -> None:
    file = tmp_path / "export.json"
    export_memories(full, file)
    copy = open_store(tmp_path / "copy", clock_ms=NOW_MS + DAY_MS)
    import_memories(copy, file)
    before, seq = _exported(copy), copy.stats().seq
    report = import_memories(copy, file)
    assert _without_numbering(_exported(copy)) == _without_numbering(before)
    assert copy.stats().seq == seq
    assert {status for counts in report.counts.values() for status in counts} <= {"merged"}


def test_an_import_into_the_store_it_came_from_changes_nothing(full: MemoryStore, tmp_path: Path) -> None:
    file = tmp_path / "export.json"
    export_memories(full, file)
    before = _exported(full)
    import_memories(full, file)
    assert _without_numbering(_exported(full)) == _without_numbering(before)


def test_an_import_never_takes_back_a_newer_statement(open_store, tmp_path: Path) -> None:
    store = open_store()
    id = store.remember("the old text", topic="t").id
    export_memories(store, tmp_path / "old.json")
    set_clock(store, NOW_MS + 1000)
    store.remember("the new text", topic="t")
    import_memories(store, tmp_path / "old.json")
    assert store.get(id).content == "the new text"


def test_of_two_stores_with_one_topic_the_newer_text_wins_and_the_older_is_kept(open_store, tmp_path: Path) -> None:
    old = open_store(tmp_path / "old")
    old.remember("the old text", topic="t")
    export_memories(old, tmp_path / "old.json")
    store = open_store(clock_ms=NOW_MS + 1000)
    store.remember("the new text", topic="t")
    import_memories(store, tmp_path / "old.json")
    assert texts(store.list()) == ["the new text"]
    assert texts(store.list(status="superseded")) == ["the old text"]


def test_an_import_never_raises_trust(open_store, tmp_path: Path) -> None:
    store = open_store()
    id = store.remember("a walrus", trust="tool").id
    file = tmp_path / "export.json"
    export_memories(store, file)
    file.write_text(file.read_text().replace('"trust":"tool"', '"trust":"user"'))
    import_memories(store, file)
    assert store.get(id).trust == "tool"


def test_a_deleted_memory_can_be_brought_back_after_the_move(full: MemoryStore, open_store, tmp_path: Path) -> None:
    export_memories(full, tmp_path / "export.json")
    copy = open_store(tmp_path / "copy", project="app", clock_ms=NOW_MS + DAY_MS)
    import_memories(copy, tmp_path / "export.json")
    deleted = next(json.loads(row)["memory"] for row in _rows(tmp_path / "export.json", "history") if '"delete"' in row)
    copy.undo(deleted)
    assert copy.get(deleted).content == "deleted"


def _rows(file: Path, kind: str) -> list[str]:
    return [json.dumps(row) for row in json.loads(file.read_text())[kind]]


def test_more_than_ten_thousand_memories_are_exported(open_store, tmp_path: Path) -> None:
    store = open_store(project="app")
    store.remember_many(({"content": f"memory {number}"} for number in range(10_050)), batch_size=5000)
    assert export_memories(store, tmp_path / "all.json").counts["memory"] == 10_050
    assert export_memories(store, tmp_path / "all.md", format="markdown").counts["memory"] == 10_050


def test_an_export_is_one_moment_of_the_store(open_store) -> None:
    """What is written while an export runs is in the next one."""
    store = open_store(project="app")
    store.remember_many({"content": f"memory {number}"} for number in range(10))
    rows = store.rows.dump()
    seen = [next(rows)]
    store.remember("too late")
    seen += rows
    assert sum(kind == "memory" for kind, _ in seen) == 10


def test_an_export_of_one_project_has_it_and_the_global_memories(open_store) -> None:
    store = open_store(project="app")
    store.remember("of app")
    store.remember("of other", project="other")
    store.remember("of everybody", scope="global")
    store.kv.set("k", 1, project="other")
    exported = _exported(store, project="app")
    assert {row["content"] for row in exported["memories"]} == {"of app", "of everybody"}
    assert exported.get("kv", []) == []
    assert "other" not in json.dumps(exported)


def test_an_export_leaves_nothing_behind_in_the_data_directory(full: MemoryStore, data_dir: Path) -> None:
    before = sorted(data_dir.rglob("*"))
    _exported(full)
    rows = full.rows.dump()
    next(rows)
    rows.close()
    assert sorted(data_dir.rglob("*")) == before


def test_a_dry_run_writes_nothing(full: MemoryStore, open_store, tmp_path: Path) -> None:
    export_memories(full, tmp_path / "export.json")
    copy = open_store(tmp_path / "copy")
    report = import_memories(copy, tmp_path / "export.json", dry_run=True)
    assert (report.dry_run, report.counts["memory"]) == (True, {"found": 5})
    assert (copy.count(project="*"), copy.projects.list(), copy.stats().seq) == (0, [], 0)


@pytest.mark.parametrize("damage", ["truncated", "one line lost", "not ours", "empty", "binary", "half a row"])
def test_a_damaged_export_changes_nothing(full: MemoryStore, open_store, tmp_path: Path, damage: str) -> None:
    file = tmp_path / "export.json"
    export_memories(full, file)
    text = file.read_text()
    lines = text.splitlines(keepends=True)
    damaged = {
        "truncated": text[: len(text) // 2],
        "one line lost": "".join(line for number, line in enumerate(lines) if number != len(lines) // 2),
        "not ours": '{"something": "else"}',
        "empty": "",
        "binary": "\0\1\2",
        "half a row": text.replace('"category"', '"catgeory"', 1),
    }[damage]
    file.write_text(damaged)
    copy = open_store(tmp_path / "copy")
    with pytest.raises(InvalidInputError):
        import_memories(copy, file)
    assert (copy.count(project="*"), copy.kv.list()) == (0, [])


def test_the_file_to_import_must_be_there(store: MemoryStore, tmp_path: Path) -> None:
    with pytest.raises(StorageError) as error:
        import_memories(store, tmp_path / "missing.json")
    assert str(tmp_path / "missing.json") in str(error.value)


@pytest.mark.parametrize("table", ["meta", "document", "memory"])
def test_an_export_of_a_damaged_store_names_the_store_and_not_its_copy(
    open_store: Callable[..., MemoryStore], tmp_path: Path, table: str
) -> None:
    with open_store(tmp_path / "damaged") as whole:
        whole.remember("The walrus sleeps.")
    file = tmp_path / "damaged" / "store.db"
    with closing(sqlite3.connect(file)) as database:
        [(page,)] = database.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (table,)).fetchall()
        [(size,)] = database.execute("PRAGMA page_size").fetchall()
    with file.open("r+b") as damaged:
        damaged.seek((page - 1) * size)
        damaged.write(bytes(size))
    store = open_store(tmp_path / "damaged", background=False)
    with pytest.raises(CorruptStoreError) as error:
        export_memories(store, tmp_path / "export.json")
    assert str(error.value).startswith(f"{file}: ")


def test_a_failed_export_leaves_the_old_file_alone(full: MemoryStore, tmp_path: Path) -> None:
    file = tmp_path / "export.json"
    file.write_text("precious")
    full.close()
    with pytest.raises(RuntimeError):
        export_memories(full, file)
    assert file.read_text() == "precious"
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["export.json"]


def test_an_export_removes_what_a_killed_one_to_the_same_name_left(full: MemoryStore, tmp_path: Path) -> None:
    file, left = tmp_path / "export.json", tmp_path / ".export.json.0123456789abcdef"
    left.write_text("left")
    export_memories(full, file)
    assert left.exists()  # Another process may still write it.
    os.utime(left, (0, 0))
    export_memories(full, file)
    assert not left.exists()


def test_an_unknown_format_is_refused_with_a_suggestion(store: MemoryStore, tmp_path: Path) -> None:
    for act in (
        lambda: export_memories(store, tmp_path / "x", format="jsn"),
        lambda: import_memories(store, tmp_path / "x", format="jsn"),
    ):
        with pytest.raises(InvalidInputError) as error:
            act()
        assert error.value.field == "format"
        assert "json" in str(error.value.hint)
    assert not (tmp_path / "x").exists()


def test_markdown_brings_back_what_it_shows(full: MemoryStore, open_store, tmp_path: Path) -> None:
    export_memories(full, tmp_path / "export.md", format="markdown")
    copy = open_store(tmp_path / "copy", project="app", clock_ms=NOW_MS + DAY_MS)
    import_memories(copy, tmp_path / "export.md")
    for status in ("active", "candidate"):
        options = {"project": "*", "status": status}
        shown = [(m.id, m.content, m.topic, m.tags, m.metadata, m.time, m.created_at) for m in full.list(**options)]
        again = [(m.id, m.content, m.topic, m.tags, m.metadata, m.time, m.created_at) for m in copy.list(**options)]
        assert sorted(again) == sorted(shown)


def test_progress_reaches_the_total(full: MemoryStore, open_store, tmp_path: Path) -> None:
    export_memories(full, tmp_path / "export.json")
    seen: list[tuple[int, int]] = []
    import_memories(
        open_store(tmp_path / "copy"), tmp_path / "export.json", progress=lambda done, total: seen.append((done, total))
    )
    assert seen[-1][0] == seen[-1][1] > 0


@pytest.mark.parametrize("name", ["store.db", "store.db-wal", "new.json", "lexical/meta.json"])
def test_an_export_never_replaces_a_file_of_the_store(full: MemoryStore, tmp_path: Path, name: str) -> None:
    link = tmp_path / "link"
    link.symlink_to(full.data_dir / name)
    before = _exported(full)
    for target in (full.data_dir / name, link, full.data_dir / "backups" / ".." / name):
        with pytest.raises(InvalidInputError, match="folder of the store") as caught:
            export_memories(full, target)
        assert caught.value.field == "path"
    assert not (full.data_dir / "new.json").exists()
    assert _exported(full) | {"exported_at": None} == before | {"exported_at": None}
    assert full.indexes.verify().ok


def test_an_export_to_a_pipe_goes_through_it_and_leaves_it_there(full: MemoryStore, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor() as pool:
        heard = pool.submit(pipe.read_text, encoding="utf-8")
        export_memories(full, pipe)
        assert json.loads(heard.result(timeout=30)) == _exported(full)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".pipe")] == []
