"""Reading and writing the file: links are not followed, unread versions are kept, and writes are atomic."""

from __future__ import annotations

import os
import stat
from datetime import timedelta
from pathlib import Path

import pytest

from opencode_memory.errors import ConflictError, StorageError
from opencode_memory.memory_file import confined
from opencode_memory.memory_file.confined import Found
from opencode_memory.memory_file.disk import read, write
from support.memory_files import AT


@pytest.fixture
def work_tree(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    (folder / ".opencode").mkdir(parents=True)
    return folder


def file_in(work_tree: Path) -> Path:
    return work_tree / ".opencode/MEMORY.md"


def names(work_tree: Path) -> list[str]:
    return sorted(path.name for path in (work_tree / ".opencode").iterdir())


def test_read_returns_none_for_a_missing_file_else_bytes_and_permissions(work_tree: Path) -> None:
    assert read(work_tree) is None
    file_in(work_tree).write_bytes(b"mine\r\n")
    file_in(work_tree).chmod(0o640)
    assert read(work_tree) == Found(b"mine\r\n", 0o640)


def test_missing_folder_is_created_with_the_file(tmp_path: Path) -> None:
    assert read(tmp_path) is None
    write(tmp_path, b"new", before=None, at=AT)
    assert file_in(tmp_path).read_bytes() == b"new"


@pytest.mark.parametrize("mode", [0o600, 0o664, 0o755])
def test_permissions_are_kept(work_tree: Path, mode: int) -> None:
    file_in(work_tree).write_bytes(b"old")
    file_in(work_tree).chmod(mode)
    write(work_tree, b"new", before=read(work_tree), at=AT)
    assert read(work_tree) == Found(b"new", mode)


def test_new_file_has_the_permissions_of_new_files(work_tree: Path) -> None:
    mask = os.umask(0o027)
    try:
        write(work_tree, b"new", before=None, at=AT)
    finally:
        os.umask(mask)
    assert stat.S_IMODE(file_in(work_tree).stat().st_mode) == 0o640


@pytest.mark.parametrize("where", ["outside", "inside", "nowhere"])
def test_linked_file_is_neither_read_nor_written(work_tree: Path, tmp_path: Path, where: str) -> None:
    target = work_tree / "notes.md" if where == "inside" else tmp_path / "victim"
    if where != "nowhere":
        target.write_text("precious")
    file_in(work_tree).symlink_to(target)
    with pytest.raises(ConflictError, match="symbolic link"):
        read(work_tree)
    with pytest.raises(ConflictError, match="symbolic link"):
        write(work_tree, b"new", before=None, at=AT)
    assert file_in(work_tree).is_symlink()
    assert (target.read_text() if where != "nowhere" else target.exists()) == (
        "precious" if where != "nowhere" else False
    )


@pytest.mark.parametrize("where", ["outside", "inside", "nowhere"])
def test_linked_folder_is_not_followed(tmp_path: Path, where: str) -> None:
    folder = tmp_path / "shop"
    folder.mkdir()
    target = folder / "real" if where == "inside" else tmp_path / "elsewhere"
    if where != "nowhere":
        target.mkdir()
        (target / "MEMORY.md").write_text("precious")
    (folder / ".opencode").symlink_to(target)
    with pytest.raises(ConflictError, match="symbolic link"):
        read(folder)
    with pytest.raises(ConflictError, match="symbolic link"):
        write(folder, b"new", before=None, at=AT)
    if where != "nowhere":
        assert [path.name for path in target.iterdir()] == ["MEMORY.md"]
        assert (target / "MEMORY.md").read_text() == "precious"


def test_fifo_or_folder_instead_of_the_file_does_not_block(work_tree: Path) -> None:
    os.mkfifo(file_in(work_tree))
    with pytest.raises(ConflictError, match="not a file"):
        read(work_tree)
    file_in(work_tree).unlink()
    file_in(work_tree).mkdir()
    with pytest.raises(ConflictError, match="not a file"):
        read(work_tree)


def test_file_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / ".opencode").write_text("precious")
    with pytest.raises(ConflictError, match="not a folder"):
        read(tmp_path)


def test_work_tree_that_is_gone_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"cannot read .*MEMORY\.md"):
        read(tmp_path / "gone")


def test_file_too_large_for_a_list_of_memories_is_refused(work_tree: Path) -> None:
    file_in(work_tree).write_bytes(b"x" * ((8 << 20) + 1))
    with pytest.raises(ConflictError, match="bytes"):
        read(work_tree)


def test_file_changed_since_it_was_read_is_not_replaced(work_tree: Path) -> None:
    file_in(work_tree).write_bytes(b"old")
    before = read(work_tree)
    file_in(work_tree).write_bytes(b"newer")
    with pytest.raises(ConflictError, match="was changed"):
        write(work_tree, b"ours", before=before, at=AT)
    with pytest.raises(ConflictError, match="was changed"):
        write(work_tree, b"ours", before=None, at=AT)
    assert names(work_tree) == ["MEMORY.md"]
    assert file_in(work_tree).read_bytes() == b"newer"
    file_in(work_tree).unlink()
    with pytest.raises(ConflictError, match="was changed"):
        write(work_tree, b"ours", before=before, at=AT)
    assert names(work_tree) == []


def test_failure_before_the_end_leaves_the_old_version_and_nothing_else(
    work_tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file_in(work_tree).write_bytes(b"old")
    before = read(work_tree)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(confined.os, "fsync", full)
    with pytest.raises(StorageError, match=r"cannot write .*MEMORY\.md: No space left"):
        write(work_tree, b"new", before=before, at=AT)
    assert names(work_tree) == ["MEMORY.md"]
    assert file_in(work_tree).read_bytes() == b"old"


def test_old_temporary_files_are_removed_and_fresh_ones_are_kept(work_tree: Path) -> None:
    old, fresh = (work_tree / ".opencode" / f".MEMORY.md.{name}.opencode-memory" for name in ("old", "fresh"))
    other = work_tree / ".opencode" / ".MEMORY.md.swp"
    for path, age in ((old, timedelta(hours=2)), (fresh, timedelta(minutes=2)), (other, timedelta(days=9))):
        path.write_text("half")
        os.utime(path, ((AT - age).timestamp(),) * 2)
    write(work_tree, b"new", before=None, at=AT)
    assert names(work_tree) == sorted([fresh.name, other.name, "MEMORY.md"])
