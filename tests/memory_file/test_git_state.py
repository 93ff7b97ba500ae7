"""State of git for the file, in real repositories."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from opencode_memory.memory_file.git_state import Head, read_head, unfinished_operation, versions
from opencode_memory.projects.identity import Repository, find_repository, identify
from support.memory_files import git

NAME = ".opencode/MEMORY.md"
ENVIRONMENT = {"PATH": os.environ["PATH"]}


@pytest.fixture
def work_tree(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    git(folder, "init", "-q")
    return folder


def commit(folder: Path, text: str | None = None) -> str:
    if text is not None:
        (folder / ".opencode").mkdir(exist_ok=True)
        (folder / NAME).write_text(text)
        git(folder, "add", "-f", NAME)
    git(folder, "commit", "-q", "--allow-empty", "-m", "x")
    return git(folder, "rev-parse", "HEAD").strip()


def repository(folder: Path) -> Repository:
    found = find_repository(folder)
    assert found is not None
    return found


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no FIFO")
@pytest.mark.timeout(20)
def test_fifo_in_a_repository_does_not_block(work_tree: Path) -> None:
    for name in ("refs/heads/main", "config"):
        (work_tree / ".git" / name).unlink(missing_ok=True)
        os.mkfifo(work_tree / ".git" / name)
    assert read_head(repository(work_tree)) == Head("refs/heads/main", "")
    assert identify(work_tree).remotes == ()


def test_head_is_read_before_and_after_the_first_commit(work_tree: Path) -> None:
    assert read_head(repository(work_tree)) == Head("refs/heads/main", "")
    head = commit(work_tree)
    assert read_head(repository(work_tree)) == Head("refs/heads/main", head)


def test_head_is_read_when_refs_are_packed_and_when_it_is_detached(work_tree: Path) -> None:
    first = commit(work_tree)
    second = commit(work_tree)
    git(work_tree, "pack-refs", "--all")
    assert not (work_tree / ".git/refs/heads/main").exists()
    assert read_head(repository(work_tree)) == Head("refs/heads/main", second)
    git(work_tree, "checkout", "-q", first)
    assert read_head(repository(work_tree)) == Head(None, first)


def test_head_of_a_linked_work_tree_is_its_own(work_tree: Path, tmp_path: Path) -> None:
    first = commit(work_tree)
    git(work_tree, "worktree", "add", "-q", "-b", "topic/x", str(tmp_path / "linked"))
    second = commit(tmp_path / "linked")
    assert read_head(repository(tmp_path / "linked")) == Head("refs/heads/topic/x", second)
    assert read_head(repository(work_tree)) == Head("refs/heads/main", first)


@pytest.mark.parametrize(
    "text", ["", "nonsense", "ref: ../../outside", "ref: refs/heads/.invalid", "ref: refs/heads/../../x"]
)
def test_head_that_cannot_be_read_is_not_known(work_tree: Path, text: str) -> None:
    (work_tree / ".git/HEAD").write_text(text)
    assert read_head(repository(work_tree)).commit is None


def test_circular_head_is_unknown(work_tree: Path) -> None:
    (work_tree / ".git/refs/heads/main").write_text("ref: refs/heads/main\n")
    assert read_head(repository(work_tree)).commit is None


def test_committed_and_the_staged_version_are_returned(work_tree: Path) -> None:
    assert versions(repository(work_tree), NAME, environment=ENVIRONMENT) == ()
    commit(work_tree, "committed\n\nmore\n")
    assert versions(repository(work_tree), NAME, environment=ENVIRONMENT) == (b"committed\n\nmore\n",) * 2
    (work_tree / NAME).write_text("staged missing")
    git(work_tree, "add", NAME)
    (work_tree / NAME).write_text("neither")
    found = versions(repository(work_tree), NAME, environment=ENVIRONMENT)
    assert found == (b"committed\n\nmore\n", b"staged missing")


def test_untracked_file_has_no_versions(work_tree: Path) -> None:
    commit(work_tree)
    (work_tree / ".opencode").mkdir()
    (work_tree / NAME).write_text("mine")
    assert versions(repository(work_tree), NAME, environment=ENVIRONMENT) == ()


def test_versions_without_git_are_unknown(work_tree: Path, tmp_path: Path) -> None:
    assert versions(repository(work_tree), NAME, environment={"PATH": str(tmp_path)}) is None
    nowhere = Repository(tmp_path, tmp_path / "no.git", tmp_path / "no.git")
    assert versions(nowhere, NAME, environment=ENVIRONMENT) is None
    assert versions(repository(work_tree), "a\nb", environment=ENVIRONMENT) is None


def test_variables_of_git_do_not_lead_to_another_repository(work_tree: Path, tmp_path: Path) -> None:
    commit(work_tree, "ours")
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    commit(other, "theirs")
    misleading = ENVIRONMENT | {"GIT_DIR": str(other / ".git"), "GIT_INDEX_FILE": str(other / ".git/index")}
    assert versions(repository(work_tree), NAME, environment=misleading) == (b"ours", b"ours")


def test_unfinished_operation_is_named(work_tree: Path) -> None:
    commit(work_tree, "base\n")
    assert unfinished_operation(repository(work_tree)) is None
    git(work_tree, "checkout", "-q", "-b", "theirs")
    commit(work_tree, "theirs\n")
    git(work_tree, "checkout", "-q", "main")
    commit(work_tree, "ours\n")
    with pytest.raises(Exception, match="merge"):
        git(work_tree, "merge", "-q", "theirs")
    assert unfinished_operation(repository(work_tree)) == "a merge"
    git(work_tree, "merge", "--abort")
    with pytest.raises(Exception, match="rebase"):
        git(work_tree, "rebase", "-q", "theirs")
    assert unfinished_operation(repository(work_tree)) == "a rebase"
