"""The keeper: which loops and plans it runs, when it tries again, and what it tells."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial
from typing import Any, cast

import anyio
import anyio.to_thread
import pytest

from loops.loop_world import PROJECT, World
from opencode_memory.config.load import load
from opencode_memory.errors import BusyError
from opencode_memory.loops import keeper as keeper_module
from opencode_memory.loops.host import HostError
from opencode_memory.loops.keeper import Keeper
from opencode_memory.loops.model import LoopState, Rest
from opencode_memory.loops.own_host import OwnHost
from opencode_memory.loops.records import Loops
from opencode_memory.loops.runner import Runner
from opencode_memory.loops.start import cancel_loop, pause_loop, resume_loop
from opencode_memory.plans import Approval, Mode, Plan, Plans, PlanStatus
from opencode_memory.store.documents import Damaged
from opencode_memory.text import clock
from support.plans import PLAN

Done = Callable[[], bool]


class NoOwn:
    """No OpenCode of the server runs, and none is started."""

    pid: int | None = None

    async def end(self) -> None:
        raise AssertionError("there is nothing to end")


class Kept:
    """A keeper that serves, and what its OpenCode was asked."""

    def __init__(self, world: World, **settings: str) -> None:
        self.world = world
        self.calls: list[tuple[str, str, Any]] = []
        self.fails: set[str] = set()
        config = load(environment={"HOME": str(world.shop), **settings}).loop
        self.keeper = Keeper(world.store, config, lambda _: PROJECT, cast("OwnHost", NoOwn()))
        self._usual = world.opencode.request
        world.opencode.request = self._request  # type: ignore[method-assign]

    async def _request(self, method: str, path: str, *, directory: str, **more: Any) -> Any:
        self.calls.append((method, path, more.get("body")))
        if path in self.fails:
            raise HostError(f"{path} fails")
        if path.startswith("/tui/") or method == "PATCH":
            return True
        answer = await self._usual(method, path, directory=directory, **more)
        if path.endswith("/prompt_async"):
            self.keeper.notify()
        return answer

    def called(self, method: str, pattern: str) -> list[Any]:
        return [body for made, path, body in self.calls if made == method and re.fullmatch(pattern, path)]

    async def until(self, is_done: Done) -> None:
        """Wait until something has become true."""
        with anyio.fail_after(30):
            while not is_done():  # noqa: ASYNC110  no event tells that a thread has written
                await anyio.sleep(0.01)

    def state(self) -> LoopState:
        return self.world.loops.get(self.world.loop.id).state


@asynccontextmanager
async def serving(kept: Kept) -> AsyncIterator[Keeper]:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(kept.keeper.serve)
        yield kept.keeper
        tasks.cancel_scope.cancel()


def run(main: Callable[[], Awaitable[None]]) -> None:
    anyio.run(main)


def test_loop_runs_when_opencode_connects_and_its_end_is_told(make: Callable[..., World]) -> None:
    world = make()
    kept = Kept(world)

    async def main() -> None:
        async with serving(kept) as keeper:
            await kept.until(lambda: world.loops.get(world.loop.id).rest is Rest.HOST)
            assert world.opencode.asked == []
            keeper.add(world.opencode)
            await kept.until(lambda: len(kept.called("PATCH", "/session/.*")) == 2)
            keeper.remove(world.opencode)

    run(main)
    assert kept.state() is LoopState.COMPLETED
    told = [body["variant"] for body in kept.called("POST", "/tui/show-toast")]
    assert told == ["success"]
    assert all(body["time"]["archived"] > 0 for body in kept.called("PATCH", "/session/.*"))


def test_paused_loop_waits_until_it_is_resumed(make: Callable[..., World]) -> None:
    world = make()
    kept = Kept(world)
    paused = pause_loop(world.store, world.loop, at=clock.now())

    async def main() -> None:
        async with serving(kept) as keeper:
            keeper.add(world.opencode)
            # The plan is sent by the same look that would start the loop.
            plan = approved(world)
            keeper.wake()
            await kept.until(lambda: Plans(world.store, PROJECT).get(plan.id).status is PlanStatus.RUNNING)
            assert world.loops.get(world.loop.id).revision == paused.revision
            resume_loop(world.store, paused, at=clock.now())
            keeper.wake()
            await kept.until(lambda: kept.state() is LoopState.COMPLETED)

    run(main)


def approved(world: World) -> Plan:
    """A plan that waits for a session, whose model reports nothing."""
    usual = world.opencode.answer
    world.opencode.answer = lambda asked: {} if asked.text.startswith("The plan below") else usual(asked)
    plans = Plans(world.store, PROJECT)
    submitted = plans.submit(plans.write(PLAN, at=clock.now(), directory=str(world.shop)).plan)
    approval = Approval(mode=Mode.NEW, by="test", at=clock.now(), message="msg_1", part="prt_1")
    return plans.approve(submitted, approval)


def test_plan_whose_session_was_deleted_gets_a_new_one(make: Callable[..., World]) -> None:
    world = make()
    cancel_loop(world.store, world.loop, at=clock.now())
    kept, plans = Kept(world), Plans(world.store, PROJECT)

    async def main() -> None:
        async with serving(kept) as keeper:
            keeper.add(world.opencode)
            submitted = plans.submit(plans.write(PLAN, at=clock.now(), session="ses_deleted").plan)
            approval = Approval(mode=Mode.HERE, by="test", at=clock.now(), message="msg_1", part="prt_1")
            plan = plans.approve(submitted, approval)
            keeper.wake()
            await kept.until(lambda: plans.get(plan.id).status is PlanStatus.RUNNING)
            keeper.remove(world.opencode)

    run(main)
    [session] = world.opencode.sessions
    assert [asked.session for asked in world.opencode.asked] == [session["id"]]
    assert kept.called("POST", "/tui/select-session") == [{"sessionID": session["id"]}]


def test_approved_plan_is_tried_again_after_a_failure(
    make: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeper_module, "_PLAN_SECONDS", 0.05)
    world = make()
    cancel_loop(world.store, world.loop, at=clock.now())
    kept = Kept(world)
    kept.fails.add("/agent")

    async def main() -> None:
        async with serving(kept) as keeper:
            plan = approved(world)
            keeper.add(world.opencode)
            await kept.until(lambda: len(kept.called("GET", "/agent")) > 2)
            assert Plans(world.store, PROJECT).get(plan.id).status is PlanStatus.APPROVED
            kept.fails.clear()
            await kept.until(lambda: Plans(world.store, PROJECT).get(plan.id).status is PlanStatus.RUNNING)

    run(main)
    assert [asked.body["messageID"] for asked in world.opencode.asked] == ["msg_1"]
    assert len(world.opencode.sessions) == 1


def test_passed_times_of_plans_are_forgotten(make: Callable[..., World], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeper_module, "_PLAN_SECONDS", 0.05)
    world = make()
    cancel_loop(world.store, world.loop, at=clock.now())
    kept, plans = Kept(world), Plans(world.store, PROJECT)

    def is_running(plan: Plan) -> bool:
        return plans.get(plan.id).status is PlanStatus.RUNNING

    async def main() -> None:
        async with serving(kept) as keeper:
            keeper.add(world.opencode)
            for _ in range(3):
                plan = approved(world)
                keeper.wake()
                await kept.until(partial(is_running, plan))

            def has_forgotten() -> bool:
                keeper.wake()
                return not keeper._later

            await kept.until(has_forgotten)

    run(main)


def test_plan_with_an_unknown_model_is_carried_out_by_the_default_and_says_so(make: Callable[..., World]) -> None:
    world = make()
    cancel_loop(world.store, world.loop, at=clock.now())
    kept = Kept(world, OPENCODE_MEMORY_LOOP_EXECUTION_MODEL="forge/gone")

    async def main() -> None:
        async with serving(kept) as keeper:
            plan = approved(world)
            keeper.add(world.opencode)
            await kept.until(lambda: Plans(world.store, PROJECT).get(plan.id).status is PlanStatus.RUNNING)

    run(main)
    [asked] = world.opencode.asked
    assert "model" not in asked.body
    said = "OpenCode has no model forge/gone (loop.execution_model), so its default is used"
    assert [body["message"] for body in kept.called("POST", "/tui/show-toast")] == [said]


def test_bug_in_one_loop_ends_neither_the_keeper_nor_the_other_loop(
    make: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    broken, sound = make(), make(wish={"name": "sound"})
    usual = Runner.run
    monkeypatch.setattr(keeper_module, "LEASE_SECONDS", 0.05)
    tries = 0

    async def run_or_fail(runner: Runner) -> None:
        nonlocal tries
        if runner.id == broken.loop.id:
            tries += 1
            raise RuntimeError("a bug")
        await usual(runner)

    monkeypatch.setattr(Runner, "run", run_or_fail)
    kept = Kept(sound)

    async def main() -> None:
        async with serving(kept) as keeper:
            keeper.add(sound.opencode)
            await kept.until(lambda: kept.state() is LoopState.COMPLETED and tries > 1)

    run(main)
    assert broken.loops.get(broken.loop.id).state is LoopState.RUNNING


def test_end_that_cannot_be_told_changes_nothing(make: Callable[..., World]) -> None:
    world = make()
    kept = Kept(world)
    kept.fails.add("/tui/show-toast")

    async def main() -> None:
        async with serving(kept) as keeper:
            keeper.add(world.opencode)
            await kept.until(lambda: bool(kept.called("POST", "/tui/show-toast")))

    run(main)
    assert kept.state() is LoopState.COMPLETED


def test_old_loops_are_forgotten_at_the_start(make: Callable[..., World]) -> None:
    world, other = make(), make(wish={"name": "other"})
    ended = cancel_loop(world.store, world.loop, at=clock.now())
    pause_loop(other.store, other.loop, at=clock.now())
    later = clock.now() + timedelta(days=181)
    kept = Kept(world)

    async def main() -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(clock, "now", lambda: later)
            async with serving(kept):
                await kept.until(lambda: [loop.id for loop in world.loops.list_all()] == [other.loop.id])

    run(main)
    assert ended.id != other.loop.id


def test_loop_of_a_project_without_opencode_is_paused_and_named(make: Callable[..., World]) -> None:
    world = make()
    elsewhere = dataclasses.replace(world.opencode, folder=world.shop.parent)
    kept = Kept(world)
    kept.keeper = Keeper(
        world.store, load(environment={"HOME": str(world.shop)}).loop, lambda _: "another", cast("OwnHost", NoOwn())
    )

    async def main() -> None:
        async with serving(kept) as keeper:
            keeper.add(elsewhere)
            await kept.until(lambda: kept.state() is LoopState.PAUSED)

    run(main)
    assert "no OpenCode is open in this project" in world.loops.get(world.loop.id).reason


@pytest.mark.parametrize("error", [BusyError, OSError])
def test_store_that_cannot_be_read_does_not_end_the_server(
    make: Callable[..., World],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    error: type[Exception],
) -> None:
    world = make()
    kept = Kept(world)

    def fail(_: Loops) -> list[Damaged]:
        raise error("another process writes")

    async def main() -> None:
        async with serving(kept) as keeper:
            with monkeypatch.context() as broken:
                broken.setattr(Loops, "damaged", fail)
                keeper.add(world.opencode)
                await kept.until(lambda: "the loops cannot be read: another process writes" in caplog.text)
            keeper.wake()
            await kept.until(lambda: kept.state() is LoopState.COMPLETED)

    run(main)
