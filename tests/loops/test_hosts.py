"""Which process of OpenCode runs a loop, and when the server starts and ends one of its own."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import cast

import anyio
import pytest

from loops.fake_opencode import FakeOpenCode
from opencode_memory.errors import InvalidInputError, OpencodeMemoryError
from opencode_memory.loops.hosts import Hosts
from opencode_memory.loops.model import Limits, Loop, LoopState, Place
from opencode_memory.loops.own_host import LOG_FILE, RECORD_FILE, OwnHost, read_record
from opencode_memory.loops.process import process_start
from opencode_memory.text import clock

SHOP = Path("/shop")
LIMITS = Limits(iterations=1, seconds=1.0, tokens=None, cost=None)


class FakeOwn:
    """An OpenCode of the server, which connects when it is opened, or never."""

    def __init__(self, *, connects: bool = True) -> None:
        self.pid: int | None = None
        self.opened: list[str] = []
        self.connects = connects
        self.hosts: Hosts | None = None

    async def open(self, program: str, folder: str) -> None:
        assert program == "/bin/opencode"
        self.pid = 7
        self.opened.append(folder)
        if self.connects and self.hosts is not None:
            self.hosts.add(FakeOpenCode(Path(folder), lambda _: {}, pid=7))

    async def end(self) -> None:
        self.pid = None


def make(*, connects: bool = True) -> tuple[Hosts, FakeOwn]:
    own = FakeOwn(connects=connects)
    own.hosts = Hosts(lambda folder: "shop" if folder.startswith("/shop") else None, cast("OwnHost", own))
    return own.hosts, own


def loop(program: str | None = "/bin/opencode", **more: object) -> Loop:
    values = {
        "id": "a",
        "name": "a",
        "project": "shop",
        "plan": "p",
        "directory": str(SHOP),
        "place": Place.WORKTREE,
        "commands": (),
        "sections": 1,
        "limits": LIMITS,
        "created_at": clock.now(),
        "program": program,
        **more,
    }
    return Loop(**values)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "error",
    [
        InvalidInputError("folder: the path is not UTF-8, so it has no project", field="folder"),
        OSError(errno.ENOTCONN, "Transport endpoint is not connected"),
    ],
)
def test_opencode_in_a_folder_without_a_project_prevents_no_loop(error: Exception) -> None:
    def find_project(folder: str) -> str:
        if folder == "/strange":
            raise error
        return "shop"

    hosts = Hosts(find_project, cast("OwnHost", FakeOwn()))
    theirs = FakeOpenCode(SHOP / "web", lambda _: {}, pid=1)
    for host in (theirs, FakeOpenCode(Path("/strange"), lambda _: {}, pid=2)):
        hosts.add(host)
    assert hosts.find(loop()) is theirs


def test_open_opencode_is_preferred_and_no_other_is_started() -> None:
    hosts, own = make()
    theirs = FakeOpenCode(SHOP / "web", lambda _: {}, pid=1)
    hosts.add(theirs)
    assert anyio.run(hosts.find_or_open, loop()) is theirs
    assert own.opened == []


def test_loop_that_may_not_start_opencode_waits() -> None:
    hosts, own = make()
    assert anyio.run(hosts.find_or_open, loop(program=None)) is None
    assert own.opened == []


def test_other_loops_and_plans_do_not_use_the_started_one() -> None:
    hosts, own = make()
    found = anyio.run(hosts.find_or_open, loop())
    assert found is not None
    assert (found.pid, own.opened) == (7, [str(SHOP)])
    assert hosts.find(loop(program=None)) is None
    assert hosts.find_open("shop", str(SHOP)) is None


def test_session_of_a_running_process_is_not_taken_over() -> None:
    hosts, own = make()
    held = loop(host=os.getpid(), host_started=process_start(os.getpid()))
    assert anyio.run(hosts.find_or_open, held) is None
    assert own.opened == []


def test_opencode_that_ends_again_and_again_is_given_up() -> None:
    hosts, own = make()

    async def main() -> None:
        for _ in range(3):
            found = await hosts.find_or_open(loop())
            assert found is not None
            hosts.remove(found)
        with pytest.raises(OpencodeMemoryError, match="ended 3 times"):
            await hosts.find_or_open(loop())
        # The person resumes the loop: it is tried again.
        assert await hosts.find_or_open(loop()) is not None

    anyio.run(main)
    assert len(own.opened) == 4


def test_starts_are_counted_only_for_the_current_steps_of_loops_at_work() -> None:
    hosts, _ = make()

    async def main() -> None:
        for step in range(5):
            for id_ in "ab":
                found = await hosts.find_or_open(loop(id=id_, steps=step))
                assert found is not None
                hosts.remove(found)
        assert hosts._starts == {"a": (4, 1), "b": (4, 1)}
        await hosts.end_idle([loop(id="a", steps=4), loop(id="b", state=LoopState.COMPLETED)])
        assert hosts._starts == {"a": (4, 1)}

    anyio.run(main)


def test_one_connection_wakes_all_loops_that_wait_for_it() -> None:
    hosts, own = make(connects=False)
    found: list[object] = []

    async def wait(id_: str) -> None:
        found.append(await hosts.find_or_open(loop(id=id_)))

    async def main() -> None:
        with anyio.fail_after(10):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(wait, "a")
                tasks.start_soon(wait, "b")
                await anyio.wait_all_tasks_blocked()
                hosts.add(started)

    started = FakeOpenCode(SHOP, lambda _: {}, pid=7)
    anyio.run(main)
    assert found == [started, started]
    assert own.pid == 7


def test_plugin_that_never_connects_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("opencode_memory.loops.hosts._CONNECT_SECONDS", 0.01)
    hosts, _ = make(connects=False)
    with pytest.raises(OpencodeMemoryError, match="plugin does not connect"):
        anyio.run(hosts.find_or_open, loop())


def test_started_opencode_ends_when_no_loop_needs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("opencode_memory.loops.hosts._IDLE_SECONDS", 0.0)
    hosts, own = make()

    async def main() -> None:
        await hosts.find_or_open(loop())
        await hosts.end_idle([loop()])
        assert own.pid == 7
        await hosts.end_idle([loop(state=LoopState.COMPLETED), loop(program=None)])

    anyio.run(main)
    assert own.pid is None


def test_process_of_another_server_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("opencode_memory.loops.hosts._IDLE_SECONDS", 0.0)
    hosts, own = make()
    own.pid = 7

    async def main() -> None:
        await hosts.end_idle([])
        await hosts.close()
        assert own.pid == 7
        hosts.add(FakeOpenCode(SHOP, lambda _: {}, pid=7))
        await hosts.end_idle([])

    anyio.run(main)
    assert own.pid is None


def test_program_that_ends_at_once_is_reported_with_its_log(tmp_path: Path) -> None:
    program = tmp_path / "opencode"
    program.write_text("#!/bin/sh\necho broken: $*\nexit 3\n")
    program.chmod(0o700)
    own = OwnHost(tmp_path, {"PATH": os.environ["PATH"]})
    with pytest.raises(OpencodeMemoryError, match="does not answer"):
        anyio.run(own.open, str(program), str(tmp_path))
    assert "broken: serve --hostname 127.0.0.1 --port" in (tmp_path / LOG_FILE).read_text()
    assert read_record(tmp_path) is None
    assert [(tmp_path / name).stat().st_mode & 0o777 for name in (LOG_FILE, RECORD_FILE)] == [0o600, 0o600]
    anyio.run(own.end)
    assert not (tmp_path / RECORD_FILE).exists()


def test_missing_program_is_named(tmp_path: Path) -> None:
    own = OwnHost(tmp_path, {})
    with pytest.raises(OpencodeMemoryError, match="/nowhere/opencode"):
        anyio.run(own.open, "/nowhere/opencode", str(tmp_path))


def test_variables_of_another_opencode_are_not_passed_on(tmp_path: Path) -> None:
    program = tmp_path / "opencode"
    program.write_text("#!/bin/sh\nenv\n")
    program.chmod(0o700)
    given = {"PATH": os.environ["PATH"], "OPENCODE_SERVER_USERNAME": "me", "OPENCODE_CLIENT": "x", "KEY": "k"}
    with pytest.raises(OpencodeMemoryError):
        anyio.run(OwnHost(tmp_path, given).open, str(program), str(tmp_path))
    said = (tmp_path / LOG_FILE).read_text()
    assert ("OPENCODE_SERVER_USERNAME" in said, "OPENCODE_CLIENT" in said, "KEY=k" in said) == (False, False, True)
