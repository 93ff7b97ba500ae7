"""A remote that is renamed: the repository stays in its project, and another one in the same folder does not join it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from opencode_memory import MemoryStore
from opencode_memory.models import ProjectIdentity
from opencode_memory.projects import resolver as resolver_module
from opencode_memory.projects.identity import identify
from opencode_memory.projects.resolver import ProjectResolver
from support.memory_files import git
from support.stores import open_store

ENVIRONMENT = {"PATH": os.environ["PATH"]}
OLD = "github.com/ann/shop"
NEW = "github.com/acme/store"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryStore]:
    with open_store(tmp_path / "store") as opened:
        yield opened


def clone(folder: Path, remote: str, message: str = "first") -> Path:
    folder.mkdir()
    git(folder, "init", "--quiet")
    git(folder, "commit", "--quiet", "--allow-empty", "-m", message)
    git(folder, "remote", "add", "origin", f"https://{remote}.git")
    return folder


def resolve(store: MemoryStore) -> ProjectResolver:
    """Return a resolver as a new process has it."""
    return ProjectResolver(store, ENVIRONMENT)


def test_renamed_remote_stays_in_its_project(store: MemoryStore, tmp_path: Path) -> None:
    folder = clone(tmp_path / "shop", OLD)
    assert resolve(store).ensure(folder) == OLD
    git(folder, "remote", "set-url", "origin", f"https://{NEW}.git")
    assert resolve(store).find(folder) == OLD
    assert resolve(store).name(folder) == OLD
    assert resolve(store).ensure(folder) == OLD
    [project] = store.projects.list()
    assert sorted(project.remotes) == [NEW, OLD]
    # Another clone needs no root commit, because the project now has the remote.
    assert resolve(store).find(clone(tmp_path / "second", NEW, "other")) == OLD


def make_local(folder: Path, message: str) -> Path:
    clone(folder, NEW, message)
    git(folder, "remote", "remove", "origin")
    return folder


def test_first_remote_of_a_renamed_folder_stays_in_its_project(store: MemoryStore, tmp_path: Path) -> None:
    folder = make_local(tmp_path / "shop", "first")
    name = resolve(store).ensure(folder)
    folder = folder.rename(tmp_path / "store-front")
    git(folder, "remote", "add", "origin", f"https://{NEW}.git")
    assert resolve(store).find(folder) == name
    assert resolve(store).name(folder) == name


def test_new_clone_reads_no_root_commits_while_all_folders_without_a_remote_are_there(
    store: MemoryStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolve(store).ensure(make_local(tmp_path / "local", "first"))
    other = clone(tmp_path / "shop", OLD, "other")
    monkeypatch.setattr(resolver_module, "with_root_commits", None)
    assert resolve(store).find(other) is None


def test_renamed_remote_is_recognised_by_a_process_that_knows_the_old_one(store: MemoryStore, tmp_path: Path) -> None:
    folder = clone(tmp_path / "shop", OLD)
    projects = resolve(store)
    projects.ensure(folder)
    git(folder, "remote", "set-url", "origin", f"https://{NEW}.git")
    assert projects.ensure(folder) == OLD


def test_other_repository_in_the_same_folder_is_another_project(store: MemoryStore, tmp_path: Path) -> None:
    folder = clone(tmp_path / "shop", OLD)
    resolve(store).ensure(folder)
    shutil.rmtree(folder)
    clone(folder, NEW, "another first commit")
    assert resolve(store).find(folder) is None
    assert resolve(store).ensure(folder) == NEW


def test_fork_in_another_folder_is_another_project(store: MemoryStore, tmp_path: Path) -> None:
    resolve(store).ensure(clone(tmp_path / "shop", OLD))
    git(tmp_path, "clone", "--quiet", "shop", "fork")
    git(tmp_path / "fork", "remote", "set-url", "origin", f"https://{NEW}.git")
    assert resolve(store).ensure(tmp_path / "fork") == NEW


def test_project_of_an_earlier_version_gets_its_root_commits(store: MemoryStore, tmp_path: Path) -> None:
    folder = clone(tmp_path / "shop", OLD)
    store.projects.resolve(identify(folder))
    assert store.projects.list()[0].root_commits == ()
    resolve(store).refresh(folder)
    git(folder, "remote", "set-url", "origin", f"https://{NEW}.git")
    assert resolve(store).find(folder) == OLD


def test_git_runs_once_for_a_known_remote_and_only_to_write(
    store: MemoryStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = clone(tmp_path / "shop", OLD)
    asked: list[ProjectIdentity] = []

    def fail(identity: ProjectIdentity, **_: object) -> ProjectIdentity:
        asked.append(identity)
        return identity

    monkeypatch.setattr(resolver_module, "with_root_commits", fail)
    projects = resolve(store)
    for _ in range(2):
        assert projects.find(folder) is None
        assert projects.name(folder) == OLD
    assert asked == []
    for _ in range(2):
        projects.ensure(folder)
        projects.refresh(folder)
    assert len(asked) == 1
    # A new process that only reads does not start git either.
    assert resolve(store).find(folder) == OLD
    assert len(asked) == 1
