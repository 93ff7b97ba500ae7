"""Starts of loops that meet."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

import pytest

from loops.loop_world import PROJECT, World
from loops.repositories import git, repository
from opencode_memory.config.load import load
from opencode_memory.errors import ConflictError
from opencode_memory.loops import start
from opencode_memory.loops.model import LoopState
from opencode_memory.loops.records import Loops, name_of
from opencode_memory.loops.start import Raised, Wish, cancel_loop, resume_loop, start_loop
from opencode_memory.plans import Plans, read_plan
from opencode_memory.text import clock
from support.plans import PLAN

HERE = {"in_place": True}


def test_of_two_loops_that_start_in_one_folder_at_once_one_is_refused(
    make: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:

    worlds: list[World] = []

    def read_late(text: str) -> object:
        monkeypatch.setattr(start, "read_plan", read_plan)
        worlds.append(make(wish=HERE))  # another process, after the first one has looked for loops
        return read_plan(text)

    monkeypatch.setattr(start, "read_plan", read_late)
    with pytest.raises(ConflictError, match="where only one loop may work"):
        make(wish=HERE)
    [world] = worlds
    assert [loop.id for loop in Loops(world.store).list_all()] == [world.loop.id]


def test_loops_that_start_at_once_get_different_names(
    make: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    worlds: list[World] = []

    def name_late(title: str, taken: Iterable[str]) -> str:
        monkeypatch.setattr(start, "name_of", name_of)
        worlds.append(make())  # another process, after the first one has read the names
        return name_of(title, taken)

    monkeypatch.setattr(start, "name_of", name_late)
    world = make()
    assert (worlds[0].loop.name, world.loop.name) == ("say-hello", "say-hello-2")


def test_plan_that_two_processes_approve_at_once_gets_one_loop(
    make: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    world = make()
    plans = Plans(world.store, PROJECT)
    plan = plans.write_submitted(PLAN, at=clock.now())
    begin = partial(
        start_loop,
        world.store,
        plan,
        Wish(directory=world.shop, by="test"),
        config=load(environment={"HOME": str(world.shop)}),
        at=clock.now(),
    )

    def name_late(title: str, taken: Iterable[str]) -> str:
        monkeypatch.setattr(start, "name_of", name_of)
        begin()
        return name_of(title, taken)

    monkeypatch.setattr(start, "name_of", name_late)
    with pytest.raises(ConflictError, match="was changed meanwhile"):
        begin()
    assert len(world.loops.list_all()) == 2


def test_loops_start_one_after_the_other_in_a_folder(make: Callable[..., World], tmp_path: Path) -> None:
    for _ in range(3):
        world = make(wish=HERE)
        cancel_loop(world.store, world.loop, at=clock.now())
    make(wish=HERE)
    make(wish=HERE, shop=repository(tmp_path / "other"))


@pytest.mark.parametrize("wish", [{}, HERE])
def test_loop_in_the_worktree_of_an_open_loop_is_refused(make: Callable[..., World], wish: dict[str, bool]) -> None:
    world = make(wish={"iterations": 1}, loop_remove_worktree="false")
    usual = world.opencode.answer
    world.opencode.answer = lambda _: {}
    worktree = Path(world.run().worktree or "")
    (worktree / "part").mkdir()
    with pytest.raises(ConflictError, match="is the worktree of the loop say-hello, which is paused") as caught:
        make(wish=dict(wish), shop=worktree / "part")
    assert caught.value.hint == f"start the loop in {world.shop}"
    world.opencode.answer = usual
    resume_loop(world.store, world.loops.get(world.loop.id), at=clock.now(), raised=Raised(iterations=2))
    assert world.run().state is LoopState.COMPLETED
    make(wish=dict(wish), shop=worktree)


def test_branch_that_leaves_no_name_for_those_of_loops_is_refused(make: Callable[..., World], tmp_path: Path) -> None:
    shop = repository(tmp_path / "other", a_txt="x\n")
    git(shop, "branch", "loop")
    with pytest.raises(ConflictError, match="leaves no name for a branch of the loop") as caught:
        make(shop=shop)
    assert caught.value.hint == "give it another name: git branch -m loop NAME"
    assert make(shop=shop, wish=HERE).loop.state is LoopState.RUNNING
