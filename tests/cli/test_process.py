"""What can only be seen from outside: pipes that close, signals, colours, and processes side by side."""

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


def test_reader_that_has_enough_ends_the_command_quietly(environment: dict[str, str]) -> None:
    run(environment, "remember", "x" * 90_000)
    listing = subprocess.Popen(
        [*COMMAND, "show", run(environment, "list", "--json").stdout.split('"id": "')[1][:36]],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0,
    )  # fmt: skip
    assert listing.stdout is not None
    listing.stdout.close()
    _, complaint = listing.communicate()
    assert (listing.returncode, complaint) == (0, b"")


def opened_for_writing(pipe: Path, reader: subprocess.Popen[bytes]) -> int:
    """Open a pipe as soon as its reader has opened it, who then waits for what is never written."""
    while reader.poll() is None:
        with contextlib.suppress(OSError):
            return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
    raise AssertionError("the command ended before it read")


def hear_interrupts() -> None:
    """A shell starts what runs in its background deaf to Ctrl-C, and a child inherits that."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_interrupt_is_exit_code_130_without_a_traceback(environment: dict[str, str], tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reading = subprocess.Popen(
        [*COMMAND, "import", str(pipe)],
        env=environment,
        stderr=subprocess.PIPE,
        preexec_fn=hear_interrupts,  # noqa: PLW1509  this process has no threads of its own
    )
    end = opened_for_writing(pipe, reading)
    reading.send_signal(signal.SIGINT)
    _, complaint = reading.communicate()
    os.close(end)
    assert (reading.returncode, complaint.strip()) == (130, b"interrupted")


def test_output_in_a_pipe_has_no_colour_unless_it_is_asked_for(environment: dict[str, str]) -> None:
    run(environment, "remember", "Colour me.")
    assert "\x1b" not in run(environment, "recall", "colour").stdout
    assert "\x1b" in run(environment, "recall", "colour", "--color", "always").stdout


def test_processes_write_side_by_side(environment: dict[str, str]) -> None:
    writers = [
        subprocess.Popen([*COMMAND, "remember", f"Fact number {number}."], env=environment, stdout=subprocess.DEVNULL)
        for number in range(4)
    ]
    assert [writer.wait() for writer in writers] == [0, 0, 0, 0]
    assert run(environment, "stats").stdout.startswith("4 memories in 1 project")


def test_version_is_shown(environment: dict[str, str]) -> None:
    assert run(environment, "--version").stdout.startswith("opencode-memory ")
