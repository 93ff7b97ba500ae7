"""What a dead server has left: it is ended or comes to its end, and no other process is touched."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace

import pytest

from loops.processes import dead_process, elsewhere, has_ended
from opencode_memory.loops import left_over
from opencode_memory.loops.left_over import end_children, end_group, mark
from opencode_memory.loops.process import ProcessId, all_processes, identify


class Group:
    """A process group with two processes."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.leader = subprocess.Popen(
            ["sh", "-c", "sleep 300 & echo $!; wait"],
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert self.leader.stdout is not None
        self.child = int(self.leader.stdout.readline())
        found = identify(self.leader.pid)
        assert found is not None
        self.id = found

    def kill_leader(self) -> None:
        self.leader.kill()
        self.leader.wait()

    def end(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.leader.pid, signal.SIGKILL)
        self.leader.communicate()


@pytest.fixture
def group(request: pytest.FixtureRequest) -> Iterator[Group]:
    found = Group(getattr(request, "param", mark()))
    yield found
    found.end()


def test_group_is_ended_with_its_children(group: Group) -> None:
    assert end_group(group.id)
    assert has_ended(group.leader.pid)
    assert has_ended(group.child)
    assert not end_group(group.id)


def test_group_without_its_leader_is_ended(group: Group) -> None:
    group.kill_leader()
    assert end_group(group.id)
    assert has_ended(group.child)


@pytest.mark.parametrize("group", [{}], indirect=True)
def test_group_of_somebody_else_that_has_the_same_number_is_left(group: Group) -> None:
    """Without its leader, only our mark tells our group from a later one."""
    group.kill_leader()
    assert not end_group(group.id)
    assert not has_ended(group.child)


def test_process_that_has_the_number_now_is_left(group: Group) -> None:
    for other in (replace(group.id, started=group.id.started - 1), elsewhere(group.id)):
        assert end_group(other) is False
    assert not has_ended(group.leader.pid)


def test_group_of_a_dead_process_is_none() -> None:
    assert not end_group(dead_process())


def test_children_of_a_dead_server_come_to_their_end(monkeypatch: pytest.MonkeyPatch) -> None:
    server = dead_process()
    with child_of(server, "read line; sleep 0.3") as child:
        assert child.stdin is not None
        end = child.stdin.close
        looks: list[None] = []

        def look() -> list[int]:
            """List all processes. The child begins to end when it is looked for again."""
            if looks:
                end()
            looks.append(None)
            return all_processes()

        monkeypatch.setattr(left_over, "all_processes", look)
        assert end_children(server)
        assert child.wait(5) == 0
    assert not end_children(server)


def test_child_that_takes_too_long_is_told_to_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(left_over, "_GIT_SECONDS", 0.1)
    server = dead_process()
    ours = identify(os.getpid())
    assert ours is not None
    with child_of(server, "exec sleep 300") as theirs, child_of(ours, "exec sleep 300") as other:
        assert end_children(server)
        assert theirs.wait(5) == -signal.SIGTERM
        assert other.poll() is None
        other.kill()


def test_child_that_just_begins_a_program_is_found() -> None:
    """Its environment is empty for a moment."""
    server = dead_process()
    wanted = f"{next(iter(mark()))}={server}".encode()
    found = []
    for _ in range(200):
        with child_of(server, "exec sleep 300") as child:
            found.append(left_over._has_variable(child.pid, wanted))
            child.kill()
    assert all(found)


def child_of(server: ProcessId, command: str) -> subprocess.Popen[bytes]:
    [name] = mark()
    return subprocess.Popen(["sh", "-c", command], env={**os.environ, name: str(server)}, stdin=subprocess.PIPE)
