"""Behavior of the command as a process: pipes, signals, colors and concurrent writers."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = (sys.executable, "-m", "opencode_memory.cli")


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {
        **os.environ,
        "HOME": str(tmp_path),
        "XDG_DATA_HOME": str(tmp_path / "data"),
        "OPENCODE_MEMORY_PROJECT": "p",
    }


def run(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *arguments], env=environment, capture_output=True, text=True, check=False)


def test_closed_output_pipe_exits_with_0(environment: dict[str, str]) -> None:
    run(environment, "remember", "x" * 90_000)
    listing = subprocess.Popen(
        [*COMMAND, "show", run(environment, "list", "--json").stdout.split('"id": "')[1][:36]],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0,
    )  # fmt: skip
    assert listing.stdout is not None
    listing.stdout.close()
    _, errors = listing.communicate()
    assert (listing.returncode, errors) == (0, b"")


def open_for_writing(pipe: Path, reader: subprocess.Popen[bytes]) -> int:
    """Open a pipe for writing once its reader has opened it. The reader then blocks, because no data is written."""
    while reader.poll() is None:
        with contextlib.suppress(OSError):
            return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
    raise AssertionError("the command ended before it read")


def enable_interrupts() -> None:
    """Restore the default handler of Ctrl-C. A shell's background processes ignore Ctrl-C, and children inherit that."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_interrupt_exits_with_130_without_traceback(environment: dict[str, str], tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reading = subprocess.Popen(
        [*COMMAND, "import", str(pipe)],
        env=environment,
        stderr=subprocess.PIPE,
        preexec_fn=enable_interrupts,  # noqa: PLW1509  this process has no threads of its own
    )
    end = open_for_writing(pipe, reading)
    reading.send_signal(signal.SIGINT)
    _, errors = reading.communicate()
    os.close(end)
    assert (reading.returncode, errors.strip()) == (130, b"interrupted")


def test_output_to_pipe_has_color_only_on_request(environment: dict[str, str]) -> None:
    run(environment, "remember", "Colour me.")
    assert "\x1b" not in run(environment, "recall", "colour").stdout
    assert "\x1b" in run(environment, "recall", "colour", "--color", "always").stdout


def test_processes_write_concurrently(environment: dict[str, str]) -> None:
    writers = [
        subprocess.Popen([*COMMAND, "remember", f"Fact number {number}."], env=environment, stdout=subprocess.DEVNULL)
        for number in range(4)
    ]
    assert [writer.wait() for writer in writers] == [0, 0, 0, 0]
    assert run(environment, "stats").stdout.startswith("4 memories in 1 project")


def test_version_option_prints_version(environment: dict[str, str]) -> None:
    assert run(environment, "--version").stdout.startswith("opencode-memory ")
