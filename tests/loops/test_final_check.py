"""The final check of a loop, on a fresh checkout of its branch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from loops.loop_world import World
from loops.repositories import git, repository
from opencode_memory.loops.model import LoopState
from opencode_memory.loops.sandbox import loop_shell


@pytest.mark.parametrize("name", ["final", "fresh", "bash", "tree"])
def test_repository_may_have_the_name_of_any_folder_of_a_loop(
    make: Callable[..., World], tmp_path: Path, name: str
) -> None:
    world = make(shop=repository(tmp_path / "work" / name, a_txt="x\n"), loop_remove_worktree="false")
    loop = world.run()
    assert loop.state is LoopState.COMPLETED, loop.reason
    assert git(Path(loop.worktree or ""), "status", "--porcelain") == ""
    assert not loop_shell(world.store.data_dir, loop.id).exists()
