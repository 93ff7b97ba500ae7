"""What is staged for a commit of a loop, with the real git, and attacks from inside of the worktree."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from loops.repositories import git, repository
from opencode_memory.loops.worktree import Worktree, create, find_repository, in_place

STRANGE = ["new\nline.txt", "'quote\".txt", "-dash.txt", ":(exclude)colon.txt", "ü *?[x].txt"]


@pytest.fixture
def tree(tmp_path: Path) -> Worktree:
    found = find_repository(repository(tmp_path / "shop", a_py="x\n", b_py="x\n"))
    return create(found, tmp_path / "tree", "loop/one", base=found.head, takes_changes=False, copies=())


def set_trap(folder: Path, canary: Path) -> None:
    """Write a repository whose configuration has a program that git runs on the files of the repository."""
    repository(folder, lib_py="x\n", _gitattributes="* filter=evil diff=evil\n")
    git(folder, "config", "filter.evil.clean", f"touch '{canary}'; cat")
    git(folder, "config", "core.fsmonitor", f"touch '{canary}'; false")
    (folder / "lib.py").write_text("y\n")


@pytest.mark.parametrize("name", ["lib", ".opencode"])
@pytest.mark.parametrize("is_known", [True, False])
def test_configuration_of_a_repository_inside_of_the_worktree_is_not_read(
    tree: Worktree, tmp_path: Path, name: str, *, is_known: bool
) -> None:
    canary = tmp_path / "canary"
    set_trap(tree.path / name, canary)
    if is_known:
        commit = git(tree.path / name, "rev-parse", "HEAD")
        git(tree.path, "update-index", "--add", "--cacheinfo", f"160000,{commit},{name}")
        git(tree.path, "commit", "--quiet", "--message", "by the model")
    for _ in range(2):
        tree.tree()
        tree.diff()
        tree.changes_configuration()
        tree.commit_all("work")
        tree.remove_products()
    tree.remove()
    assert not canary.exists()


def test_repository_without_a_commit_inside_of_the_worktree_does_not_stop_the_commit(tree: Worktree) -> None:
    (tree.path / "b.py").unlink()
    (tree.path / "c.py").write_text("x\n")
    (tree.path / "lib").mkdir()
    git(tree.path / "lib", "init", "--quiet")
    head = tree.commit_all("work")
    assert git(tree.path, "ls-tree", "--name-only", head).split() == ["a.py", "c.py"]


def test_files_with_strange_names_are_committed(tree: Worktree) -> None:
    for name in STRANGE:
        (tree.path / name).write_text("x\n")
    head = tree.commit_all("work")
    assert set(git(tree.path, "ls-tree", "-z", "--name-only", head).split("\0")) == {"a.py", "b.py", "", *STRANGE}
    tree.remove_products()
    assert all((tree.path / name).exists() for name in STRANGE)


def test_all_files_may_be_deleted(tree: Worktree) -> None:
    for name in ("a.py", "b.py"):
        (tree.path / name).unlink()
    assert git(tree.path, "ls-tree", tree.commit_all("work")) == ""


def test_search_for_a_changed_configuration_stores_no_other_file(tree: Worktree) -> None:
    """Ignored files may be large, for example the products of a compiler."""
    (tree.path / ".gitignore").write_text("target\n")
    (tree.path / "target").write_text("large\n")
    assert not tree.changes_configuration()
    stored = git(tree.path, "hash-object", "target")
    assert git(tree.path, "cat-file", "--batch-all-objects", "--batch-check").count(stored) == 0


@pytest.mark.parametrize("name", ["opencode.json", ".opencode/agent/a.md"])
def test_new_and_deleted_configuration_is_a_change(tmp_path: Path, name: str) -> None:
    shop = repository(tmp_path / "shop", _gitignore=".opencode\n")
    for is_there in (False, True):
        found = find_repository(shop)
        tree = create(
            found,
            tmp_path / name[:3] / str(is_there),
            f"loop/{is_there}",
            base=found.head,
            takes_changes=False,
            copies=(),
        )
        assert not tree.changes_configuration()
        for folder in (shop, tree.path):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
        if is_there:
            (tree.path / name).unlink()
        else:
            (tree.path / name).write_text("{}")
            (shop / name).write_text("{}")
            git(shop, "add", "--force", name)
            git(shop, "commit", "--quiet", "--message", "configuration")
        assert tree.changes_configuration()


def test_file_that_changes_in_the_second_of_the_index_is_seen(tmp_path: Path) -> None:
    """Git compares times in seconds, so it must know that the index is no newer than the file."""
    shop = repository(tmp_path / "shop", a_py="x\n")
    git(shop, "config", "core.trustctime", "false")
    os.utime(shop / "a.py", (1e9, 1e9))
    git(shop, "update-index", "--refresh")
    os.utime(shop / ".git" / "index", (1e9, 1e9))
    tree = in_place(find_repository(shop), base="HEAD")
    before = tree.tree()
    (shop / "a.py").write_text("y\n")
    os.utime(shop / "a.py", (1e9, 1e9))
    assert tree.tree() != before
