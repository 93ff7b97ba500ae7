"""Ctrl-C in the middle of long commands, in a real process on a terminal."""

from __future__ import annotations

import os
import pty
import re
import signal
import sys
from pathlib import Path

import pytest

from support.command_line import CommandLine

_SECTIONS = 160
_COMMITTED = re.compile(rb"embedding +\[[#-]+\] +(?!0/)\d+/")


def interrupt(arguments: list[str], environment: dict[str, str], *, at: re.Pattern[bytes]) -> tuple[int, str]:
    """Run a command on a terminal, and press Ctrl-C when the output matches; return the exit code and the output."""
    pid, terminal = pty.fork()
    if pid == 0:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.execve(sys.executable, [sys.executable, "-m", "opencode_memory.cli", *arguments], environment)
    output, is_sent = b"", False
    while True:
        try:
            read = os.read(terminal, 65_536)
        except OSError:  # Linux reports the end of a terminal as an error.
            break
        if not read:
            break
        output += read
        if not is_sent and at.search(output):
            is_sent = True
            os.kill(pid, signal.SIGINT)
    os.close(terminal)
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status), output.decode()


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    for file in range(8):
        sections = (
            f"# Rule {file}-{number}\n\n" + f"Service {file}-{number} listens on port {4000 + number}. " * 9
            for number in range(_SECTIONS // 8)
        )
        (folder / f"n{file}.md").write_text("\n\n".join(sections))
    return folder


def test_interrupted_ingest_keeps_vectors_and_next_run_completes_them(
    cli: CommandLine, notes: Path, tmp_path: Path
) -> None:
    data = str(tmp_path / "interrupted")
    environment = {**os.environ, "OPENCODE_MEMORY_PROJECT": "p", "OPENCODE_MEMORY_DATA_DIR": data}
    code, output = interrupt(["ingest", str(notes)], environment, at=_COMMITTED)
    assert code == 130, output
    assert f"8 notes: {_SECTIONS} added." in output
    left = re.search(r"(\d+) memories without vectors, found by their words until then", output)
    assert left is not None, output
    assert 0 < int(left[1]) < _SECTIONS

    again = cli.ok("--data-dir", data, "-p", "p", "ingest", str(notes))
    assert again.out == f"8 notes: {_SECTIONS} unchanged.\n"
    assert re.match(rf"Embedded {left[1]} memories in \d+ s", again.err), again.err
