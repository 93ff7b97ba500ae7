"""Imports of a complete export whose projects have other names in the store."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol

import pytest

from opencode_memory import MemoryStore, ProjectIdentity
from opencode_memory.exchange import export_memories, import_memories
from opencode_memory.plans.plans import Plans
from opencode_memory.text import clock
from support.plans import PLAN
from support.stores import open_store

REMOTE = ProjectIdentity(remotes=("forge.example/t/one",), root_commits=("a" * 40,), folder="/home/ada/one")
LOCAL = ProjectIdentity(root_commits=("b" * 40,), folder="/home/ada/local")


class Open(Protocol):
    """Opens a store by the name of its folder."""

    def __call__(self, name: str) -> MemoryStore: ...


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Open]:
    with ExitStack() as stack:
        yield lambda name: stack.enter_context(open_store(tmp_path / name))


def fill(store: MemoryStore, identity: ProjectIdentity) -> str:
    """Store something of everything in the project of a repository, and return the name of the project."""
    name = store.projects.resolve(identity)
    assert name is not None
    id_ = store.remember("Kelp is red.", project=name).id
    store.edit(id_, content="Kelp is brown.")
    store.delete(store.remember("Salt is blue.", project=name).id)
    store.kv.set("k", 1, ttl_seconds=None, project=name)
    Plans(store, name).write_submitted(PLAN, at=clock.now())
    return name


def exported(store: MemoryStore) -> str:
    out = io.StringIO()
    export_memories(store, out)
    return out.getvalue()


def rows(text: str) -> str:
    """Return an export without its header, which holds the time."""
    return text.partition("\n")[2]


def read(store: MemoryStore, text: str, **more: bool) -> Mapping[str, Mapping[str, int]]:
    return import_memories(store, io.StringIO(text), **more).counts


@pytest.mark.parametrize("identity", [REMOTE, LOCAL], ids=["remote", "local"])
def test_renamed_project_moves_to_a_machine_that_knows_its_repository(opened: Open, identity: ProjectIdentity) -> None:
    old, new = opened("old"), opened("new")
    old.projects.rename(fill(old, identity), "Läden")
    # The command line registers the project of the folder in which it runs.
    assert new.projects.resolve(identity) != "Läden"
    read(new, exported(old))
    assert new.projects.names() == ["Läden"]
    assert new.projects.resolve(identity, create=False) == "Läden"
    assert [memory.content for memory in new.list(project="Läden")] == ["Kelp is brown."]
    assert new.kv.get("k", project="Läden") == 1
    assert len(Plans(new, "Läden").list()) == 1


@pytest.mark.parametrize("identity", [REMOTE, LOCAL], ids=["remote", "local"])
def test_export_from_before_a_rename_changes_nothing(opened: Open, identity: ProjectIdentity) -> None:
    store = opened("store")
    name = fill(store, identity)
    earlier = exported(store)
    store.projects.rename(name, "Läden")
    before = rows(exported(store))
    read(store, earlier, dry_run=True)
    for _ in range(2):
        counts = read(store, earlier)
        assert all(outcomes.keys() <= {"merged"} for outcomes in counts.values()), counts
    assert rows(exported(store)) == before


def test_memories_join_the_project_that_has_their_repository(opened: Open) -> None:
    old, new = opened("old"), opened("new")
    fill(old, REMOTE)
    new.projects.resolve(REMOTE)
    new.projects.rename("forge.example/t/one", "Läden")
    new.remember("It was here before.", project="Läden")
    [memory] = old.list(project="forge.example/t/one")
    read(new, exported(old))
    assert new.projects.names() == ["Läden"]
    assert new.get(memory.id).project == "Läden"


def test_untrusted_file_names_no_repository(opened: Open) -> None:
    old, new = opened("old"), opened("new")
    old.projects.rename(fill(old, REMOTE), "Läden")
    new.projects.resolve(REMOTE)
    read(new, exported(old), trusted=False)
    assert new.projects.resolve(REMOTE, create=False) == "forge.example/t/one"
    assert [memory.project for memory in new.list(project="*")] == ["Läden"]


def test_fork_of_a_repository_stays_another_project(opened: Open) -> None:
    old, new = opened("old"), opened("new")
    fill(old, REMOTE)
    fork = ProjectIdentity(remotes=("forge.example/me/one",), root_commits=REMOTE.root_commits, folder=REMOTE.folder)
    new.projects.resolve(fork)
    read(new, exported(old))
    assert new.projects.names() == ["forge.example/me/one", "forge.example/t/one"]
    assert new.projects.resolve(fork, create=False) == "forge.example/me/one"


def test_two_projects_of_a_file_are_not_joined(opened: Open) -> None:
    old, new = opened("old"), opened("new")
    old.projects.rename(fill(old, REMOTE), "Läden")
    fill(old, LOCAL)
    new.projects.rename(fill(new, REMOTE), old.projects.resolve(LOCAL, create=False) or "")
    read(new, exported(old))
    assert {"Läden", old.projects.resolve(LOCAL, create=False)} == set(new.projects.names())
