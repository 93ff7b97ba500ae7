"""Loops in repositories with submodules: no work is lost, and no work that would be lost counts as completed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from loops.fake_opencode import Asked
from loops.loop_world import World, is_audit
from loops.repositories import git, repository
from opencode_memory.loops.model import LoopState, Rest
from opencode_memory.loops.start import resume_loop
from opencode_memory.loops.worktree import create, find_repository
from opencode_memory.text import clock
from support.plans import PLAN


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a submodule, which has a submodule."""
    monkeypatch.setenv("HOME", str(tmp_path))
    identity = "[user]\nname = Ada\nemail = ada@example.org\n"
    (tmp_path / ".gitconfig").write_text(f'[protocol "file"]\nallow = always\n{identity}')
    for name, part in (("inner", None), ("lib", "inner"), ("app", "lib")):
        folder = repository(tmp_path / name, code_py="x\n")
        if part is not None:
            allow = ("-c", "protocol.file.allow=always")
            git(folder, *allow, "submodule", "add", "--quiet", str(tmp_path / part), f"parts/{part}")
            git(folder, "commit", "--quiet", "--message", part)
    return tmp_path / "app"


LIB, INNER = "parts/lib", "parts/lib/parts/inner"


def edit(folder: Path) -> None:
    (folder / "code.py").write_text("y\n")


def add(folder: Path) -> None:
    (folder / "new.py").write_text("y\n")


def commit(folder: Path) -> None:
    edit(folder)
    git(folder, "commit", "--quiet", "--all", "--message", "by the model")


def commit_aside(folder: Path) -> None:
    git(folder, "checkout", "--quiet", "-b", "mine")
    commit(folder)
    git(folder, "checkout", "--quiet", "-")


def commit_above(folder: Path) -> None:
    commit(folder)
    top = next(parent for parent in folder.parents if parent.name == "app")
    git(top, "commit", "--quiet", "--all", "--message", "by the model")


def replace_git(folder: Path) -> None:
    """Make the submodule look clean to a git that reads its ``.git`` file."""
    edit(folder)
    (folder / ".git").unlink()
    git(folder, "init", "--quiet")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "by the model")


@pytest.mark.parametrize(
    ("where", "change", "said"),
    [
        (LIB, edit, "parts/lib/code.py"),
        (INNER, edit, "parts/lib/parts/inner/code.py"),
        (LIB, add, "parts/lib/new.py"),
        (LIB, commit, "parts/lib (1 commit that no remote branch has)"),
        (INNER, commit, "parts/lib/parts/inner (1 commit that no remote branch has)"),
        (LIB, commit_aside, "parts/lib (1 commit that no remote branch has)"),
        (LIB, commit_above, "parts/lib (1 commit that no remote branch has)"),
        (LIB, replace_git, "parts/lib/code.py"),
    ],
)
def test_work_in_a_submodule_stops_the_loop_before_it_is_completed(
    make: Callable[..., World], shop: Path, where: str, change: Callable[[Path], None], said: str
) -> None:
    world = make(shop=shop)
    usual = world.opencode.answer

    def answer(asked: Asked) -> dict[str, Any]:
        if not is_audit(asked):
            assert "Submodules: change nothing in these folders" in asked.text
            change(asked.directory / where)
        return usual(asked)

    world.opencode.answer = answer
    loop = world.run()
    assert (loop.state, loop.rest) == (LoopState.WAITING, Rest.ERROR)
    assert "changed what the loop does not keep: parts/lib" in loop.reason
    assert said in loop.reason
    assert str(loop.worktree) in loop.reason
    world.opencode.answer = usual
    resume_loop(world.store, loop, at=clock.now())
    assert said in world.run().reason


def test_undone_work_in_a_submodule_lets_the_loop_go_on_and_its_folder_is_removed(
    make: Callable[..., World], shop: Path
) -> None:
    world = make(shop=shop)
    usual = world.opencode.answer

    def answer(asked: Asked) -> dict[str, Any]:
        if not is_audit(asked):
            edit(asked.directory / INNER)
        return usual(asked)

    world.opencode.answer = answer
    loop = world.run()
    assert loop.rest is Rest.ERROR
    git(Path(loop.worktree or "") / INNER, "checkout", "--", "code.py")
    resume_loop(world.store, loop, at=clock.now())
    loop = world.run()
    assert (loop.state, Path(loop.worktree or "").exists()) == (LoopState.COMPLETED, False)
    assert git(shop, "worktree", "list").count("\n") == 0


