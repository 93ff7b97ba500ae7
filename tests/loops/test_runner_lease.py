"""The lease of a loop: a second server, a lease that cannot be renewed, and servers that died."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from typing import Any

import anyio
import anyio.from_thread
import pytest

from loops.fake_opencode import FakeOpenCode
from loops.loop_world import World
from loops.processes import dead_process, elsewhere
from opencode_memory.errors import BusyError
from opencode_memory.loops import records
from opencode_memory.loops import runner as runner_module
from opencode_memory.loops.left_over import mark
from opencode_memory.loops.model import Loop, LoopState, StepKind
from opencode_memory.loops.process import ProcessId, identify
from opencode_memory.loops.records import Lease, Loops, LostLeaseError
from opencode_memory.loops.runner import Runner
from opencode_memory.text import clock
from support.plans import PLAN


def test_second_server_does_nothing_while_the_first_has_the_lease(make: Callable[..., World]) -> None:
    world = make()
    lease = world.loops.acquire(world.loop.id, "another server", at=clock.now(), seconds=60)
    assert isinstance(lease, Lease)
    assert world.run().steps == 0
    world.loops.release(lease)
    assert world.run().state is LoopState.COMPLETED


def test_busy_store_while_a_lease_is_renewed_does_not_lose_the_lease(
    make: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    world = make()
    renew, tries = Loops.renew, 0
    is_renewed = anyio.Event()

    def fail_once(self: Loops, *given: Any, **named: Any) -> Lease:
        nonlocal tries
        tries += 1
        if tries == 1:
            raise BusyError("the store is locked")
        lease = renew(self, *given, **named)
        anyio.from_thread.run_sync(is_renewed.set)
        return lease

    async def find_host(_: Loop) -> FakeOpenCode:
        await is_renewed.wait()
        return world.opencode

    async def main() -> None:
        runner = world.runner()
        runner.find_host = find_host
        with anyio.fail_after(30):
            await runner.run()

    monkeypatch.setattr(Loops, "renew", fail_once)
    monkeypatch.setattr(runner_module, "LEASE_SECONDS", 0.3)
    monkeypatch.setattr(
        Runner, "_acquire", lambda self: self.loops.acquire(self.id, self.owner, at=clock.now(), seconds=60)
    )
    anyio.run(main)
    assert world.loops.get(world.loop.id).state is LoopState.COMPLETED
    assert tries > 1


def hold_as(world: World, process: ProcessId, monkeypatch: pytest.MonkeyPatch) -> Lease:
    """Take the lease as a server that is another process."""
    with monkeypatch.context() as patch:
        patch.setattr(records, "identify", lambda _: process)
        lease = world.loops.acquire(world.loop.id, "another server", at=clock.now(), seconds=600)
    assert lease is not None
    return lease


def test_loop_of_a_dead_server_goes_on_at_once(make: Callable[..., World], monkeypatch: pytest.MonkeyPatch) -> None:
    world = make()
    lease = hold_as(world, dead_process(), monkeypatch)
    assert world.run().state is LoopState.COMPLETED
    with pytest.raises(LostLeaseError):
        world.loops.write(world.loops.get(world.loop.id), lease=lease, at=clock.now())


def test_loop_of_a_server_that_may_live_is_left(make: Callable[..., World], monkeypatch: pytest.MonkeyPatch) -> None:
    """A process of another machine cannot be looked up, so its lease has to end."""
    world = make()
    hold_as(world, elsewhere(dead_process()), monkeypatch)
    assert world.run().steps == 0


def test_check_that_outlived_its_server_is_ended_before_it_runs_again(
    make: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    world = make(PLAN.replace("grep -q hello hello.txt", "grep -q hello hello.txt && cat /proc/$(cat ../left)/cmdline"))
    with subprocess.Popen(["sleep", "300"], env={**os.environ, **mark()}, start_new_session=True) as left:
        process = identify(left.pid)
        assert process is not None
        lease = hold_as(world, dead_process(), monkeypatch)
        world.loops.note_run(process, lease)
        folder = world.store.data_dir / "loops" / world.loop.id
        folder.mkdir(parents=True)
        (folder / "left").write_text(str(left.pid))
        assert world.run().state is LoopState.COMPLETED
        assert left.wait(5) == -signal.SIGKILL
    outputs = [step.outcome["output"] for step in world.loops.steps(world.loop.id) if step.kind is StepKind.CHECK]
    assert outputs == [""]
