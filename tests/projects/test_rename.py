"""Renaming a project while a worker and a plugin connection run: both go on under the new name."""

from __future__ import annotations

from pathlib import Path

from opencode_memory.config.load import load
from opencode_memory.projects.resolver import ProjectResolver
from opencode_memory.worker.learning_duties import MEMORY_FILE, LearningDuties
from opencode_memory.worker.run import run_worker
from support.bridge import PROJECT, Plugin, began, idle, said
from support.mcp import World
from support.memory_files import git
from support.opencode import FakeOpenCode
from support.stores import NOW_MS, open_store

NEW_NAME = "walrus-renamed"
FIRST = "We decided to use PostgreSQL for the ledger."
SECOND = "We decided to use Valkey for the session cache."


def until_idle(seconds: float) -> bool:
    return seconds == 0


def names(world: World) -> list[str]:
    return [project.name for project in world.store.projects.list()]


def test_plugin_connection_follows_a_rename(tmp_path: Path) -> None:
    with World(tmp_path) as world, world.serve() as server, Plugin(server.url, world.repository("walrus")) as plugin:
        for session, text in (("ses_1", FIRST), ("ses_2", SECOND)):
            spoken = said("msg_1", text, created=NOW_MS, session=session)
            plugin.happens(began(plugin.folder, session), *spoken, idle(session))
            plugin.ask("compacting", sessionID=session)
            if session == "ses_1":
                assert names(world) == [PROJECT]
                world.store.projects.rename(PROJECT, NEW_NAME)

        assert names(world) == [NEW_NAME]
        assert {memory.content for memory in world.store.list(project=NEW_NAME)} >= {FIRST, SECOND}


def test_worker_follows_a_rename(tmp_path: Path) -> None:
    with FakeOpenCode(tmp_path / "opencode.db") as opencode, open_store(tmp_path / "store") as store:
        environment = {"HOME": str(tmp_path), "OPENCODE_MEMORY_LEARNING_OPENCODE_DB": str(opencode.path)}
        learning = LearningDuties(store, load(environment=environment))

        def read(session: str, text: str) -> None:
            opencode.session(session)
            opencode.user(session, f"msg_{session}_1", text, at=1_000)
            opencode.agent(session, f"msg_{session}_2", "Done.", at=1_001)
            # New duties look at the database at once; the projects that are known stay.
            duties = [duty for duty in learning.duties() if duty.kind == "opencode"]
            run_worker(store, duties, wait=until_idle, lower_priority=False)

        read("ses_1", FIRST)
        [project] = store.projects.list()
        store.projects.rename(project.name, NEW_NAME)
        read("ses_2", SECOND)

        assert [project.name for project in store.projects.list()] == [NEW_NAME]
        assert {memory.content for memory in store.list(project=NEW_NAME)} >= {FIRST, SECOND}


def test_memory_file_of_a_renamed_project_is_written_from_the_new_name(tmp_path: Path) -> None:
    tree = tmp_path / "shop"
    tree.mkdir()
    git(tree, "init", "--quiet")
    environment = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "OPENCODE_MEMORY_MEMORY_FILE": "auto"}
    with open_store(tmp_path / "store") as store:
        duties = [
            duty for duty in LearningDuties(store, load(environment=environment)).duties() if duty.kind == MEMORY_FILE
        ]
        old = ProjectResolver(store, environment).ensure(tree)
        store.remember(FIRST, category="decision", project=old)
        store.jobs.enqueue(MEMORY_FILE, str(tree), payload={"project": old})
        store.projects.rename(old, NEW_NAME)
        run_worker(store, duties, wait=until_idle, lower_priority=False)

        assert FIRST in (tree / ".opencode" / "MEMORY.md").read_text()
        assert [project.name for project in store.projects.list()] == [NEW_NAME]


def test_resolver_keeps_the_identity_of_a_removed_folder(tmp_path: Path) -> None:
    tree = tmp_path / "shop"
    tree.mkdir()
    git(tree, "init", "--quiet")
    folder = tree / "src"
    folder.mkdir()
    with open_store(tmp_path / "store") as store:
        resolver = ProjectResolver(store, {"PATH": "/usr/bin:/bin"})
        name = resolver.ensure(folder)
        folder.rmdir()
        fresh = ProjectResolver(store, {})

        assert resolver.ensure(folder) == name
        assert fresh.find(folder) is None
