"""Files that the setup command of a loop writes, with the real git."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from loops.fake_opencode import Asked
from loops.loop_world import World, is_audit
from loops.repositories import git, repository
from opencode_memory.loops.model import LoopState
from support.plans import PLAN

SETUP = """\
set -e
mkdir -p modules/lib tools
echo x > modules/lib/a.js
echo x > 'modules/-strange\n"name'
echo locked > lock.txt
rm gone.txt
git init -q tools/own
"""


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return repository(tmp_path / "app", lock_txt="open\n", gone_txt="x\n", a_py="x\n")


def test_what_the_setup_writes_stays_out_of_the_commits_and_in_the_folder(
    make: Callable[..., World], shop: Path
) -> None:
    plan = PLAN.replace("grep -q hello hello.txt", "test -f modules/lib/a.js && test -d tools/own && test -f again.txt")
    world = make(plan, shop=shop, wish={"setup": SETUP})
    usual = world.opencode.answer

    def answer(asked: Asked) -> dict[str, Any]:
        if is_audit(asked):
            assert "modules" not in asked.text.rpartition("# Changes since the loop began")[2]
        if len(world.opencode.asked) == 2:
            (asked.directory / "again.txt").write_text("x\n")
        return usual(asked)

    world.opencode.answer = answer
    loop = world.run()
    assert (loop.state, loop.iteration) == (LoopState.COMPLETED, 2), loop.reason
    listed = git(shop, "ls-tree", "-r", "--name-only", loop.branch or "").split()
    assert listed == ["a.py", "again.txt", "gone.txt", "hello.txt", "lock.txt"]
    assert git(shop, "show", f"{loop.branch}:lock.txt") == "open"
    assert not Path(loop.worktree or "").exists(), loop.reason
    assert git(shop, "for-each-ref", "refs/worktree") == ""


def test_file_of_the_setup_that_the_model_changes_is_committed(make: Callable[..., World], shop: Path) -> None:
    world = make(shop=shop, wish={"setup": SETUP})
    usual = world.opencode.answer

    def answer(asked: Asked) -> dict[str, Any]:
        if not is_audit(asked):
            (asked.directory / "modules" / "lib" / "a.js").write_text("y\n")
            (asked.directory / "lock.txt").write_text("changed\n")
            (asked.directory / "gone.txt").write_text("back\n")
        return usual(asked)

    world.opencode.answer = answer
    loop = world.run()
    assert loop.state is LoopState.COMPLETED, loop.reason
    changed = git(shop, "diff", "--name-only", loop.base or "", loop.branch or "").split()
    assert changed == ["gone.txt", "hello.txt", "lock.txt", "modules/lib/a.js"]


def test_loop_in_place_writes_no_reference(make: Callable[..., World], shop: Path) -> None:
    assert make(shop=shop, wish={"setup": SETUP, "in_place": True}).run().state is LoopState.COMPLETED
    assert git(shop, "for-each-ref", "refs/worktree") == ""
