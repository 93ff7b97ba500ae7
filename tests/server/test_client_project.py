"""The project of a client: by header, by MCP roots, or by the folder of a server for one client (I7)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp.shared.exceptions import MCPDeprecationWarning

from opencode_memory import ProjectIdentity
from support.mcp import MODERN, Agent, Resident, Roots, World
from support.mcp_scene import Scene

BEES = "gitlab.com/group/bees"

WAYS: dict[str, Callable[[World, Resident, Path], Agent]] = {
    "stdio": lambda world, _, folder: world.agent(folder),
    "stdio, newer protocol": lambda world, _, folder: world.agent(folder, mode=MODERN),
    "roots": lambda world, _, folder: world.agent(roots=Roots(folder)),
    "roots, newer protocol": lambda world, _, folder: world.agent(roots=Roots(folder), mode=MODERN),
    "header": lambda _, server, folder: server.agent(folder),
    "header, newer protocol": lambda _, server, folder: server.agent(folder, mode=MODERN),
    "roots over HTTP": lambda _, server, folder: server.agent(roots=Roots(folder)),
    "roots over HTTP, newer protocol": lambda _, server, folder: server.agent(roots=Roots(folder), mode=MODERN),
}


def test_every_source_of_the_folder_gives_the_same_project(world: World) -> None:
    walrus, bees = world.repository("walrus"), world.repository("bees")
    with world.serve() as server:
        for number, (way, connect) in enumerate(WAYS.items()):
            here, there = connect(world, server, walrus), connect(world, server, bees)
            here.remember(f"The walrus number {number}")
            there.remember(f"The bee number {number}")
            for query in ("walrus number", "bee number", "number"):
                seen = here.recall(query, limit=100), there.recall(query, limit=100)
                assert all("walrus" in text for text in seen[0]), way
                assert all("bee" in text for text in seen[1]), way
            assert len(here.recall("number", limit=100)) == number + 1
            assert here.ok("memory_status").data["project"] == "gitlab.com/group/walrus"
    assert [project.name for project in world.store.projects.list()] == [BEES, "gitlab.com/group/walrus"]


def test_header_takes_precedence_over_roots(world: World) -> None:
    walrus, bees = world.repository("walrus"), world.repository("bees")
    roots = Roots(bees)
    with world.serve() as server:
        agent = server.agent(walrus, roots=roots)
        assert agent.ok("memory_status").data["project"] == "gitlab.com/group/walrus"
    assert roots.asked == 0


def test_roots_take_precedence_over_the_servers_folder(world: World) -> None:
    walrus, bees = world.repository("walrus"), world.repository("bees")
    assert world.agent(walrus, roots=Roots(bees)).ok("memory_status").data["project"] == BEES
    assert world.agent(walrus, roots=Roots()).ok("memory_status").data["project"] == "gitlab.com/group/walrus"


def test_first_root_is_the_project_and_files_may_be_in_any_root(world: World) -> None:
    walrus, bees = world.repository("walrus"), world.repository("bees")
    (bees / "notes.md").write_text("# Honey\n\nIt is sweet.\n")
    agent = world.agent(roots=Roots(walrus, bees))
    agent.ok("ingest_file", file_path=str(bees / "notes.md"))
    assert len(agent.recall("honey")) == 1
    assert world.agent(bees).recall("honey") == []


def test_subfolder_of_a_repository_is_the_same_project(world: World) -> None:
    walrus = world.repository("walrus")
    (walrus / "src" / "deep").mkdir(parents=True)
    world.agent(walrus).remember("The walrus")
    assert world.agent(walrus / "src" / "deep").recall("walrus") == ["The walrus"]


@pytest.mark.parametrize("remote", ["", None], ids=["with a remote", "without one"])
def test_worktrees_share_their_memories(world: World, remote: str | None) -> None:
    main = world.repository("walrus", remote=remote)
    side = world.worktree(main, "walrus-side")
    world.agent(main).remember("The walrus of the main tree")
    there = world.agent(side)
    assert there.recall("walrus") == ["The walrus of the main tree"]
    there.remember("The walrus of the side")
    assert len(world.agent(main).recall("walrus")) == 2
    assert len(world.store.projects.list()) == 1


def test_remote_added_later_keeps_the_project(world: World) -> None:
    walrus = world.repository("walrus", remote=None)
    agent = world.agent(walrus)
    agent.remember("The walrus")
    (walrus / ".git" / "config").write_text('[remote "origin"]\n\turl = git@gitlab.com:group/walrus.git\n')
    assert agent.recall("walrus") == ["The walrus"]
    agent.remember("The second walrus")
    assert world.agent(walrus).recall("second") == ["The second walrus"]
    assert len(world.store.projects.list()) == 1


def test_renamed_project_stays_the_clients_project(world: World) -> None:
    agent = world.agent(world.repository("walrus"))
    agent.remember("The walrus")
    world.store.projects.rename("gitlab.com/group/walrus", "animals")
    assert agent.recall("walrus") == ["The walrus"]
    agent.remember("The second walrus")
    assert agent.ok("memory_status").data["project"] == "animals"
    assert len(world.store.projects.list()) == 1


def test_new_repository_sees_no_memory_of_a_project_with_its_name(world: World) -> None:
    other = world.store.projects.resolve(ProjectIdentity(folder="/somewhere/else"))
    world.store.projects.rename(other, BEES)
    world.store.remember("The walrus of somebody", project=BEES)
    agent = world.agent(world.repository("bees"))
    assert agent.recall("walrus") == []
    agent.remember("The bee")
    assert agent.recall("walrus bee") == ["The bee"]


def test_memories_written_under_a_repositorys_name_belong_to_it(world: World) -> None:
    world.store.remember("The bee", project=BEES)
    agent = world.agent(world.repository("bees"))
    assert agent.recall("bee") == ["The bee"]
    agent.remember("The hive")
    assert [project.remotes for project in world.store.projects.list()] == [(BEES,)]


def test_changed_roots_are_requested_again(world: World) -> None:
    walrus, bees = world.repository("walrus"), world.repository("bees")
    with world.serve() as server:
        for connect in (world.agent, server.agent):
            roots = Roots(walrus)
            agent = connect(roots=roots)
            assert agent.ok("memory_status").data["project"] == "gitlab.com/group/walrus"
            agent.ok("memory_status")
            assert roots.asked == 1
            roots.folders = (bees,)
            with pytest.warns(MCPDeprecationWarning):
                agent.run(agent.client.session.send_roots_list_changed)
            assert agent.ok("memory_status").data["project"] == BEES


def test_newer_protocol_requests_roots_at_each_call(world: World) -> None:
    roots = Roots(world.repository("walrus"))
    agent = world.agent(roots=roots, mode=MODERN)
    agent.ok("memory_status")
    roots.folders = (world.repository("bees"),)
    assert agent.ok("memory_status").data["project"] == BEES
    assert roots.asked == 2


def test_client_whose_roots_are_not_folders_has_no_project(world: World) -> None:
    class Strange(Roots):
        async def __call__(self, _: Any) -> types.ListRootsResult:
            root = types.Root.model_construct(uri="https://example.org/walrus", name=None)
            elsewhere = types.Root.model_construct(uri="file://elsewhere/walrus", name=None)
            return types.ListRootsResult.model_construct(roots=[root, elsewhere])

    agent = world.agent(roots=Strange())
    assert agent.ok("memory_status").data["project"] is None


def test_client_that_does_not_list_its_roots_has_no_project(world: World) -> None:
    class Silent(Roots):
        async def __call__(self, _: Any) -> Any:
            return types.ErrorData(code=1, message="not now")

    agent = world.agent(roots=Silent())
    assert agent.ok("memory_status").data["project"] is None


@pytest.mark.parametrize("value", ["walrus", "./walrus", "~", "file:///walrus", "C:\\walrus"])
def test_relative_path_in_the_header_is_refused(world: World, value: str) -> None:
    with world.serve() as server:
        text = server.agent(headers={"x-opencode-directory": value}).refused("memory_status")
    assert text.startswith("x-opencode-directory: ")
    assert "is not an absolute path" in text


def test_header_may_be_percent_encoded_or_utf_8(world: World) -> None:
    folder = world.repository("håndbog")
    with world.serve() as server:
        for value in (str(folder).encode(), str(folder).replace("å", "%C3%A5").encode()):
            agent = server.agent(headers={"x-opencode-directory": value})
            assert agent.ok("memory_status").data["project"] == "gitlab.com/group/håndbog"


@pytest.mark.parametrize(
    "value",
    [
        "/" + "a" * 5000,
        "/" + "a" * 5000 + "%41",
        "/no/such/folder",
        "/\N{BEETLE}",
    ],
)
def test_unusual_path_in_the_header_is_no_internal_error(world: World, value: str) -> None:
    with world.serve() as server:
        reply = server.agent(headers={"x-opencode-directory": value.encode()}).call("memory_status")
    assert "internal error" not in reply.text


def test_folder_of_a_resident_server_is_ignored(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(scene.folder)
    with scene.world.serve() as server:
        agent = server.agent()
        assert agent.ok("memory_status").data["project"] is None
        assert agent.recall("port") == []


def test_clients_of_one_server_are_separated_by_their_headers(world: World) -> None:
    walrus, bees = world.repository("walrus"), world.repository("bees")
    with world.serve() as server:
        one, two = server.agent(walrus), server.agent(bees)
        for number in range(5):
            one.remember(f"The walrus {number}")
            two.remember(f"The bee {number}")
        assert len(one.recall("walrus bee", limit=20)) == 5
        assert len(two.recall("walrus bee", limit=20)) == 5
