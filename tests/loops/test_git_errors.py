"""Errors of git, as a person reads them: what could not be done, in which step, and what to do."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from loops.fake_opencode import Asked
from loops.loop_world import World
from loops.repositories import git
from opencode_memory.loops.git import GitError, explain
from opencode_memory.loops.model import LoopState, Rest
from opencode_memory.loops.start import resume_loop
from opencode_memory.text import clock


def test_preparation_that_git_refuses_says_what_to_do(make: Callable[..., World]) -> None:
    world = make()
    git(world.shop, "branch", "loop")
    loop = world.run()
    assert loop.state is LoopState.FAILED
    said = re.fullmatch(
        r"the preparation failed: the worktree (\S+) with the branch (\S+) cannot be made"
        r" \(git worktree: (.*)\); when it is mended: opencode-memory loop restart say-hello",
        loop.reason,
    )
    assert said is not None, loop.reason
    assert said[3].startswith("cannot lock ref 'refs/heads/loop/say-hello-")


def test_commit_that_git_refuses_names_the_step_and_how_to_go_on(make: Callable[..., World]) -> None:
    world = make()
    usual = world.opencode.answer

    def answer(asked: Asked) -> dict[str, Any]:
        git(asked.directory, "checkout", "--quiet", "--detach")
        git(world.shop, "checkout", "--quiet", world.loops.get(world.loop.id).branch or "")
        return usual(asked)

    world.opencode.answer = answer
    loop = world.run()
    assert (loop.state, loop.rest) == (LoopState.WAITING, Rest.ERROR)
    assert loop.reason.startswith(f"step 2 (code) failed: the changes cannot be committed on {loop.branch} (git ")
    assert f"is now checked out in {world.shop}" in loop.reason
    assert loop.reason.endswith("; when it is mended: opencode-memory loop resume say-hello")


def test_full_disk_says_what_git_has_left(
    make: Callable[..., World], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = make()
    usual, program = world.opencode.answer, tmp_path / "programs" / "git"
    program.parent.mkdir()

    def answer(asked: Asked) -> dict[str, Any]:
        fails = 'case " $* " in *" add "*) echo "fatal: write error: No space left on device" >&2; exit 128;; esac'
        program.write_text(f'#!/bin/sh\n{fails}\nPATH="$OLD_PATH" exec git "$@"\n', encoding="utf-8")
        program.chmod(0o700)
        return usual(asked)

    monkeypatch.setenv("OLD_PATH", os.environ["PATH"])
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    world.opencode.answer = answer
    loop = world.run()
    assert loop.rest is Rest.ERROR, loop.reason
    assert "(git add: write error: No space left on device); free some space; while no git runs" in loop.reason
    assert f"the files tmp_obj_* below {world.shop}/.git/objects can be deleted, too; when it is mended" in loop.reason
    program.unlink()
    world.opencode.answer = usual
    resume_loop(world.store, loop, at=clock.now())
    loop = world.run()
    assert loop.state is LoopState.COMPLETED, loop.reason


@pytest.mark.parametrize(
    ("said", "cause"),
    [
        ("hint: try\nfatal: bad object\n\nAnother git process", "bad object"),
        ("Cloning into 'a'...\nerror: no space\nfatal: adding files failed", "no space"),
        ("it took longer than 120 s", "it took longer than 120 s"),
        ("fatal: " + "x" * 1_000, "x" * 194 + " […]"),
    ],
)
def test_only_the_cause_is_shown(said: str, cause: str) -> None:
    assert str(GitError("add", said)) == f"git failed (git add: {cause})"


def test_innermost_explanation_counts() -> None:
    with (
        pytest.raises(GitError, match="the inner work failed"),
        explain("the outer work failed"),
        explain("the inner work failed"),
    ):
        raise GitError("add", "fatal: no")
