"""Atomic replacement of files."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from opencode_memory.files.atomic import open_atomically, remove_leftovers, write_atomically


def test_new_file_is_private(tmp_path: Path) -> None:
    write_atomically(tmp_path / "a", b"new")
    assert (tmp_path / "a").read_bytes() == b"new"
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o600


def test_mode_is_set_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        write_atomically(tmp_path / "a", b"new", mode=0o644)
    finally:
        os.umask(before)
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o644


def test_failed_write_keeps_the_old_version_and_leaves_no_temporary_file(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"old")
    with pytest.raises(UnicodeEncodeError), open_atomically(tmp_path / "a") as out:
        out.write("new \ud800")
    assert (tmp_path / "a").read_bytes() == b"old"
    assert [file.name for file in tmp_path.iterdir()] == ["a"]


def test_old_version_is_readable_until_the_new_one_is_complete(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"old")
    with open_atomically(tmp_path / "a") as out:
        out.write("new\n")
        out.flush()
        assert (tmp_path / "a").read_bytes() == b"old"
    assert (tmp_path / "a").read_bytes() == b"new\n"


def test_only_old_files_of_killed_writers_of_the_path_are_removed(tmp_path: Path) -> None:
    mark = "0123456789abcdef"
    names = [f".a.{mark}", f".b.{mark}", f".a.{mark}.txt", ".a.notes", f"a.{mark}"]
    for name in names:
        (tmp_path / name).write_bytes(b"left")
    (tmp_path / f".a.{mark[::-1]}").symlink_to(tmp_path / ".a.notes")
    (tmp_path / f".a.{mark[1:]}0").mkdir()
    with open_atomically(tmp_path / "a") as out:
        out.write("new\n")
        [written] = {path.name for path in tmp_path.glob(".a.*")} - {*names, f".a.{mark[::-1]}", f".a.{mark[1:]}0"}
        remove_leftovers(tmp_path / "a", before=datetime.fromtimestamp(0, UTC))
        assert (tmp_path / names[0]).exists()
        remove_leftovers(tmp_path / "a", before=datetime.max.replace(tzinfo=UTC))
        assert (tmp_path / written).exists()
    kept = {*names[1:], f".a.{mark[::-1]}", f".a.{mark[1:]}0", "a"}
    assert {path.name for path in tmp_path.iterdir()} == kept


def test_link_is_replaced_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"old")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    write_atomically(tmp_path / "link", b"new")
    assert not (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_bytes() == b"old"
