"""Verification commands: exit codes, limits, and nothing left running."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import anyio
import pytest

from opencode_memory.errors import ConflictError
from opencode_memory.loops import command
from opencode_memory.loops.command import KEPT_CHARACTERS, run_all, run_command
from opencode_memory.loops.process import ProcessId


def test_exit_code_and_both_streams_are_kept(tmp_path: Path) -> None:
    async def main() -> None:
        ran = await run_command("echo out; echo err >&2; exit 7", tmp_path)
        assert (ran.exit, sorted(ran.output.split())) == (7, ["err", "out"])

    anyio.run(main)


def test_first_failure_ends_the_list(tmp_path: Path) -> None:
    async def main() -> None:
        ran = await run_all(("true", "false", "touch third"), tmp_path)
        assert (ran.command, ran.exit) == ("false", 1)
        assert not (tmp_path / "third").exists()
        assert (await run_all((), tmp_path)).exit == 0

    anyio.run(main)


def test_long_output_keeps_its_end(tmp_path: Path) -> None:
    async def main() -> None:
        ran = await run_command("yes line | head -c 3000000; echo the end", tmp_path)
        assert ran.output.endswith("the end\n")
        assert len(ran.output) == KEPT_CHARACTERS

    anyio.run(main)


def test_command_that_takes_too_long_is_ended_with_its_children(tmp_path: Path) -> None:
    async def main() -> None:
        ran = await run_command("sleep 300 & echo $! > child; wait", tmp_path, seconds=0.5)
        assert (ran.exit, ran.output.strip()) == (124, "[ended after 0.5 s]")

    anyio.run(main)
    until_gone(int((tmp_path / "child").read_text()))


def test_daemon_that_holds_the_output_open_does_not_hold_up_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "_LEFT_OPEN_SECONDS", 0.2)

    async def main() -> None:
        ran = await run_command("setsid sleep 300 & echo $! > child; echo started; exit 3", tmp_path, seconds=20)
        assert (ran.exit, ran.output) == (3, "started\n")

    try:
        anyio.run(main)
    finally:
        os.kill(int((tmp_path / "child").read_text()), signal.SIGKILL)


def test_exit_code_of_a_timeout_of_its_own_is_no_timeout_of_ours(tmp_path: Path) -> None:
    async def main() -> None:
        ran = await run_command("echo slow; exit 124", tmp_path)
        assert (ran.exit, ran.output) == (124, "slow\n")

    anyio.run(main)


def test_child_left_behind_is_ended_and_does_not_hold_the_output(tmp_path: Path) -> None:
    async def main() -> None:
        with anyio.fail_after(20):
            ran = await run_command("sleep 300 & echo $! > child; echo done", tmp_path)
        assert (ran.exit, ran.output) == (0, "done\n")

    anyio.run(main)
    until_gone(int((tmp_path / "child").read_text()))


def test_folder_that_is_gone_is_an_exit_code(tmp_path: Path) -> None:
    async def main() -> None:
        assert (await run_command("true", tmp_path / "gone")).exit == 127

    anyio.run(main)


def test_command_begins_after_its_group_is_recorded(tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    recorded: list[ProcessId] = []

    async def record(group: ProcessId) -> None:
        await anyio.sleep(0.1)
        assert not begun.exists()
        recorded.append(group)

    async def main() -> None:
        ran = await run_command("touch begun; echo $$; cat", tmp_path, on_start=record)
        assert (ran.exit, ran.output.split()) == (0, [str(group.pid) for group in recorded])

    anyio.run(main)
    assert begun.exists()


def test_command_whose_group_cannot_be_recorded_never_begins(tmp_path: Path) -> None:
    async def fail(_: ProcessId) -> None:
        raise ConflictError("lost")

    async def main() -> None:
        with pytest.raises(ConflictError, match="lost"):
            await run_command("touch begun", tmp_path, on_start=fail)

    anyio.run(main)
    assert not (tmp_path / "begun").exists()


def until_gone(pid: int) -> None:
    """Wait until a process has ended; a zombie has."""
    pause = threading.Event()
    for _ in range(200):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
            os.kill(pid, 0)
        except (ProcessLookupError, FileNotFoundError):
            return
        if state == "Z":
            return
        pause.wait(0.05)
    raise AssertionError(f"process {pid} still runs")
