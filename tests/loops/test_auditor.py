"""Auditors that change files, which they must not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from loops.fake_opencode import Asked
from loops.loop_world import World, is_audit
from loops.repositories import git
from opencode_memory.loops.model import LoopState, Rest
from opencode_memory.loops.start import resume_loop
from opencode_memory.text import clock


def make_auditor(world: World, name: str) -> None:
    """Let the auditor write another text each time."""
    usual = world.opencode.answer

    def answer(asked: Asked) -> dict[str, Any]:
        if is_audit(asked):
            (asked.directory / name).write_text(f"{len(world.opencode.asked)}\n")
        return usual(asked)

    world.opencode.answer = answer


def test_new_files_of_an_auditor_are_products(make: Callable[..., World]) -> None:
    world = make()
    make_auditor(world, "report.xml")
    loop = world.run()
    assert (loop.state, world.kinds().count("audit")) == (LoopState.COMPLETED, 1), loop.reason


def test_auditor_that_changes_files_again_and_again_stops_the_loop(make: Callable[..., World]) -> None:
    world = make()
    make_auditor(world, "a.txt")
    loop = world.run()
    assert (loop.state, loop.rest) == (LoopState.WAITING, Rest.PROGRESS)
    assert loop.reason == "files were changed during 3 audits in a row"
    resume_loop(world.store, loop, at=clock.now())
    assert world.run().rest is Rest.PROGRESS
    assert world.kinds().count("audit") == 5  # The third one, which is read again, and two more.


def test_change_during_an_audit_is_in_the_branch_if_the_next_audit_is_clean(make: Callable[..., World]) -> None:
    world = make()
    usual = world.opencode.answer

    def answer(asked: Asked) -> dict[str, Any]:
        if is_audit(asked) and len(world.opencode.asked) == 2:
            (asked.directory / "a.txt").write_text("of the auditor\n")
        return usual(asked)

    world.opencode.answer = answer
    loop = world.run()
    assert (loop.state, world.kinds().count("audit")) == (LoopState.COMPLETED, 2), loop.reason
    assert git(world.shop, "show", f"{loop.branch}:a.txt") == "of the auditor"
    assert not Path(loop.worktree or "").exists(), loop.reason


def test_auditor_that_changes_the_configuration_of_opencode_stops_the_loop(make: Callable[..., World]) -> None:
    world = make()
    usual = world.opencode.answer

    def answer(asked: Asked) -> dict[str, Any]:
        if is_audit(asked):
            (asked.directory / "a.txt").write_text("of the auditor\n")
            (asked.directory / "opencode.json").write_text("{}")
            git(asked.directory, "add", "opencode.json")
        return usual(asked)

    world.opencode.answer = answer
    loop = world.run()
    assert (loop.state, loop.rest) == (LoopState.WAITING, Rest.ERROR)
    assert "changed OpenCode's configuration" in loop.reason
