"""Names and texts that are not UTF-8, in a loop."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from loops.fake_opencode import Asked
from loops.loop_world import World, is_audit
from loops.repositories import git
from opencode_memory.loops.model import LoopState, Rest


def test_text_in_latin_1_is_audited(make: Callable[..., World]) -> None:
    world = make()
    usual = world.opencode.answer

    def answer(asked: Asked) -> dict[str, Any]:
        if is_audit(asked):
            assert "+Gr" in asked.text
        else:
            (asked.directory / "text.txt").write_bytes(b"Gr\xfc\xdfe\n")
        return usual(asked)

    world.opencode.answer = answer
    loop = world.run()
    assert loop.state is LoopState.COMPLETED, loop.reason


def test_name_that_is_not_utf8_is_committed_and_named(make: Callable[..., World]) -> None:
    world = make()
    usual = world.opencode.answer

    def answer(asked: Asked) -> dict[str, Any]:
        folder = os.fsencode(asked.directory)
        if not is_audit(asked):
            os.mkdir(folder + b"/part\xff\n")  # noqa: PTH102  the name is bytes
            git(asked.directory, "init", "--quiet", os.fsdecode(folder + b"/part\xff\n"))
            os.mkdir(folder + b"/kept\xff\n")  # noqa: PTH102
            os.link(folder + b"/a.txt", folder + b"/kept\xff\n/a.txt")
        return usual(asked)

    world.opencode.answer = answer
    loop = world.run()
    assert (loop.state, loop.rest) == (LoopState.WAITING, Rest.ERROR)
    assert "does not keep: part" in loop.reason
    assert "(a repository of its own)" in loop.reason
