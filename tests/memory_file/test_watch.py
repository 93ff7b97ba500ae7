"""Noticing edits of memory files."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from opencode_memory import MemoryStore
from opencode_memory.memory_file import RELATIVE, sync
from opencode_memory.memory_file.watch import FileWatch

AT = datetime(2026, 3, 1, tzinfo=UTC)


@dataclass
class Clock:
    """A time that a test sets."""

    seconds: float = 0.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def tree(store: MemoryStore, tmp_path: Path) -> Path:
    """A work tree with a memory file."""
    folder = tmp_path / "shop"
    folder.mkdir()
    store.remember("the port is 5128", category="decision", project="app")
    write(store, folder)
    return folder


def write(store: MemoryStore, folder: Path) -> None:
    sync(store, project="app", work_tree=folder, mode="auto", max_lines=100, at=AT)


def edit(folder: Path, before: str, after: str) -> None:
    path = folder / RELATIVE
    path.write_text(path.read_text(encoding="utf-8").replace(before, after), encoding="utf-8")


def trees(watch: FileWatch, store: MemoryStore) -> list[Path]:
    return [file.work_tree for file in watch.find_edited(store)]


def test_written_file_is_not_edited(store: MemoryStore, tree: Path) -> None:
    watch = FileWatch()
    assert trees(watch, store) == []
    store.remember("the host is bee", category="decision", project="app")
    write(store, tree)
    assert "the host is bee" in (tree / RELATIVE).read_text(encoding="utf-8")
    assert trees(watch, store) == []


def test_edit_is_reported_until_it_is_handled(store: MemoryStore, tree: Path) -> None:
    watch = FileWatch()
    edit(tree, "5128", "6000")
    [file] = watch.find_edited(store)
    assert (file.work_tree, file.project) == (tree, "app")
    assert trees(watch, store) == [tree]
    watch.mark_handled(file)
    assert trees(watch, store) == []
    edit(tree, "6000", "70000")
    assert trees(watch, store) == [tree]


def test_edit_outside_of_the_managed_part_is_no_edit(store: MemoryStore, tree: Path) -> None:
    path = tree / RELATIVE
    path.write_text("# My own words\n\n" + path.read_text(encoding="utf-8"), encoding="utf-8")
    assert trees(FileWatch(), store) == []


@pytest.mark.parametrize("damage", ["# no marks left\n", "\xff"])
def test_unusable_file_is_reported_once(store: MemoryStore, tree: Path, damage: str) -> None:
    (tree / RELATIVE).write_bytes(damage.encode("latin-1"))
    watch = FileWatch()
    [file] = watch.find_edited(store)
    watch.mark_handled(file)
    assert trees(watch, store) == []


def test_missing_file_and_folder_are_passed_over(store: MemoryStore, tree: Path) -> None:
    (tree / RELATIVE).unlink()
    assert trees(FileWatch(), store) == []
    (tree / RELATIVE).parent.rmdir()
    tree.rmdir()
    assert trees(FileWatch(), store) == []


def test_file_that_another_process_wrote_is_found_after_some_seconds(
    store: MemoryStore, tree: Path, tmp_path: Path
) -> None:
    clock = Clock()
    watch = FileWatch(clock)
    assert trees(watch, store) == []
    other = tmp_path / "other"
    other.mkdir()
    write(store, other)
    edit(other, "5128", "6000")
    assert trees(watch, store) == []
    clock.seconds = 10.0
    assert trees(watch, store) == [other]
