"""Locks that a killed git has left: the loop's own are removed, unless a process may still hold them."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from loops.repositories import git, repository
from opencode_memory.loops import stale_locks
from opencode_memory.loops.git import GitError
from opencode_memory.loops.worktree import Worktree, create, find_repository, in_place

BRANCH = "loop/one"
LOCKS = ("worktrees/one/index.lock", "worktrees/one/HEAD.lock", f"refs/heads/{BRANCH}.lock")


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return repository(tmp_path / "my shop ü", a_py="print(1)\n")


@pytest.fixture
def tree(shop: Path, tmp_path: Path) -> Worktree:
    found = find_repository(shop)
    made = create(found, tmp_path / "trees" / "one", BRANCH, base=found.head, takes_changes=False, copies=())
    (made.path / "b.py").write_text("print(2)\n")
    return made


@pytest.fixture
def _no_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stale_locks, "_WAIT_SECONDS", 0.1)


@contextmanager
def committing(tree: Worktree, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A commit of an agent that holds the lock of the index until its editor ends."""
    git(tree.path, "add", "--all")
    began = folder / "began"
    os.mkfifo(began)
    editor = f"sh -c 'echo > {began}; exec sleep 300'"
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "--all"]
    process = subprocess.Popen(command, cwd=tree.path, env={**os.environ, "GIT_EDITOR": editor}, start_new_session=True)
    try:
        began.read_bytes()
        yield process
    finally:
        with_group = os.getpgid(process.pid) if process.poll() is None else None
        if with_group is not None:
            os.killpg(with_group, signal.SIGKILL)
        process.wait()


@pytest.mark.parametrize("lock", LOCKS)
def test_lock_without_a_process_is_removed(shop: Path, tree: Worktree, lock: str) -> None:
    (shop / ".git" / lock).touch()
    assert tree.commit_all("one: iteration 1") == git(shop, "rev-parse", BRANCH)
    assert git(shop, "show", f"{BRANCH}:b.py") == "print(2)"
    assert not (shop / ".git" / lock).exists()


@pytest.mark.usefixtures("_no_patience")
def test_lock_of_a_git_that_runs_is_left_and_removed_after_its_death(
    shop: Path, tree: Worktree, tmp_path: Path
) -> None:
    lock = shop / ".git" / LOCKS[0]
    with committing(tree, tmp_path) as process:
        assert lock.exists()
        with pytest.raises(GitError, match=r"index\.lock"):
            tree.commit_all("one: iteration 1")
        assert lock.exists()
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        assert lock.exists()
        tree.commit_all("one: iteration 1")
    assert git(shop, "show", f"{BRANCH}:b.py") == "print(2)"


def test_git_that_comes_to_its_end_is_waited_for(shop: Path, tree: Worktree, tmp_path: Path) -> None:
    with committing(tree, tmp_path) as process:
        # The commit has no message, so git gives up and removes its lock.
        [editor] = subprocess.run(
            ["pgrep", "-P", str(process.pid)], capture_output=True, text=True, check=True
        ).stdout.split()
        os.kill(int(editor), signal.SIGTERM)
        tree.commit_all("one: iteration 1")
        assert process.wait(10) != -signal.SIGKILL
    assert git(shop, "show", f"{BRANCH}:b.py") == "print(2)"


@pytest.mark.usefixtures("_no_patience")
def test_lock_that_another_program_has_open_is_left(shop: Path, tree: Worktree) -> None:
    lock = shop / ".git" / LOCKS[0]
    with lock.open("w") as opened, subprocess.Popen(["sleep", "300"], pass_fds=[opened.fileno()], cwd="/") as other:
        opened.close()
        with pytest.raises(GitError, match=r"index\.lock"):
            tree.commit_all("one: iteration 1")
        other.kill()
    tree.commit_all("one: iteration 1")


@pytest.mark.parametrize("lock", ["index.lock", "worktrees/other/index.lock", "refs/heads/main.lock"])
def test_locks_of_the_user_and_of_other_worktrees_are_left(shop: Path, tree: Worktree, lock: str) -> None:
    git(shop, "worktree", "add", "-q", "--detach", str(tree.path.parent / "other"))
    found = shop / ".git" / lock
    found.touch()
    tree.commit_all("one: iteration 1")
    assert found.exists()


def test_loop_in_place_removes_no_lock(shop: Path) -> None:
    found = find_repository(shop)
    (shop / "b.py").touch()
    lock = shop / ".git" / "index.lock"
    lock.touch()
    with pytest.raises(GitError, match=r"index\.lock"):
        in_place(found, base=found.head).commit_all("x")
    assert lock.exists()


def test_without_proc_no_lock_is_removed(shop: Path, tree: Worktree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stale_locks, "this_machine", lambda: None)
    (shop / ".git" / LOCKS[0]).touch()
    with pytest.raises(GitError, match=r"index\.lock"):
        tree.commit_all("one: iteration 1")