def test_published_commit_of_a_submodule_is_committed(make: Callable[..., World], shop: Path, tmp_path: Path) -> None:
    plan = PLAN.replace("grep -q hello hello.txt", "grep -q y parts/lib/code.py")
    world = make(plan, shop=shop)

    def answer(asked: Asked) -> dict[str, Any]:
        if is_audit(asked):
            world.report(asked, "fine", "clean")
        else:
            commit(asked.directory / LIB)
        return {}

    world.opencode.answer = answer
    loop = world.run()
    assert loop.rest is Rest.ERROR
    lib = Path(loop.worktree or "") / LIB
    git(lib, "push", "--quiet", "origin", "HEAD:refs/heads/new")
    resume_loop(world.store, loop, at=clock.now())
    loop = world.run()
    assert loop.state is LoopState.COMPLETED, loop.reason
    assert git(shop, "rev-parse", f"{loop.branch}:parts/lib") == git(tmp_path / "lib", "rev-parse", "new")
    assert not Path(loop.worktree or "").exists()


def test_products_of_a_check_in_a_submodule_are_no_work(make: Callable[..., World], shop: Path) -> None:
    plan = PLAN.replace("grep -q hello hello.txt", "touch parts/lib/product && git init -q made && test -f again.txt")
    world = make(plan, shop=shop)
    usual = world.opencode.answer

    def answer(asked: Asked) -> dict[str, Any]:
        if len(world.opencode.asked) == 2:
            (asked.directory / "again.txt").write_text("x\n")
        return usual(asked)

    world.opencode.answer = answer
    loop = world.run()
    assert (loop.state, loop.iteration) == (LoopState.COMPLETED, 2), loop.reason


def test_repository_that_the_model_makes_stops_the_loop(make: Callable[..., World]) -> None:
    world = make()
    usual = world.opencode.answer

    def answer(asked: Asked) -> dict[str, Any]:
        if not is_audit(asked):
            repository(asked.directory / "part", code_py="x\n")
        return usual(asked)

    world.opencode.answer = answer
    loop = world.run()
    assert (loop.state, loop.rest) == (LoopState.WAITING, Rest.ERROR)
    assert "does not keep: part (a repository of its own)" in loop.reason


def test_folder_with_work_of_the_auditor_in_a_submodule_is_left(make: Callable[..., World], shop: Path) -> None:
    world = make(shop=shop)
    usual = world.opencode.answer

    def answer(asked: Asked) -> dict[str, Any]:
        if is_audit(asked):
            edit(asked.directory / LIB)
        return usual(asked)

    world.opencode.answer = answer
    loop = world.run()
    assert loop.state is LoopState.COMPLETED
    assert "was left: not committed: parts/lib/code.py" in loop.reason


def test_settings_of_a_submodule_that_run_a_program_are_not_used(
    make: Callable[..., World], shop: Path, tmp_path: Path
) -> None:
    world, canary = make(shop=shop), tmp_path / "canary"
    usual = world.opencode.answer

    def answer(asked: Asked) -> dict[str, Any]:
        if not is_audit(asked):
            lib = asked.directory / LIB
            git(lib, "config", "filter.evil.clean", f"touch '{canary}'; cat")
            (lib / ".gitattributes").write_text("* filter=evil\n")
            edit(lib)
        return usual(asked)

    world.opencode.answer = answer
    loop = world.run()
    assert "parts/lib (git cannot be asked, because its setting filter.evil.clean may run a program)" in loop.reason
    assert not canary.exists()


def test_files_behind_a_link_on_the_way_to_a_submodule_stay(
    make: Callable[..., World], shop: Path, tmp_path: Path
) -> None:
    precious = tmp_path / "outside" / "lib" / "precious.txt"
    precious.parent.mkdir(parents=True)
    precious.write_text("of the user\n")
    check = f"rm -rf parts && echo parts >.gitignore && ln -s '{tmp_path / 'outside'}' parts && grep -q hello hello.txt"
    make(PLAN.replace("grep -q hello hello.txt", check), shop=shop).run()
    assert precious.read_text() == "of the user\n"


def test_name_of_a_submodule_that_leads_into_the_worktree_is_not_used(shop: Path, tmp_path: Path) -> None:
    found = find_repository(shop)
    tree = create(found, tmp_path / "tree", "loop/one", base=found.head, takes_changes=False, copies=())
    own = repository(tree.path / "own", code_py="x\n")
    git(tree.path, "config", "--file", ".gitmodules", "--rename-section", f"submodule.{LIB}", f"submodule.{own}/.git")
    tree.commit_all("work")
    assert git(shop, "rev-parse", f"loop/one:{LIB}") == git(shop, "rev-parse", f"main:{LIB}")
