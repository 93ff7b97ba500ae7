"""Loops that ended long ago are forgotten, with all of their records, and others stay."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from loops.loop_world import PROJECT, World
from opencode_memory.loops.documents import EVENT, FOLDER, LEASE, LOOP, REPORT, RUN, SESSION, STEP, event_change
from opencode_memory.loops.model import LoopState
from opencode_memory.loops.retention import forget_old_loops
from opencode_memory.loops.start import cancel_loop, pause_loop
from opencode_memory.plans import Plans
from opencode_memory.text import clock

KINDS = (LOOP, STEP, EVENT, REPORT, RUN, SESSION, LEASE, FOLDER)


def count(world: World) -> dict[str, int]:
    return {kind: len(world.store.documents.list(kind)) for kind in KINDS}


def test_ended_loop_leaves_no_record(make: Callable[..., World]) -> None:
    world = make()
    assert world.run().state is LoopState.COMPLETED
    assert (count(world)[SESSION], count(world)[RUN]) == (2, 1)
    assert forget_old_loops(world.store, before=clock.now() - timedelta(days=1)) == 0
    assert count(world)[LOOP] == 1
    assert forget_old_loops(world.store, before=clock.now() + timedelta(seconds=1)) == 1
    assert count(world) == dict.fromkeys(KINDS, 0)
    assert Plans(world.store, PROJECT).get(world.loop.plan).title == "Say hello"


def test_loop_in_the_users_folder_leaves_no_record(make: Callable[..., World]) -> None:
    world = make(wish={"in_place": True})
    assert world.run().state is LoopState.COMPLETED
    assert count(world)[FOLDER] == 1
    assert forget_old_loops(world.store, before=clock.now() + timedelta(seconds=1)) == 1
    assert count(world) == dict.fromkeys(KINDS, 0)


def test_long_loop_leaves_no_record(make: Callable[..., World]) -> None:
    world = make()
    loop = cancel_loop(world.store, world.loop, at=clock.now())
    for hour in range(3):
        events = [
            event_change(loop, f"event {number}", at=clock.now() + timedelta(hours=hour, seconds=number))
            for number in range(400)
        ]
        world.store.documents.write(events)
    assert count(world)[EVENT] > 1_200
    assert forget_old_loops(world.store, before=clock.now() + timedelta(seconds=1)) == 1
    assert count(world) == dict.fromkeys(KINDS, 0)


def test_resting_loop_stays_however_old(make: Callable[..., World]) -> None:
    world = make()
    pause_loop(world.store, world.loop, at=clock.now())
    before = count(world)
    assert forget_old_loops(world.store, before=clock.now() + timedelta(days=1_000)) == 0
    assert count(world) == before
