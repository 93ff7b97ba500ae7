"""The final check of a loop, on a fresh checkout of its branch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from loops.loop_world import World
from loops.repositories import git, repository
from opencode_memory.loops.model import LoopState
from opencode_memory.loops.sandbox import loop_shell
from opencode_memory.loops.worktree import create, find_repository
from support.plans import PLAN


@pytest.mark.parametrize("name", ["final", "fresh", "bash", "tree"])
def test_repository_may_have_the_name_of_any_folder_of_a_loop(
    make: Callable[..., World], tmp_path: Path, name: str
) -> None:
    world = make(shop=repository(tmp_path / "work" / name, a_txt="x\n"), loop_remove_worktree="false")
    loop = world.run()
    assert loop.state is LoopState.COMPLETED, loop.reason
    assert git(Path(loop.worktree or ""), "status", "--porcelain") == ""
    assert not loop_shell(world.store.data_dir, loop.id).exists()


def test_copied_files_and_submodules_are_in_the_fresh_checkout(
    make: Callable[..., World], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".gitconfig").write_text('[protocol "file"]\nallow = always\n')
    library = repository(tmp_path / "library", lib_py="x\n")
    shop = repository(tmp_path / "app", a_py="x\n", _gitignore=".env\n")
    git(shop, "-c", "protocol.file.allow=always", "submodule", "add", "--quiet", str(library), "lib")
    git(shop, "commit", "--quiet", "--message", "library")
    (shop / ".env").write_text("KEY=value\n")
    plan = PLAN.replace("grep -q hello hello.txt", "grep -q hello hello.txt && test -f lib/lib.py && test -f .env")
    loop = make(plan, shop=shop, loop_copy=".env").run()
    assert loop.state is LoopState.COMPLETED, loop.reason
    assert git(shop, "ls-tree", "--name-only", loop.branch or "").split() == [
        ".gitignore",
        ".gitmodules",
        "a.py",
        "hello.txt",
        "lib",
    ]


def test_files_that_a_check_formats_are_in_the_branch(make: Callable[..., World]) -> None:
    check = "grep -q hello hello.txt && tr a-z A-Z <a.txt >b.txt && cp b.txt a.txt"
    world = make(PLAN.replace("grep -q hello hello.txt", check))
    loop = world.run()
    assert (loop.state, world.kinds().count("check")) == (LoopState.COMPLETED, 1), loop.reason
    assert git(world.shop, "show", f"{loop.branch}:a.txt") == "X"
    assert "b.txt" not in git(world.shop, "ls-tree", "--name-only", loop.branch or "")
    assert git(world.shop, "log", "-1", "--format=%s", loop.branch or "").endswith("the check of iteration 1")
    assert not Path(loop.worktree or "").exists(), loop.reason


def test_submodule_that_the_loop_has_added_is_not_fetched(tmp_path: Path) -> None:
    library = repository(tmp_path / "library", lib_py="x\n")
    shop = repository(tmp_path / "app", a_py="x\n")
    found = find_repository(shop)
    tree = create(found, tmp_path / "tree", "loop/one", base=found.head, takes_changes=False, copies=())
    git(tree.path, "-c", "protocol.file.allow=always", "submodule", "add", "--quiet", str(library), "lib")
    head = tree.commit_all("work")
    with tree.fresh_checkout(head, tmp_path / "final") as folder:
        assert list((folder / "lib").iterdir()) == []


def test_no_file_is_copied_through_a_link_that_the_loop_has_committed(tmp_path: Path) -> None:
    shop, outside = repository(tmp_path / "app", _gitignore=".env\n"), tmp_path / "outside"
    (shop / "config").mkdir()
    (shop / "config" / ".env").write_text("KEY=value\n")
    outside.mkdir()
    found = find_repository(shop)
    tree = create(found, tmp_path / "tree", "loop/one", base=found.head, takes_changes=False, copies=())
    (tree.path / "config").symlink_to(outside)
    head = tree.commit_all("work")
    with tree.fresh_checkout(head, tmp_path / "final", source=shop, copies=(".env",)):
        assert list(outside.iterdir()) == []
