"""Worktrees of loops, with the real git, and attacks from inside of them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from loops.repositories import git, repository
from opencode_memory.errors import InvalidInputError, OpencodeMemoryError
from opencode_memory.loops.git import Git, GitError, no_push_environment
from opencode_memory.loops.records import name_of
from opencode_memory.loops.worktree import ChangedConfigError, Worktree, create, find_repository, in_place


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return repository(tmp_path / "my shop ü", a_py="print(1)\n", _gitignore=".env\n*.pyc\n")


def make(
    shop: Path, tmp_path: Path, *, takes_changes: bool = False, copies: tuple[str, ...] = (), branch: str = "loop/one"
) -> Worktree:
    found = find_repository(shop)
    return create(
        found, tmp_path / "trees" / "one", branch, base=found.head, takes_changes=takes_changes, copies=copies
    )


class _Death(BaseException):
    """The server dies: no code of ours runs afterwards."""


def test_file_whose_copy_was_interrupted_comes_along_as_a_whole(
    shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (shop / ".env").write_text("KEY=value\n")

    def die_in_the_middle(_: Path, target: Path) -> None:
        target.write_text("KEY=")
        raise _Death

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "copy2", die_in_the_middle)
        with pytest.raises(_Death):
            make(shop, tmp_path, copies=(".env",))
    tree = make(shop, tmp_path, copies=(".env",))
    assert (tree.path / ".env").read_text() == "KEY=value\n"
    assert sorted(path.name for path in tree.path.parent.iterdir()) == ["one"]


def test_worktree_has_a_branch_of_its_own_and_leaves_the_users(shop: Path, tmp_path: Path) -> None:
    (shop / "a.py").write_text("print(2)\n")
    tree = make(shop, tmp_path)
    assert (tree.path / "a.py").read_text() == "print(1)\n"
    (tree.path / "b.py").write_text("print(3)\n")
    head = tree.commit_all("one: iteration 1")
    assert (git(shop, "rev-parse", "loop/one"), git(shop, "rev-parse", "main")) == (head, tree.base)
    assert git(shop, "status", "--porcelain") == "M a.py"
    assert "+print(3)" in tree.diff()
    assert tree.commit_all("nothing to commit") == head


@pytest.mark.parametrize(
    "leave",
    [
        pytest.param(("checkout", "--quiet", "--detach"), id="detached"),
        pytest.param(("checkout", "--quiet", "-b", "other"), id="another branch"),
        pytest.param(("checkout", "--quiet", "-b", "other", "main"), id="another branch from the start"),
        pytest.param(("branch", "--move", "renamed"), id="renamed"),
    ],
)
def test_work_is_committed_on_the_branch_that_the_model_has_left(
    shop: Path, tmp_path: Path, leave: tuple[str, ...]
) -> None:
    tree = make(shop, tmp_path)
    (tree.path / "b.py").write_text("first\n")
    first = tree.commit_all("one: iteration 1")
    git(tree.path, *leave)
    (tree.path / "b.py").write_text("second\n")
    head = tree.commit_all("one: iteration 2")
    assert git(shop, "rev-parse", "loop/one", "loop/one~") == f"{head}\n{first}"
    assert git(shop, "show", "loop/one:b.py") == "second"
    assert tree.remove() is None


def test_commits_of_the_model_on_a_detached_head_reach_the_branch(shop: Path, tmp_path: Path) -> None:
    tree = make(shop, tmp_path)
    git(tree.path, "checkout", "--quiet", "--detach")
    (tree.path / "b.py").write_text("mine\n")
    git(tree.path, "add", "b.py")
    git(tree.path, "commit", "--quiet", "--message", "by the model")
    assert tree.remove() is None
    assert git(shop, "log", "-1", "--format=%s", "loop/one") == "by the model"


def test_branch_that_the_user_has_checked_out_is_not_moved(shop: Path, tmp_path: Path) -> None:
    tree = make(shop, tmp_path)
    git(tree.path, "checkout", "--quiet", "--detach")
    git(shop, "checkout", "--quiet", "loop/one")
    (tree.path / "b.py").write_text("x\n")
    with pytest.raises(GitError, match="is now checked out in"):
        tree.commit_all("work")
    assert git(shop, "rev-parse", "loop/one") == tree.base


def test_made_again_it_is_the_same(shop: Path, tmp_path: Path) -> None:
    first = make(shop, tmp_path)
    (first.path / "b.py").write_text("x\n")
    head = first.commit_all("work")
    assert make(shop, tmp_path) == first
    git(shop, "worktree", "remove", "--force", str(first.path))
    assert make(shop, tmp_path).head() == head


@pytest.mark.parametrize(
    "title", ["Проверь й", "空のファイルを読む", "ตรวจสอบไฟล์", "हिन्दी में", "اقرأ الملف", "𠮷野家" * 20]
)
def test_name_in_any_script_is_a_branch(shop: Path, tmp_path: Path, title: str) -> None:
    branch = f"loop/{name_of(title, ())}-1a2b"
    tree = make(shop, tmp_path, branch=branch)
    (tree.path / "b.py").write_text("x\n")
    assert git(shop, "rev-parse", branch) != tree.commit_all("work")
    assert tree.remove() is None
    assert git(shop, "log", "-1", "--format=%s", branch) == "work"


def test_folder_of_somebody_else_is_refused(shop: Path, tmp_path: Path) -> None:
    make(shop, tmp_path)
    with pytest.raises(InvalidInputError, match="not on the branch loop/two"):
        make(shop, tmp_path, branch="loop/two")


def test_uncommitted_changes_come_along_and_stay(shop: Path, tmp_path: Path) -> None:
    (shop / "a.py").write_text("print(2)\n")
    (shop / "new.py").write_text("new\n")
    (shop / ".env").write_text("KEY=1\n")
    (shop / "x.pyc").write_text("no\n")
    tree = make(shop, tmp_path, takes_changes=True, copies=(".env",))
    assert (tree.path / "a.py").read_text() == "print(2)\n"
    assert (tree.path / "new.py").read_text() == "new\n"
    assert (tree.path / ".env").read_text() == "KEY=1\n"
    assert not (tree.path / "x.pyc").exists()
    assert git(tree.path, "status", "--porcelain") == ""
    assert git(shop, "status", "--porcelain").splitlines() == ["M a.py", "?? new.py"]
    assert git(shop, "stash", "list") == ""


def test_links_out_of_the_repository_are_not_copied(shop: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("s3cret")
    (shop / ".env").symlink_to(secret)
    assert not (make(shop, tmp_path, copies=(".env",)).path / ".env").exists()


def test_fresh_checkout_has_the_commits_only(shop: Path, tmp_path: Path) -> None:
    tree = make(shop, tmp_path)
    (tree.path / "b.py").write_text("x\n")
    head = tree.commit_all("work")
    (tree.path / ".env").write_text("only here\n")
    for _ in range(2):  # Also after a death, which leaves the folder.
        with tree.fresh_checkout(head, tmp_path / "final") as folder:
            assert sorted(path.name for path in folder.iterdir()) == [".git", ".gitignore", "a.py", "b.py"]
    assert not (tmp_path / "final").exists()
    assert git(shop, "worktree", "list").count("\n") == 1


def test_worktree_is_removed_only_if_all_is_committed(shop: Path, tmp_path: Path) -> None:
    tree = make(shop, tmp_path)
    (tree.path / "b.py").write_text("x\n")
    assert tree.remove() == "not committed: b.py"
    assert tree.path.exists()
    tree.commit_all("work")
    assert tree.remove() is None
    assert not tree.path.exists()
    assert git(shop, "rev-parse", "loop/one")


def test_tree_tells_contents_apart_and_leaves_the_index(shop: Path) -> None:
    tree = in_place(find_repository(shop), base="HEAD")
    first = tree.tree()
    (shop / "new.py").write_text("new\n")
    assert tree.tree() != first
    assert git(shop, "status", "--porcelain") == "?? new.py"
    (shop / "new.py").unlink()
    assert tree.tree() == first


def test_users_own_folder_may_have_its_folder_of_git_elsewhere(shop: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "--quiet", "--separate-git-dir", str(tmp_path / "git"), str(shop), "work")
    git(shop, "-c", "protocol.file.allow=always", "submodule", "add", "--quiet", str(tmp_path / "work"), "part")
    for folder in (tmp_path / "work", shop / "part"):
        tree = in_place(find_repository(folder), base="HEAD")
        before = tree.tree()
        (folder / "new.py").write_text("x\n")
        assert tree.tree() != before


def test_worktree_whose_git_file_was_deleted_is_not_forgotten(shop: Path, tmp_path: Path) -> None:
    tree = make(shop, tmp_path)
    (tree.path / ".git").unlink()
    (tree.path / "b.py").write_text("x\n")
    head = tree.commit_all("work")
    git(shop, "worktree", "prune")
    assert tree.head() == head
    assert tree.remove() is None


def test_products_of_a_check_are_removed_and_ignored_files_stay(shop: Path, tmp_path: Path) -> None:
    tree = make(shop, tmp_path)
    (tree.path / "report.xml").write_text("x")
    (tree.path / "x.pyc").write_text("x")
    tree.remove_products()
    assert not (tree.path / "report.xml").exists()
    assert (tree.path / "x.pyc").exists()


def test_local_submodules_need_the_users_permission(tmp_path: Path) -> None:
    library = repository(tmp_path / "library", lib_py="x\n")
    shop = repository(tmp_path / "shop", a_py="x\n")
    git(shop, "-c", "protocol.file.allow=always", "submodule", "add", "--quiet", str(library), "library")
    git(shop, "commit", "--quiet", "--message", "library")
    # Git refuses local submodules by default; that is the user's setting, and the error says so.
    with pytest.raises(GitError, match="not allowed"):
        make(shop, tmp_path)


@pytest.mark.parametrize("state", ["no repository", "no commit", "bare"])
def test_folder_without_a_commit_is_refused(tmp_path: Path, state: str) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()
    if state != "no repository":
        git(folder, "init", "--quiet", *(["--bare"] if state == "bare" else []))
    with pytest.raises(InvalidInputError, match="no commit" if state == "no commit" else "needs a git repository"):
        find_repository(folder)


ATTACKS = {
    "hook": ["core.hooksPath", "{evil}"],
    "monitor": ["core.fsmonitor", "{evil}/run"],
    "filter": ["filter.evil.clean", "{evil}/run"],
    "textconv": ["diff.evil.textconv", "{evil}/run"],
    "external diff": ["diff.external", "{evil}/run"],
    "include": ["include.path", "{evil}/config"],
    "ssh": ["core.sshCommand", "{evil}/run"],
    "editor": ["core.editor", "{evil}/run"],
    "credentials": ["credential.helper", "{evil}/run"],
    "alias": ["alias.status", "!{evil}/run"],
    "upload": ["remote.origin.uploadpack", "{evil}/run"],
    "submodule": ["submodule.x.update", "!{evil}/run"],
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_changed_configuration_runs_nothing_and_is_noticed(shop: Path, tmp_path: Path, attack: str) -> None:
    tree = make(shop, tmp_path)
    evil, canary = tmp_path / "evil", tmp_path / "canary"
    evil.mkdir()
    for name in ("run", "pre-commit", "post-commit", "post-checkout", "post-index-change"):
        (evil / name).write_text(f"#!/bin/sh\ntouch '{canary}'\ncat\n")
        (evil / name).chmod(0o755)
    (evil / "config").write_text(f"[core]\n\tfsmonitor = {evil}/run\n")
    (tree.path / ".gitattributes").write_text("* filter=evil diff=evil\n")
    key, value = ATTACKS[attack]
    git(tree.path, "config", key, value.format(evil=evil))
    (tree.path / "b.py").write_text("x\n")
    for use in (lambda: tree.commit_all("work"), tree.tree, tree.diff, tree.head, tree.remove_products, tree.remove):
        with pytest.raises(ChangedConfigError, match="configuration of git"):
            use()
    assert not canary.exists()


def test_replaced_git_file_runs_nothing(shop: Path, tmp_path: Path) -> None:
    tree = make(shop, tmp_path)
    canary = tmp_path / "canary"
    trap = repository(tmp_path / "trap", a_py="x\n")
    run = tmp_path / "run"
    run.write_text(f"#!/bin/sh\ntouch '{canary}'\n")
    run.chmod(0o755)
    git(trap, "config", "core.fsmonitor", str(run))
    (tree.path / ".git").write_text(f"gitdir: {trap / '.git'}\n")
    (tree.path / "b.py").write_text("x\n")
    head = tree.commit_all("work")
    assert not canary.exists()
    assert git(shop, "rev-parse", "loop/one") == head


@pytest.mark.parametrize("change", [("branch.main.remote", "origin"), ("remote.origin.url", "https://x.example/a")])
def test_usual_settings_of_the_user_are_no_alarm(shop: Path, tmp_path: Path, change: tuple[str, str]) -> None:
    tree = make(shop, tmp_path)
    git(shop, "config", *change)
    assert tree.head() == tree.base


@pytest.mark.parametrize(
    "command",
    ["git push origin main", "git  push origin main", "git -C . push origin main", "sh -c 'git push origin main'"],
)
def test_no_form_of_push_leaves_the_machine(shop: Path, tmp_path: Path, command: str) -> None:
    away = tmp_path / "away.git"
    git(tmp_path, "init", "--quiet", "--bare", str(away))
    git(shop, "remote", "add", "origin", str(away))
    git(shop, "fetch", "--quiet", "origin")
    pushes = Git(work_tree=shop, environment=no_push_environment())
    with pytest.raises(OpencodeMemoryError):
        pushes.run("-c", f"alias.evil=!{command}", "evil")
    assert git(away, "for-each-ref") == ""
