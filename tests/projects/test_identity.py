"""Which project a folder belongs to, against real repositories and against configuration files nobody should trust."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencode_memory.models import ProjectIdentity
from opencode_memory.projects.git_remotes import normalise_remote, read_remotes
from opencode_memory.projects.identity import find_repository, identify, with_root_commits

GIT_ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.org", "GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z",
    "GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@example.org", "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z",
}  # fmt: skip


def git(folder: Path, *arguments: str) -> str:
    command = ["git", "-c", "protocol.file.allow=always", "-c", "init.defaultBranch=main", *arguments]
    return subprocess.run(command, cwd=folder, env=GIT_ENVIRONMENT, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    git(folder, "init", "-q")
    git(folder, "commit", "-q", "--allow-empty", "-m", "first")
    return folder


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://github.com/acme/shop.git", "github.com/acme/shop"),
        ("https://user:secret@GitHub.com:443/acme/shop/", "github.com/acme/shop"),
        ("https://github.com/acme/shop.git?token=abc#x", "github.com/acme/shop"),
        ("ssh://git@gitlab.com:2222/group/sub/Shop.git", "gitlab.com/group/sub/Shop"),
        ("git+ssh://git@gitlab.com/group/shop", "gitlab.com/group/shop"),
        ("git://example.org/shop.git", "example.org/shop"),
        ("git@github.com:acme/shop.git", "github.com/acme/shop"),
        ("github.com:/acme//shop", "github.com/acme/shop"),
        ("git@[2001:db8::1]:acme/shop.git", "[2001:db8::1]/acme/shop"),
        ("ssh://git@[2001:db8::1]:22/acme/shop.git", "[2001:db8::1]/acme/shop"),
        ("ssh://git@ssh.github.com:443/acme/shop.git", "github.com/acme/shop"),
        ("https://example.org/a%20b.git", "example.org/a b"),
        ("/srv/git/shop.git", None),
        ("../shop.git", None),
        ("./odd:name", None),
        ("file:///srv/git/shop.git", None),
        ("C:\\work\\shop", None),
        ("ext::sh -c touch% /tmp/x", None),
        ("codecommit::eu-west-1://shop", None),
        ("https://github.com/", None),
        ("https://exa\x1bmple.org/shop", None),
        ("", None),
    ],
)
def test_remotes_are_reduced_to_host_and_path(url: str, expected: str | None) -> None:
    assert normalise_remote(url) == expected


@given(st.text(max_size=80))
def test_no_text_breaks_the_remote_reader(text: str) -> None:
    remote = normalise_remote(text)
    assert remote is None or "/" in remote
    read_remotes(text)


def test_configuration_is_read_as_git_writes_it() -> None:
    config = (
        "[core]\n\turl = https://not-a-remote.example/x\n"
        '[remote "fork"]\n\turl = "https://example.org/me/shop.git" ; mine\n'
        '[remote "upstream"] url = https://example.org/them/\\\nshop.git\r\n'
        '[remote "origin"]\n\tpushurl = https://example.org/push/shop\n\turl = git@example.org:us/shop.git # ours\n'
        "\turl = https://example.org/second/shop\n"
        "[Remote.old]\nURL=https://example.org/old/shop\n"
        '[remote "same"]\n\turl = https://example.org/us/shop\n'
        "[remote broken\nurl\n"
    )
    assert read_remotes(config) == (
        "example.org/us/shop", "example.org/them/shop", "example.org/me/shop", "example.org/old/shop",
    )  # fmt: skip


def test_remotes_agree_with_git(repository: Path) -> None:
    for name, url in (("upstream", 'https://example.org/a"b;c#d/shop.git'), ("origin", "git@example.org:us/shop")):
        git(repository, "remote", "add", name, url)
    assert identify(repository).remotes == ("example.org/us/shop", 'example.org/a"b;c')
    assert git(repository, "remote", "get-url", "upstream").strip() == 'https://example.org/a"b;c#d/shop.git'


def test_folder_outside_git_is_its_own_project(tmp_path: Path) -> None:
    assert identify(tmp_path / "missing") == ProjectIdentity(folder=str(tmp_path / "missing"))
    assert with_root_commits(identify(tmp_path), environment=GIT_ENVIRONMENT).root_commits == ()


def test_subfolders_and_symbolic_links_lead_to_the_same_repository(repository: Path, tmp_path: Path) -> None:
    (repository / "src" / "app").mkdir(parents=True)
    (tmp_path / "link").symlink_to(repository / "src")
    assert identify(repository / "src" / "app") == identify(tmp_path / "link") == identify(repository)


def test_linked_worktrees_share_the_identity(repository: Path, tmp_path: Path) -> None:
    git(repository, "remote", "add", "origin", "https://example.org/us/shop")
    git(repository, "worktree", "add", "-q", str(tmp_path / "elsewhere"), "-b", "topic")
    assert identify(tmp_path / "elsewhere") == identify(repository)
    found = find_repository(tmp_path / "elsewhere")
    assert found is not None
    assert found.work_tree == tmp_path / "elsewhere"


def test_worktrees_of_a_bare_repository_share_its_folder(repository: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--bare", str(repository), "bare.git")
    git(tmp_path / "bare.git", "worktree", "add", "-q", str(tmp_path / "tree"), "main")
    assert identify(tmp_path / "tree").folder == identify(tmp_path / "bare.git").folder == str(tmp_path / "bare.git")


def test_submodules_are_projects_of_their_own(repository: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", str(repository), "library")
    git(repository, "submodule", "add", "-q", str(tmp_path / "library"), "vendor/library")
    identity = identify(repository / "vendor" / "library")
    assert identity.folder == str(repository / "vendor" / "library")
    assert identity.remotes == ()


def test_root_commits_are_what_git_says(repository: Path) -> None:
    git(repository, "commit", "-q", "--allow-empty", "-m", "second")
    identity = with_root_commits(identify(repository), environment=GIT_ENVIRONMENT)
    assert identity.root_commits == (git(repository, "rev-list", "--max-parents=0", "HEAD").strip(),)


def test_variables_of_a_running_git_hook_do_not_redirect_the_question(repository: Path, tmp_path: Path) -> None:
    environment = GIT_ENVIRONMENT | {"GIT_DIR": str(tmp_path), "GIT_OBJECT_DIRECTORY": str(tmp_path)}
    assert len(with_root_commits(identify(repository), environment=environment).root_commits) == 1


def test_shallow_clone_does_not_pass_its_boundary_off_as_a_root(repository: Path, tmp_path: Path) -> None:
    git(repository, "commit", "-q", "--allow-empty", "-m", "second")
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{repository}", "shallow")
    assert with_root_commits(identify(tmp_path / "shallow"), environment=GIT_ENVIRONMENT).root_commits == ()


def test_repository_without_commits_or_without_git_has_no_roots(tmp_path: Path, repository: Path) -> None:
    git(tmp_path, "init", "-q", "empty")
    assert with_root_commits(identify(tmp_path / "empty"), environment=GIT_ENVIRONMENT).root_commits == ()
    no_git = GIT_ENVIRONMENT | {"PATH": str(tmp_path)}
    assert with_root_commits(identify(repository), environment=no_git).root_commits == ()


def test_hostile_configuration_runs_nothing(repository: Path, tmp_path: Path) -> None:
    proof = tmp_path / "proof"
    script = tmp_path / "run"
    script.write_text(f"#!/bin/sh\ntouch '{proof}'\n")
    script.chmod(0o755)
    hooks = repository / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    (hooks / "post-index-change").symlink_to(script)
    with (repository / ".git" / "config").open("a") as config:
        config.write(
            f"[core]\n\tfsmonitor = {script}\n\tsshCommand = {script}\n\tpager = {script}\n"
            f'[remote "origin"]\n\turl = ext::{script}\n\tpromisor = true\n\tuploadpack = {script}\n'
            f"[protocol]\n\tallow = always\n[alias]\n\trev-list = !{script}\n[log]\n\tshowSignature = true\n"
            "[extensions]\n\tpartialClone = origin\n"
        )
    identity = with_root_commits(identify(repository), environment=GIT_ENVIRONMENT)
    assert identity.remotes == ()
    assert len(identity.root_commits) == 1
    assert not proof.exists()


@pytest.mark.parametrize("pointer", ["", "gitdir:", "gitdir: /nonexistent", "nonsense", "gitdir: .", "gitdir: \0"])
def test_damaged_git_file_makes_the_folder_a_plain_one(tmp_path: Path, pointer: str) -> None:
    (tmp_path / ".git").write_text(pointer)
    assert identify(tmp_path) == ProjectIdentity(folder=str(tmp_path))
