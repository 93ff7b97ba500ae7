"""The program that keeps the server running on Windows. It runs on every system."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType

import pytest

from opencode_memory.platform import system
from opencode_memory.service import keeper, task_file
from opencode_memory.service.keeper import keep, start_server
from opencode_memory.service.keeper_lock import LOCK_FILE, Kept, find_kept
from opencode_memory.service.launch import Launch
from opencode_memory.service.task_file import LOG_FILE

LAUNCH = Launch(arguments=("python", "serve"), environment=MappingProxyType({}))


class Server:
    """Servers that end with exit codes, one after the other; records what others see while each of them runs."""

    def __init__(self, folder: Path, codes: list[int]) -> None:
        self.seen: list[Kept | None] = []
        self.pauses: list[float] = []
        self._folder = folder
        self._codes = codes

    def start(self, launch: Launch, report: Callable[[int], None]) -> int:
        assert launch == LAUNCH
        report(1000 + len(self.seen))
        self.seen.append(find_kept(self._folder))
        return self._codes.pop(0)

    def pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        assert find_kept(self._folder) == Kept(pid=None)


def test_server_is_started_again_after_a_failure(tmp_path: Path) -> None:
    server = Server(tmp_path, [3, 1, 0])
    assert find_kept(tmp_path) is None
    assert keep(LAUNCH, tmp_path, start=server.start, pause=server.pause) == 0
    assert server.seen == [Kept(pid=1000), Kept(pid=1001), Kept(pid=1002)]
    assert server.pauses == [5.0, 5.0]
    assert find_kept(tmp_path) is None


def test_server_that_fails_at_once_is_given_up(tmp_path: Path) -> None:
    server = Server(tmp_path, [4] * 99)
    assert keep(LAUNCH, tmp_path, start=server.start, pause=server.pause) == 4
    assert len(server.seen) == 10


def test_server_that_fails_seldom_is_not_given_up(tmp_path: Path) -> None:
    server = Server(tmp_path, [4] * 20 + [0])
    times = iter(range(0, 99_999, 100))
    assert keep(LAUNCH, tmp_path, start=server.start, pause=server.pause, clock=lambda: float(next(times))) == 0
    assert len(server.seen) == 21


def test_second_keeper_waits_for_the_first_and_gives_up(tmp_path: Path) -> None:
    descriptor = system().open(tmp_path / LOCK_FILE, os.O_RDWR | os.O_CREAT)
    system().lock(descriptor)
    pauses: list[float] = []
    server = Server(tmp_path, [])
    assert keep(LAUNCH, tmp_path, start=server.start, pause=pauses.append) == 1
    assert (server.seen, 9 < sum(pauses) < 11) == ([], True)
    os.close(descriptor)


def test_second_keeper_takes_over_when_the_first_ends(tmp_path: Path) -> None:
    descriptor = system().open(tmp_path / LOCK_FILE, os.O_RDWR | os.O_CREAT)
    system().lock(descriptor)
    server = Server(tmp_path, [0])
    assert keep(LAUNCH, tmp_path, start=server.start, pause=lambda _seconds: os.close(descriptor)) == 0
    assert server.seen == [Kept(pid=1000)]


def run_program(program: str, folder: Path, variables: dict[str, str]) -> tuple[int, list[int], str]:
    """Run a Python program as the server; return its exit code, the process ids that were reported, and the log."""
    launch = Launch(arguments=(sys.executable, "-c", program), environment=MappingProxyType(variables))
    pids: list[int] = []
    code = start_server(launch, pids.append, log=folder / LOG_FILE)
    return code, pids, (folder / LOG_FILE).read_text()


def test_server_sees_only_settings_of_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENCODE_MEMORY_PORT", "XDG_DATA_HOME", "HOME", "OTHER"):
        monkeypatch.setenv(name, "shell")
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    program = (
        "import os, sys; names = ('OPENCODE_MEMORY_PORT', 'XDG_DATA_HOME', 'HOME', 'OTHER', 'OPENCODE_MEMORY_HOST');"
        "print([os.environ.get(name) for name in names], os.getcwd(), os.getpid()); sys.exit(3)"
    )
    code, pids, log = run_program(program, tmp_path, {"OPENCODE_MEMORY_HOST": "ü"})
    assert code == 3
    assert log == f"[None, None, None, 'shell', 'ü'] {tmp_path} {pids[0]}\n"


def test_log_is_continued(tmp_path: Path) -> None:
    run_program("print('one')", tmp_path, {})
    assert run_program("import sys; sys.stderr.write('two')", tmp_path, {})[2] == "one\ntwo"


def test_missing_program_is_in_the_log(tmp_path: Path) -> None:
    launch = Launch(arguments=(str(tmp_path / "python"),), environment=MappingProxyType({}))
    assert start_server(launch, lambda _pid: None, log=tmp_path / LOG_FILE) != 0
    assert (tmp_path / LOG_FILE).read_text().startswith(f"cannot start {tmp_path / 'python'}: ")


def test_task_runs_its_server_to_the_end(tmp_path: Path) -> None:
    """The command line of the task, as a process of its own."""
    done = tmp_path / "done"
    program = f"import pathlib, sys; pathlib.Path({str(done)!r}).touch(); sys.stdin.read()"
    launch = Launch(arguments=(sys.executable, "-c", program), environment=MappingProxyType({}))
    file = tmp_path / "task.xml"
    file.write_text(task_file.render(launch, user="jo", program="python", arguments=()))
    command = [sys.executable, "-P", "-m", keeper.__name__, str(file)]
    ran = subprocess.run(command, capture_output=True, timeout=60, check=False)
    assert (ran.returncode, ran.stderr, done.exists()) == (0, b"", True)
