"""Damaged records of loops and plans: the others go on, and the damaged ones are named and can be removed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import anyio
import pytest

from loops.loop_world import PROJECT, World
from loops.test_keeper import Kept, serving
from opencode_memory.errors import CorruptStoreError, NotFoundError
from opencode_memory.exchange.plans_and_loops import find_damaged_parts
from opencode_memory.loops.documents import FOLDER, LEASE, LOOP, RUN, STEP, change_of, folder_name
from opencode_memory.loops.model import LoopState, Rest
from opencode_memory.loops.retention import forget_old_loops
from opencode_memory.loops.start import cancel_loop, remove_damaged
from opencode_memory.plans import Plans, PlanStatus
from opencode_memory.plans.plans import change_of as plan_change
from opencode_memory.store.documents import Change
from opencode_memory.text import clock
from support.plans import PLAN

DAMAGED = "dddddddd"
_SPOIL = """
import sqlite3, sys
database, kind, name, body = sys.argv[1:]
connection = sqlite3.connect(database)
sql = "UPDATE document SET body = CAST(? AS TEXT) WHERE kind = ? AND name = ?"
assert connection.execute(sql, (bytes.fromhex(body), kind, name)).rowcount == 1
connection.commit()
"""
WAYS = {
    "no JSON": b'{"state": "runn',
    "no object": b"[1]",
    "nested too deeply": b"[" * 50_000,
    "unknown state": b'{"state": "dreaming"}',
    "not UTF-8": b'{"state": "\xff\xfe"}',
}


def spoil(world: World, kind: str, name: str, body: bytes) -> None:
    """Damage the record of a document in another process, because two SQLites in one process lose their locks."""
    database = str(world.store.data_dir / "store.db")
    subprocess.run([sys.executable, "-c", _SPOIL, database, kind, name, body.hex()], check=True)


def add_damaged_loop(world: World, body: bytes) -> None:
    world.store.documents.write([Change(kind=LOOP, name=DAMAGED, expected=0, body={}, project=PROJECT)])
    spoil(world, LOOP, DAMAGED, body)


@pytest.mark.parametrize("way", WAYS)
def test_other_loop_goes_on_beside_a_damaged_one(
    make: Callable[..., World], way: str, caplog: pytest.LogCaptureFixture
) -> None:
    world = make()
    add_damaged_loop(world, WAYS[way])
    kept = Kept(world)

    async def main() -> None:
        async with serving(kept) as keeper:
            keeper.add(world.opencode)
            await kept.until(lambda: kept.state() is LoopState.COMPLETED)

    anyio.run(main)
    assert [loop.id for loop in world.loops.list_all()] == [world.loop.id]
    [damaged] = world.loops.damaged()
    assert f"the loop {DAMAGED} is damaged" in damaged.problem
    assert [record.getMessage() for record in caplog.records if "go on" in record.getMessage()] == [
        f"{damaged.problem}; the other loops go on"
    ]


def test_damaged_loop_is_named_when_it_is_asked_for(make: Callable[..., World]) -> None:
    world = make()
    add_damaged_loop(world, WAYS["no JSON"])
    with pytest.raises(CorruptStoreError, match=f"the loop {DAMAGED} is damaged: its record is no JSON") as caught:
        world.loops.find("dddd", PROJECT)
    assert f"opencode-memory loop cancel {DAMAGED}" in (caught.value.hint or "")
    assert world.loops.find_damaged("dddd", "another project") is None


@pytest.mark.parametrize("named", ["name", "start of the id"])
def test_part_that_names_another_loop_names_no_damaged_one(make: Callable[..., World], named: str) -> None:
    world = make()
    add_damaged_loop(world, WAYS["no JSON"])
    if named == "name":
        world.loops.write(replace(world.loops.get(world.loop.id), name="dd"), at=clock.now())
        assert world.loops.find("dd", PROJECT).id == world.loop.id
    else:
        other = replace(world.loops.get(world.loop.id), id="dd000000", revision=0)
        world.store.documents.write([change_of(other)])
        with pytest.raises(NotFoundError, match="are several loops 'dd'"):
            world.loops.find("dd", PROJECT)
    assert world.loops.find_damaged("dd", PROJECT) is None


def test_damaged_loop_is_removed_with_its_other_records(make: Callable[..., World]) -> None:
    world = make()
    world.run()
    documents, id_ = world.store.documents, world.loop.id
    folder = Change(kind=FOLDER, name=folder_name("/shop"), expected=0, body={"loop": id_})
    documents.write([folder])
    spoil(world, LOOP, id_, b"{")
    spoil(world, STEP, f"{id_}/000001", b"{")
    damaged = world.loops.find_damaged(id_, PROJECT)
    assert damaged is not None
    remove_damaged(world.store, damaged)
    kinds = ("loop", "loop-step", "loop-event", "loop-session", "loop-report", "loop-run", "loop-lease", "loop-folder")
    assert [document.name for kind in kinds for document in documents.list(kind)] == []


def test_plan_of_a_removed_loop_is_given_up(make: Callable[..., World]) -> None:
    world = make()
    spoil(world, LOOP, world.loop.id, b"{")
    [damaged] = world.loops.damaged()
    remove_damaged(world.store, damaged)
    assert Plans(world.store, PROJECT).get(world.loop.plan).status is PlanStatus.ABANDONED


def test_loop_with_a_damaged_step_waits_for_the_person(make: Callable[..., World]) -> None:
    world = make()
    world.opencode.close()
    assert world.run().rest is Rest.HOST
    loop = world.loops.get(world.loop.id)
    spoil(world, STEP, f"{loop.id}/{loop.steps:06}", b"{")
    assert world.loops.last_step(loop) is None
    world.loops.write(replace(loop, state=LoopState.RUNNING, rest=None), at=clock.now())
    rested = world.run()
    assert (rested.state, rested.rest) == (LoopState.WAITING, Rest.ERROR)
    assert f"the loop-step {loop.id}/{loop.steps:06} is damaged" in rested.reason


def test_damaged_parts_are_named_in_the_same_order_each_time(make: Callable[..., World]) -> None:
    world = make()
    kinds = ["plan-text", "loop-step", "loop-event", "loop-report", "loop-session"]
    name = f"{DAMAGED}/000001"
    world.store.documents.write([Change(kind=kind, name=name, expected=0, body=[1]) for kind in kinds])
    assert [damaged.document.kind for damaged in find_damaged_parts(world.store)] == kinds


@pytest.mark.parametrize("way", ["no JSON", "no object", "not UTF-8"])
def test_damaged_note_of_a_process_is_named(make: Callable[..., World], way: str) -> None:
    world = make()
    world.store.documents.write([Change(kind=RUN, name=world.loop.id, expected=0, body={})])
    spoil(world, RUN, world.loop.id, WAYS[way])
    with pytest.raises(CorruptStoreError, match=f"the loop-run {world.loop.id} is damaged"):
        world.loops.noted_run(world.loop.id)


def test_old_loop_with_a_damaged_step_is_forgotten(make: Callable[..., World]) -> None:
    world = make()
    world.run()
    spoil(world, STEP, f"{world.loop.id}/000001", b"{")
    assert forget_old_loops(world.store, before=clock.now() + timedelta(days=1)) == 1
    assert world.store.documents.list(STEP) == []


@pytest.mark.parametrize("way", WAYS)
def test_damaged_lease_is_held_by_nobody(make: Callable[..., World], way: str) -> None:
    world = make()
    assert world.loops.acquire(world.loop.id, "another", at=clock.now(), seconds=900) is not None
    assert world.loops.is_held(world.loop.id, at=clock.now())
    spoil(world, LEASE, world.loop.id, WAYS[way])
    assert not world.loops.is_held(world.loop.id, at=clock.now())
    assert world.loops.acquire(world.loop.id, "this", at=clock.now(), seconds=900) is not None


def test_part_that_names_another_plan_names_no_damaged_one(make: Callable[..., World]) -> None:
    world = make()
    plans = Plans(world.store, PROJECT)
    kept, start = plans.get(world.loop.plan), world.loop.plan[:2]
    lost = replace(kept, id=f"{start}{'0' * 6}", revision=0)
    world.store.documents.write([plan_change(lost)])
    spoil(world, "plan", lost.id, b"{")
    with pytest.raises(NotFoundError, match=f"are several plans '{start}'"):
        plans.get(start)
    assert plans.find_damaged(start) is None


def test_damaged_plan_hides_no_other_and_is_rescued_from_its_text(make: Callable[..., World]) -> None:
    world = make()
    cancel_loop(world.store, world.loop, at=clock.now())
    plans = Plans(world.store, PROJECT)
    lost = plans.write_submitted(PLAN, at=clock.now())
    spoil(world, "plan", lost.id, b"{")
    assert [plan.id for plan in plans.list()] == [world.loop.plan]
    with pytest.raises(CorruptStoreError, match=f"the plan {lost.id} is damaged") as caught:
        plans.get(lost.id)
    assert f"plan edit {lost.id}" in (caught.value.hint or "")
    [damaged] = plans.damaged()
    rescued = plans.rescue(damaged, at=clock.now())
    assert (rescued.id, rescued.title, rescued.status) == (lost.id, lost.title, PlanStatus.DRAFT)
    assert plans.text(plans.get(lost.id)) == PLAN
    assert plans.damaged() == []


def test_rescued_plan_keeps_its_damaged_newest_text_and_can_be_changed(make: Callable[..., World]) -> None:
    world = make()
    plans = Plans(world.store, PROJECT)
    lost = plans.write_submitted(PLAN, at=clock.now())
    plans.rewrite(lost, "# Another", at=clock.now())
    spoil(world, "plan", lost.id, b"{")
    spoil(world, "plan-text", f"{lost.id}/000002", b"{")
    [damaged] = plans.damaged()
    rescued = plans.rescue(damaged, at=clock.now())
    assert (rescued.title, plans.text(rescued)) == (lost.title, PLAN)
    changed = plans.rewrite(rescued, "# A third one", at=clock.now()).plan
    assert plans.text(changed) == "# A third one"
