"""Folders and files whose names are not UTF-8: each command says so, and what to do."""

from __future__ import annotations

import errno
import os
import subprocess
from pathlib import Path

import pytest

from support.command_line import CommandLine


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A repository whose path is not UTF-8."""
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    try:
        path.mkdir()
    except OSError as error:
        if error.errno not in {errno.EILSEQ, errno.EINVAL}:
            raise
        pytest.skip("this file system takes only names in UTF-8")
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    subprocess.run(["git", "init", "--quiet"], cwd=path, check=True)
    subprocess.run(["git", *identity, "commit", "--quiet", "--allow-empty", "-m", "x"], cwd=path, check=True)
    return path


def test_folder_has_no_project(cli: CommandLine, folder: Path) -> None:
    refused = cli("-C", str(folder), "remember", "The till is green")
    assert refused.code == 2
    assert "caf? is not UTF-8, so it has no project" in refused.err
    assert "--project NAME" in refused.err
    cli.ok("-C", str(folder), "-p", "shop", "remember", "The till is green")


def test_memory_file_shows_the_named_project(cli: CommandLine, folder: Path) -> None:
    cli.ok("-C", str(folder), "-p", "shop", "remember", "The till is green")
    cli.ok("-C", str(folder), "-p", "shop", "memory-file", "--create")
    assert "The till is green" in (folder / ".opencode" / "MEMORY.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("options", [(), ("--in-place",)])
def test_loop_is_refused_before_a_plan_is_written(cli: CommandLine, folder: Path, options: tuple[str, ...]) -> None:
    refused = cli("-C", str(folder), "-p", "shop", "loop", "start", "Write it", "--check", "true", *options)
    assert refused.code == 2
    assert "caf? is not UTF-8, so no loop can be recorded for it" in refused.err
    assert "rename the folder" in refused.err
    assert "There is no plan" in cli.ok("-p", "shop", "plan", "list").err


def test_note_is_refused(cli: CommandLine, folder: Path) -> None:
    note = Path(os.fsdecode(os.fsencode(cli.folder) + b"/caf\xe9.md"))
    note.write_text("# A\n\nThe shop opens at nine.\n", encoding="utf-8")
    for path in (note, folder):
        refused = cli("ingest", str(path))
        assert refused.code == 2
        assert "is not UTF-8" in refused.err
        assert "rename the file or the folder" in refused.err
