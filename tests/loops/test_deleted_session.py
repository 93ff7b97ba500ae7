"""A person deletes the session of a loop in OpenCode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from loops.loop_world import World, is_audit
from opencode_memory.loops.model import LoopState, Rest
from opencode_memory.loops.start import resume_loop
from opencode_memory.text import clock


def delete_first(world: World, *, at_audit: bool, number: int = 1) -> None:
    """Delete the session of the coding step or of the audit after its n-th prompt."""
    request = world.opencode.request

    async def delete(method: str, path: str, **more: Any) -> Any:
        answer = await request(method, path, **more)
        asked = [asked for asked in world.opencode.asked if is_audit(asked) is at_audit or number > 1]
        if path.endswith("/prompt_async") and asked and asked[-1].session in path:
            of_session = [prompt for prompt in world.opencode.asked if prompt.session == asked[-1].session]
            if len(of_session) == number and world.opencode.deleted == []:
                world.opencode.delete(asked[-1].session)
        return answer

    world.opencode.request = delete  # type: ignore[method-assign]


@pytest.mark.parametrize("at_audit", [False, True])
def test_loop_waits_for_the_person_and_goes_on_in_a_new_session(make: Callable[..., World], at_audit: bool) -> None:
    world = make()
    delete_first(world, at_audit=at_audit)
    rested = world.run()
    [gone] = world.opencode.deleted
    assert (rested.state, rested.rest) == (LoopState.PAUSED, Rest.PERSON), rested.reason
    assert f"OpenCode does not have the session {gone} any more" in rested.reason
    assert f"opencode-memory loop resume {rested.name}" in rested.reason
    resume_loop(world.store, rested, at=clock.now())
    loop = world.run()
    assert loop.state is LoopState.COMPLETED, loop.reason
    first, second = [asked for asked in world.opencode.asked if is_audit(asked) is at_audit]
    assert (first.session, first.text == second.text, second.session != gone) == (gone, True, True)


def test_audit_that_was_reminded_of_its_verdict_begins_anew(make: Callable[..., World]) -> None:
    world = make()
    usual, silent = world.opencode.answer, [True]
    world.opencode.answer = lambda asked: {} if is_audit(asked) and silent and silent.pop() else usual(asked)
    delete_first(world, at_audit=True, number=2)
    rested = world.run()
    assert (rested.rest, len(world.opencode.deleted)) == (Rest.PERSON, 1), rested.reason
    resume_loop(world.store, rested, at=clock.now())
    loop = world.run()
    assert loop.state is LoopState.COMPLETED, loop.reason
    first, second = [asked for asked in world.opencode.asked if is_audit(asked)]
    assert (first.text == second.text, first.session != second.session) == (True, True)
