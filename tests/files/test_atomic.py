"""Atomic replacement of files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from opencode_memory.files.atomic import open_atomically, write_atomically


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


def test_link_is_replaced_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"old")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    write_atomically(tmp_path / "link", b"new")
    assert not (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_bytes() == b"old"
