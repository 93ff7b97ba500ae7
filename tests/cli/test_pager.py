"""Long answers on a terminal open the user's pager; all others are printed."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

import opencode_memory

LINES = 6


def run(tmp_path: Path, *arguments: str, terminal: bool = True) -> str:
    """Run a command on a terminal of a few lines, or with a pipe, and a pager that marks its lines."""
    pager = tmp_path / "mark"
    pager.write_text("#!/bin/sh\nexec sed 's/^/PAGED /'\n", encoding="utf-8")
    pager.chmod(0o700)
    environment = {**os.environ, "PAGER": str(pager), "LINES": str(LINES), "COLUMNS": "80", "TERM": "xterm"}
    command = [sys.executable, "-m", "opencode_memory.cli", "--data-dir", str(tmp_path / "store"), *arguments]
    if not terminal:
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True).stdout
    ours, theirs = pty.openpty()
    read = b""
    with (
        os.fdopen(ours, "rb") as reader,
        subprocess.Popen(command, cwd=tmp_path, env=environment, stdin=theirs, stdout=theirs, stderr=theirs),
        suppress(OSError),  # Linux reports the end of a terminal as an error.
    ):
        os.close(theirs)
        while piece := reader.read1():
            read += piece
    return read.decode()


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    with opencode_memory.open(tmp_path / "store", background=False, project=str(tmp_path)) as store:
        store.remember_many([{"content": f"number {n}"} for n in range(LINES * 2)])
    return tmp_path


def test_long_list_opens_the_pager(stored: Path) -> None:
    out = run(stored, "list")
    assert out.count("PAGED") > LINES
    assert "number 0" in out


def test_short_list_is_printed(stored: Path) -> None:
    out = run(stored, "list", "--limit", "2")
    assert "number 11" in out
    assert "PAGED" not in out


@pytest.mark.parametrize(("limit", "is_paged"), [(2, False), (LINES * 2, True)])
def test_remark_stands_below_the_list(stored: Path, limit: int, is_paged: bool) -> None:
    lines = [
        line for line in run(stored, "list", "--limit", str(limit)).splitlines() if line.strip() not in ("", "PAGED")
    ]
    assert "There may be more" in lines[-1]
    assert ("PAGED" in lines[-1]) is is_paged


@pytest.mark.parametrize("arguments", [("list", "--json"), ("stats",)])
def test_json_and_other_commands_are_printed(stored: Path, arguments: tuple[str, ...]) -> None:
    assert "PAGED" not in run(stored, *arguments)


def test_pipe_gets_no_pager(stored: Path) -> None:
    out = run(stored, "list", terminal=False)
    assert out.count("number") == LINES * 2
    assert "PAGED" not in out
