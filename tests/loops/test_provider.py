"""A provider that refuses, or that is asked again much later: the loop waits for the person."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from loops.fake_opencode import Asked
from loops.loop_world import World, is_audit
from opencode_memory.loops.model import LoopState, Rest
from opencode_memory.loops.start import resume_loop
from opencode_memory.text import clock


def test_refusal_of_the_provider_waits_for_the_person(make: Callable[..., World]) -> None:
    other = make()
    other.opencode.answer = lambda _: {"error": {"name": "APIError", "data": {"statusCode": 401, "message": "no key"}}}
    loop = other.run()
    assert (loop.state, loop.rest) == (LoopState.WAITING, Rest.PROVIDER)
    assert "no key" in loop.reason


@pytest.mark.parametrize("at_audit", [False, True])
def test_refused_loop_is_resumed_in_the_same_session(make: Callable[..., World], at_audit: bool) -> None:
    world = make()
    usual, refusals = world.opencode.answer, [{"name": "APIError", "data": {"statusCode": 402, "message": "no money"}}]
    world.opencode.answer = lambda asked: (
        {"error": refusals.pop()} if refusals and is_audit(asked) is at_audit else usual(asked)
    )
    refused = world.run()
    assert (refused.rest, "auditor" in refused.reason) == (Rest.PROVIDER, at_audit)
    resume_loop(world.store, refused, at=clock.now())
    loop = world.run()
    assert (loop.state, loop.iteration, loop.notes) == (LoopState.COMPLETED, 1, ("1: I wrote it",)), loop.reason
    first, second = [asked for asked in world.opencode.asked if is_audit(asked) is at_audit]
    assert (first.session, first.text) == (second.session, second.text)
    assert first.body["messageID"] < second.body["messageID"]


@pytest.mark.parametrize(("minutes", "is_refused"), [(11, True), (9, False)])
def test_provider_that_is_asked_again_much_later_counts_as_refusing(
    make: Callable[..., World], minutes: int, is_refused: bool
) -> None:
    """OpenCode would wait for hours, and the loop with it, unless the wait is short."""
    world = make()
    usual, looks = world.opencode.answer, 0

    def answer(asked: Asked) -> dict[str, Any]:
        if len(world.opencode.asked) > 1:
            return usual(asked)
        due = clock.to_ms(clock.now()) + minutes * 60_000
        world.opencode.busy[asked.session] = {"type": "retry", "attempt": 1, "message": "Too many", "next": due}
        return {"time": {}, "finish": None}

    request = world.opencode.request

    async def come_to_an_end(method: str, path: str, **more: Any) -> Any:
        nonlocal looks
        looks += path == "/session/status" and bool(world.opencode.busy)
        if looks > 3:
            world.opencode.busy.clear()
        return await request(method, path, **more)

    world.opencode.answer = answer
    world.opencode.request = come_to_an_end  # type: ignore[method-assign]
    loop = world.run()
    assert looks == (1 if is_refused else 4)
    assert (loop.rest is Rest.PROVIDER) == is_refused, loop.reason
    assert bool(world.opencode.aborted) == is_refused
    if is_refused:
        assert "Too many (it would be asked again in 11 min)" in loop.reason
        resume_loop(world.store, loop, at=clock.now())
        loop = world.run()
    assert loop.state is LoopState.COMPLETED, loop.reason
