"""Two clients in two repositories never see each other's memories, through any tool (I7, predecessor 29)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp.shared.exceptions import MCPDeprecationWarning

from opencode_memory import ProjectIdentity
from opencode_memory.exchange import export_memories
from opencode_memory.text.formatting import short_id
from support.mcp import MODERN, Agent, Resident, Roots, World
from support.mcp_scene import NEVER_WELL, PROJECT, Scene, set_up

BEES = "gitlab.com/group/bees"
ANY = ["active", "candidate", "superseded", "archived"]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with World(tmp_path) as world:
        yield world


@pytest.fixture
def scene(world: World) -> Scene:
    return set_up(world)


@pytest.fixture
def stranger(world: World, scene: Scene) -> Agent:
    """A client in another repository, which has a memory of its own."""
    agent = world.agent(world.repository("bees"))
    agent.remember("Bees sleep at night", "decision")
    return agent


def texts_of(world: World, project: str) -> list[str]:
    return [memory.content for memory in world.store.list(project=project, scope="project", status=ANY, limit=500)]


def rows_of(world: World, project: str) -> list[str]:
    ids = [memory.id for memory in world.store.list(project=project, scope="project", status=ANY, limit=500)]
    return [row for row in world.dump() if project in row or any(id in row for id in ids)]


def native(**arrays: list[dict[str, Any]]) -> str:
    """An export as the product writes it."""
    filled = {name: arrays.get(name, []) for name in ("projects", "memories", "links", "kv", "history")}
    counts = {name: len(rows) for name, rows in filled.items()}
    return json.dumps({"format": "opencode-memory", "version": 1, **filled, "counts": counts})


def test_no_tool_shows_or_changes_what_belongs_to_another_project(scene: Scene, stranger: Agent) -> None:
    before = rows_of(scene.world, PROJECT)
    secrets = [*texts_of(scene.world, PROJECT), "The first port was 8080", "the firewall", "half", PROJECT]
    assert len(secrets) > 8
    for name, arguments in {**scene.good_calls(), **NEVER_WELL}.items():
        reply = stranger.call(name, **arguments)
        said = reply.text + json.dumps(reply.data)
        if name not in ("link_memories", "edit_memory", "claim_item", "session_start"):
            assert not [secret for secret in secrets if secret in said], (name, said)
    assert rows_of(scene.world, PROJECT) == before


@pytest.mark.parametrize(
    "tool",
    [
        "get_memory",
        "get_linked_memories",
        "edit_memory",
        "archive_memory",
        "restore_memory",
        "delete_memory",
        "pin_memory",
        "resolve_blocker",
        "unresolve_blocker",
    ],
)
def test_a_memory_of_another_project_is_not_there(scene: Scene, stranger: Agent, tool: str) -> None:
    for id in (scene.fact, scene.archived, scene.deleted, scene.blocker):
        for part in (id, short_id(id), id[-12:]):
            more = {"content": "stolen"} if tool == "edit_memory" else {}
            assert stranger.refused(tool, memory_id=part, **more) == f'memory "{part}" was not found'


def test_what_is_not_there_and_what_is_not_yours_are_told_alike(scene: Scene, stranger: Agent) -> None:
    theirs = stranger.refused("get_memory", memory_id=scene.fact)
    assert theirs.replace(scene.fact, "?") == stranger.refused("get_memory", memory_id="0" * 36).replace("0" * 36, "?")


def test_many_ids_are_refused_for_one_of_another_project(scene: Scene, stranger: Agent) -> None:
    own = stranger.remember("Bees like clover")
    before = scene.world.dump()
    assert "not found" in stranger.refused("bulk_archive", reason="r", memory_ids=[own, scene.fact])
    assert "not found" in stranger.refused("undo", memory_ids=[own, scene.fact])
    assert "not found" in stranger.refused("undo", memory_ids=[own, scene.deleted])
    assert "not found" in stranger.refused("link_memories", source_id=own, target_id=scene.fact)
    assert "not found" in stranger.refused("link_memories", source_id=scene.fact, target_id=own)
    assert scene.world.dump() == before


def test_a_bulk_archive_and_a_consolidation_stay_in_their_project(scene: Scene, stranger: Agent) -> None:
    scene.world.pass_time(400 * 86_400)
    before = rows_of(scene.world, PROJECT)
    for category in ("fact", "idea", "blocker", "directive"):
        stranger.ok("bulk_archive", reason="r", category=category)
    stranger.ok("bulk_archive", reason="r", older_than_days=0)
    stranger.ok("consolidate_memory", days_stale=1, apply=True, limit=200)
    assert rows_of(scene.world, PROJECT) == before


def test_global_memories_are_left_alone_by_a_bulk_archive(scene: Scene, stranger: Agent) -> None:
    everywhere = stranger.remember("The user speaks Danish", "fact", scope="global")
    stranger.ok("bulk_archive", reason="r", category="fact")
    assert scene.world.store.get(everywhere).status == "active"


def test_global_memories_are_seen_from_every_project(scene: Scene, stranger: Agent) -> None:
    everywhere = stranger.remember("The user speaks Danish", "preference", scope="global")
    assert scene.agent.recalled("Danish") == ["The user speaks Danish"]
    assert scene.agent.ok("get_memory", memory_id=everywhere).data["memory"]["content"] == "The user speaks Danish"


def test_the_same_text_in_two_projects_is_two_memories(scene: Scene, stranger: Agent) -> None:
    one = scene.agent.remember("Never squash commits", "directive")
    two = stranger.remember("Never squash commits", "directive")
    assert one != two
    assert "Never squash" in stranger.ok("get_boot_context").text
    stranger.ok("delete_memory", memory_id=two)
    assert scene.agent.recalled("squash") == ["Never squash commits"]


def test_the_same_topic_in_two_projects_is_two_memories(scene: Scene, stranger: Agent) -> None:
    scene.agent.remember("The day is Monday", topic="deploy day")
    stranger.remember("The day is Friday", topic="deploy day")
    assert scene.agent.recalled("day") == ["The day is Monday"]


def test_values_under_one_key_are_kept_apart(scene: Scene, stranger: Agent) -> None:
    assert "no value" in stranger.refused("kv_get", key="state")
    assert stranger.ok("kv_list").data["entries"] == []
    assert stranger.ok("kv_delete", key="state").data["deleted"] is False
    stranger.ok("kv_set", key="state", value="of bees")
    assert scene.agent.ok("kv_get", key="state").data["value"] == ["half", "done"]


def test_sessions_and_claims_are_kept_apart(scene: Scene, stranger: Agent) -> None:
    assert stranger.ok("get_active_sessions").data["sessions"] == []
    assert "was not found" in stranger.refused("session_heartbeat", session_id="s1")
    assert "was not found" in stranger.refused("session_end", session_id="s1")
    stranger.ok("session_start", session_id="s1", working_on="bees")
    assert "yours" in stranger.ok("claim_item", session_id="s1", item_ref="!12").text
    stranger.ok("session_end", session_id="s1")
    sessions = {one["id"]: one for one in scene.agent.ok("get_active_sessions").data["sessions"]}
    assert {id: one["working_on"] for id, one in sessions.items()} == {"s1": "the port", "s2": "the firewall"}
    assert [claim["item"] for claim in sessions["s1"]["claims"]] == [f"{PROJECT}!12"]


def test_what_is_in_the_boot_context_is_the_projects_own(scene: Scene, stranger: Agent) -> None:
    text = stranger.ok("get_boot_context", max_tokens=4000).text
    assert "Bees sleep at night" in text
    assert not [told for told in texts_of(scene.world, PROJECT) if told in text]
    assert "s1" not in text


def test_an_entity_of_another_project_tells_nothing_of_it(scene: Scene, stranger: Agent) -> None:
    for reference in ("!12", f"{PROJECT}!12", f"https://{PROJECT}/-/merge_requests/12"):
        assert stranger.ok("get_context", entity_ref=reference).data["memories"] == []
        assert stranger.recalled("port", entity=reference) == []


def test_a_linked_memory_that_moved_to_another_project_is_not_shown(scene: Scene, stranger: Agent) -> None:
    scene.world.store.edit(scene.other, project=BEES)
    reply = scene.agent.ok("get_linked_memories", memory_id=scene.fact)
    assert reply.text == "No memory is linked to it."
    assert "not found" in scene.agent.refused("undo", memory_ids=[scene.other])


# The argument


WITH_PROJECT = [
    "recall",
    "search_history",
    "get_context",
    "get_boot_context",
    "export_memories",
    "consolidate_memory",
    "bulk_archive",
    "remember",
    "log_session",
]


@pytest.mark.parametrize("tool", WITH_PROJECT)
def test_the_argument_leads_out_of_no_project(scene: Scene, stranger: Agent, tool: str) -> None:
    arguments = {"category": "fact", "reason": "r"} if tool == "bulk_archive" else scene.good_calls()[tool]
    before = scene.world.dump()
    for asked in (PROJECT, "shop", "group/shop", "*", "no/such", "../shop", "/"):
        text = stranger.refused(tool, **{**arguments, "project": asked})
        assert text.startswith(f"project: this client works in {BEES!r}, and {asked!r} is another project")
        assert "leave project out" in text
    assert scene.world.dump() == before


@pytest.mark.parametrize("asked", [BEES, "bees", "group/bees", "."])
def test_the_argument_may_name_the_clients_own_project(stranger: Agent, asked: str) -> None:
    assert stranger.recalled("bees", project=asked) == ["Bees sleep at night"]


def test_a_name_that_is_only_the_end_of_a_word_is_another_project(stranger: Agent) -> None:
    assert "another project" in stranger.refused("recall", query="bees", project="ees")


def test_the_configuration_may_allow_other_projects(tmp_path: Path) -> None:
    with World(tmp_path, server__cross_project="true") as world:
        scene = set_up(world)
        stranger = world.agent(world.repository("bees"))
        stranger.remember("The port of the bees is the hive")
        assert stranger.recalled("port") == ["The port of the bees is the hive"]
        assert "The shop listens on port 5128, see !12" in stranger.recalled("port", project="shop")
        assert len(stranger.recalled("port", project="*")) > 3
        assert stranger.ok("get_memory", memory_id=scene.fact).data["memory"]["project"] == PROJECT
        assert "did you mean" in stranger.refused("recall", query="port", project="gitlab.com/group/shp")
        assert "name one project" in stranger.refused("remember", content="x", category="fact", project="*")
        world.agent(world.repository("other", remote="https://example.org/team/shop")).remember("x")
        assert "matches several projects" in stranger.refused("recall", query="port", project="shop")


# A client without any folder


def test_a_client_of_which_nothing_is_known_sees_global_memories(scene: Scene) -> None:
    scene.agent.remember("The port of the user", "fact", scope="global")
    nobody = scene.world.agent()
    assert nobody.recalled("port") == ["The port of the user"]
    assert nobody.ok("memory_status").data["project"] is None
    assert "The shop" not in nobody.ok("get_boot_context").text


def test_a_client_of_which_nothing_is_known_may_name_one_project(scene: Scene) -> None:
    nobody = scene.world.agent()
    assert "The shop listens on port 5128, see !12" in nobody.recalled("port", project="shop")
    assert "all projects" in nobody.refused("recall", query="port", project="*")
    assert "no project 'nope'" in nobody.refused("recall", query="port", project="nope")


def test_what_a_client_writes_of_which_nothing_is_known_is_global(scene: Scene) -> None:
    nobody = scene.world.agent()
    id = nobody.remember("The user sails")
    assert scene.world.store.get(id).project is None
    assert "needs the name of a project" in nobody.refused("remember", content="x", category="fact", scope="project")


def test_a_client_of_which_nothing_is_known_does_not_export_all_projects(scene: Scene) -> None:
    reply = scene.world.agent().call("export_memories")
    assert reply.is_error or "The shop" not in Path(reply.data["path"]).read_text()


def test_the_folder_of_a_resident_server_never_counts(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(scene.folder)
    with scene.world.served() as server:
        agent = server.agent()
        assert agent.ok("memory_status").data["project"] is None
        assert agent.recalled("port") == []


# How a client says where it is

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


def test_every_way_to_say_it_leads_to_the_same_project_and_to_no_other(world: World) -> None:
    walrus, bees = world.repository("walrus"), world.repository("bees")
    with world.served() as server:
        for number, (way, connect) in enumerate(WAYS.items()):
            here, there = connect(world, server, walrus), connect(world, server, bees)
            here.remember(f"The walrus number {number}")
            there.remember(f"The bee number {number}")
            for asked in ("walrus number", "bee number", "number"):
                seen = here.recalled(asked, limit=100), there.recalled(asked, limit=100)
                assert all("walrus" in text for text in seen[0]), way
                assert all("bee" in text for text in seen[1]), way
            assert len(here.recalled("number", limit=100)) == number + 1
            assert here.ok("memory_status").data["project"] == "gitlab.com/group/walrus"
    assert [project.name for project in world.store.projects.list()] == [BEES, "gitlab.com/group/walrus"]


def test_a_header_beats_roots(world: World) -> None:
    walrus, bees = world.repository("walrus"), world.repository("bees")
    roots = Roots(bees)
    with world.served() as server:
        agent = server.agent(walrus, roots=roots)
        assert agent.ok("memory_status").data["project"] == "gitlab.com/group/walrus"
    assert roots.asked == 0


def test_roots_beat_the_folder_of_a_server_for_one(world: World) -> None:
    walrus, bees = world.repository("walrus"), world.repository("bees")
    assert world.agent(walrus, roots=Roots(bees)).ok("memory_status").data["project"] == BEES
    assert world.agent(walrus, roots=Roots()).ok("memory_status").data["project"] == "gitlab.com/group/walrus"


def test_the_first_root_is_the_project_and_files_may_lie_in_any(world: World) -> None:
    walrus, bees = world.repository("walrus"), world.repository("bees")
    (bees / "notes.md").write_text("# Honey\n\nIt is sweet.\n")
    agent = world.agent(roots=Roots(walrus, bees))
    agent.ok("ingest_file", file_path=str(bees / "notes.md"))
    assert len(agent.recalled("honey")) == 1
    assert world.agent(bees).recalled("honey") == []


def test_a_subfolder_of_a_repository_is_the_repository(world: World) -> None:
    walrus = world.repository("walrus")
    (walrus / "src" / "deep").mkdir(parents=True)
    world.agent(walrus).remember("The walrus")
    assert world.agent(walrus / "src" / "deep").recalled("walrus") == ["The walrus"]


@pytest.mark.parametrize("remote", ["", None], ids=["with a remote", "without one"])
def test_worktrees_share_their_memories(world: World, remote: str | None) -> None:
    main = world.repository("walrus", remote=remote)
    side = world.worktree(main, "walrus-side")
    world.agent(main).remember("The walrus of the main tree")
    there = world.agent(side)
    assert there.recalled("walrus") == ["The walrus of the main tree"]
    there.remember("The walrus of the side")
    assert len(world.agent(main).recalled("walrus")) == 2
    assert len(world.store.projects.list()) == 1


def test_a_remote_that_is_added_later_keeps_the_project(world: World) -> None:
    walrus = world.repository("walrus", remote=None)
    agent = world.agent(walrus)
    agent.remember("The walrus")
    (walrus / ".git" / "config").write_text('[remote "origin"]\n\turl = git@gitlab.com:group/walrus.git\n')
    assert agent.recalled("walrus") == ["The walrus"]
    agent.remember("The second walrus")
    assert world.agent(walrus).recalled("second") == ["The second walrus"]
    assert len(world.store.projects.list()) == 1


def test_a_project_that_is_renamed_meanwhile_stays_the_clients(world: World) -> None:
    agent = world.agent(world.repository("walrus"))
    agent.remember("The walrus")
    world.store.projects.rename("gitlab.com/group/walrus", "animals")
    assert agent.recalled("walrus") == ["The walrus"]
    agent.remember("The second walrus")
    assert agent.ok("memory_status").data["project"] == "animals"
    assert len(world.store.projects.list()) == 1


def test_a_new_repository_sees_nothing_of_a_project_that_took_its_name(world: World) -> None:
    other = world.store.projects.resolve(ProjectIdentity(folder="/somewhere/else"))
    world.store.projects.rename(other, BEES)
    world.store.remember("The walrus of somebody", project=BEES)
    agent = world.agent(world.repository("bees"))
    assert agent.recalled("walrus") == []
    agent.remember("The bee")
    assert agent.recalled("walrus bee") == ["The bee"]


def test_what_was_written_under_the_name_of_a_repository_is_there_when_it_is_opened(world: World) -> None:
    world.store.remember("The bee", project=BEES)
    agent = world.agent(world.repository("bees"))
    assert agent.recalled("bee") == ["The bee"]
    agent.remember("The hive")
    assert [project.remotes for project in world.store.projects.list()] == [(BEES,)]


def test_a_change_of_roots_is_noticed(world: World) -> None:
    walrus, bees = world.repository("walrus"), world.repository("bees")
    with world.served() as server:
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


def test_the_newer_protocol_asks_for_roots_at_each_call(world: World) -> None:
    roots = Roots(world.repository("walrus"))
    agent = world.agent(roots=roots, mode=MODERN)
    agent.ok("memory_status")
    roots.folders = (world.repository("bees"),)
    assert agent.ok("memory_status").data["project"] == BEES
    assert roots.asked == 2


def test_a_client_whose_roots_are_no_folders_is_one_of_which_nothing_is_known(world: World) -> None:
    class Strange(Roots):
        async def __call__(self, _: Any) -> types.ListRootsResult:
            root = types.Root.model_construct(uri="https://example.org/walrus", name=None)
            elsewhere = types.Root.model_construct(uri="file://elsewhere/walrus", name=None)
            return types.ListRootsResult.model_construct(roots=[root, elsewhere])

    agent = world.agent(roots=Strange())
    assert agent.ok("memory_status").data["project"] is None


def test_a_client_that_will_not_name_its_roots_is_one_of_which_nothing_is_known(world: World) -> None:
    class Silent(Roots):
        async def __call__(self, _: Any) -> Any:
            return types.ErrorData(code=1, message="not now")

    agent = world.agent(roots=Silent())
    assert agent.ok("memory_status").data["project"] is None


@pytest.mark.parametrize("value", ["walrus", "./walrus", "~", "file:///walrus", "C:\\walrus"])
def test_a_header_that_is_no_absolute_path_is_refused(world: World, value: str) -> None:
    with world.served() as server:
        text = server.agent(headers={"x-opencode-directory": value}).refused("memory_status")
    assert text.startswith("x-opencode-directory: ")
    assert "is not an absolute path" in text


def test_a_header_may_be_percent_encoded_or_utf_8(world: World) -> None:
    folder = world.repository("håndbog")
    with world.served() as server:
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
def test_a_header_with_a_strange_path_is_refused_or_taken(world: World, value: str) -> None:
    with world.served() as server:
        reply = server.agent(headers={"x-opencode-directory": value.encode()}).call("memory_status")
    assert "internal error" not in reply.text


# Files


@pytest.mark.parametrize("suffix", ["json", "md"])
def test_a_folder_of_exports_hands_nothing_to_another_project(scene: Scene, stranger: Agent, suffix: str) -> None:
    exports = scene.world.state.exports
    written = Path(scene.agent.ok("export_memories").data["path"])
    mine = written.with_name(f"mine.{suffix}")
    scene.agent.ok("export_memories", output_path=str(mine))
    for folder in (exports, written.parent):
        stranger.refused("ingest_file", file_path=str(folder))
        stranger.refused("bootstrap_memory", path=str(folder))
    for file in (written, mine):
        assert "outside the allowed folders" in stranger.refused("import_memories", input_path=str(file))
    assert stranger.recalled("shop port firewall", limit=50) == []


def test_an_export_of_another_project_is_no_note(scene: Scene, stranger: Agent) -> None:
    written = scene.agent.ok("export_memories").data["path"]
    stranger.call("ingest_file", file_path=written)
    assert stranger.recalled("shop port firewall", limit=50) == []


def test_an_export_of_another_project_is_not_replaced(scene: Scene, stranger: Agent) -> None:
    written = Path(scene.agent.ok("export_memories").data["path"])
    before = written.read_text()
    stranger.call("export_memories", output_path=str(written))
    assert written.read_text() == before


def test_an_export_holds_the_clients_project_and_global_memories_only(scene: Scene, stranger: Agent) -> None:
    stranger.remember("The user sails", scope="global")
    stranger.ok("kv_set", key="own", value="of bees")
    for name in ("all.json", "all.md"):
        written = Path(stranger.ok("export_memories", output_path=name).data["path"]).read_text()
        assert "Bees sleep at night" in written
        assert "The user sails" in written
        assert "shop" not in written
        assert "half" not in written


def memory_row(id: str, **more: Any) -> dict[str, Any]:
    at = 1_790_000_000_001
    row = {"id": id, "content": "stolen", "category": "fact", "project": BEES, "status": "active", "trust": "agent"}
    return row | {"created_at": at, "updated_at": at, "time": at} | more


NEW = "01a20285-dbd3-7203-8942-f901b46c2177"


@pytest.mark.parametrize(
    "rows",
    [
        {"projects": [{"name": PROJECT, "remotes": [], "root_commits": [], "folders": [], "created_at": 1}]},
        {"memories": [memory_row(NEW, project=PROJECT)]},
        {"memories": [memory_row("FACT")]},
        {"memories": [memory_row("ARCHIVED")]},
        {"memories": [memory_row(NEW), memory_row("FACT", project=None)]},
        {
            "kv": [
                {
                    "project": PROJECT,
                    "key": "state",
                    "value": 1,
                    "created_at": 1,
                    "updated_at": 1 << 60,
                    "expires_at": None,
                }
            ]
        },
        {
            "links": [
                {
                    "source": "FACT",
                    "target": "OTHER",
                    "kind": "similar",
                    "weight": 1.0,
                    "reason": "",
                    "created_at": 1,
                }
            ]
        },
        {
            "links": [
                {
                    "source": "FACT",
                    "target": "OWN",
                    "kind": "contradicts",
                    "weight": 1.0,
                    "reason": "",
                    "created_at": 1,
                }
            ]
        },
        {
            "history": [
                {
                    "operation": 1,
                    "memory": "FACT",
                    "at": 1,
                    "kind": "edit",
                    "actor": "user",
                    "undone_by": None,
                    "before": None,
                }
            ]
        },
    ],
    ids=[
        "project",
        "project of a memory",
        "memory",
        "archived memory",
        "memory made global",
        "value",
        "link",
        "link to own",
        "history",
    ],
)
def test_an_import_writes_nothing_into_another_project(
    scene: Scene, stranger: Agent, rows: dict[str, list[dict[str, Any]]]
) -> None:
    own = stranger.remember("Bees like clover")
    ids = {"FACT": scene.fact, "OTHER": scene.other, "ARCHIVED": scene.archived, "OWN": own}
    text = native(**rows)
    for name, id in ids.items():
        text = text.replace(f'"{name}"', f'"{id}"')
    (scene.world.folder / "bees" / "evil.json").write_text(text)
    before = rows_of(scene.world, PROJECT)
    stranger.call("import_memories", input_path="evil.json")
    assert rows_of(scene.world, PROJECT) == before


def test_an_import_takes_over_no_deleted_memory_of_another_project(scene: Scene, stranger: Agent) -> None:
    (scene.world.folder / "bees" / "evil.json").write_text(native(memories=[memory_row(scene.deleted)]))
    stranger.call("import_memories", input_path="evil.json")
    stranger.refused("get_memory", memory_id=scene.deleted)
    scene.agent.ok("undo", memory_ids=[scene.deleted])
    assert scene.world.store.get(scene.deleted).content == "The first port was 8080"


@pytest.mark.parametrize("mark", ["folders", "remotes"])
def test_an_import_leads_no_other_repository_into_the_clients_project(world: World, mark: str) -> None:
    walrus = world.repository("walrus", remote=None)
    victim = world.agent(walrus)
    victim.remember("The walrus is secret")
    bees = world.repository("bees")
    stranger = world.agent(bees)
    stranger.remember("The bee is secret")
    marks: dict[str, list[str]] = {"remotes": [], "root_commits": [], "folders": []}
    marks[mark] = [str(walrus)] if mark == "folders" else ["gitlab.com/group/future"]
    (bees / "evil.json").write_text(native(projects=[{"name": BEES, "created_at": 1, **marks}]))
    stranger.call("import_memories", input_path="evil.json")
    assert victim.recalled("secret") == ["The walrus is secret"]
    assert world.agent(world.repository("future")).recalled("secret") == []


def test_an_export_of_another_project_is_not_imported(scene: Scene, stranger: Agent) -> None:
    whole = scene.world.folder / "bees" / "whole.json"
    for name in (whole, whole.with_suffix(".md")):
        export_memories(scene.world.store, name, format="json" if name.suffix == ".json" else "markdown")
        before = scene.world.dump()
        text = stranger.refused("import_memories", input_path=name.name)
        assert "outside of" in text
        assert "into its own project only" in text
        assert scene.world.dump() == before


def test_an_ingest_into_a_project_leaves_global_memories_alone(tmp_path: Path) -> None:
    with World(tmp_path, server__allowed_folders=str(tmp_path)) as world:
        walrus, bees = world.repository("walrus"), world.repository("bees")
        (walrus / "README.md").write_text("# Walrus\n\nText of the walrus.\n")
        (bees / "README.md").write_text("# Bees\n\nText of the bees.\n")
        world.agent().ok("ingest_file", file_path=str(walrus / "README.md"))
        before = [row for row in world.dump() if "walrus" in row]
        world.agent(bees).ok("ingest_file", file_path="README.md")
        assert [row for row in world.dump() if "walrus" in row] == before


def test_two_repositories_ingested_without_a_project_do_not_replace_each_other(tmp_path: Path) -> None:
    with World(tmp_path, server__allowed_folders=str(tmp_path)) as world:
        nobody = world.agent()
        for name in ("walrus", "bees"):
            (world.repository(name) / "README.md").write_text(f"# About {name}\n\nText of the {name}.\n")
            nobody.ok("ingest_file", file_path=str(tmp_path / name / "README.md"))
        assert len(nobody.recalled("text")) == 2


def test_two_clients_of_one_server_are_told_apart_by_their_headers_alone(world: World) -> None:
    walrus, bees = world.repository("walrus"), world.repository("bees")
    with world.served() as server:
        one, two = server.agent(walrus), server.agent(bees)
        for number in range(5):
            one.remember(f"The walrus {number}")
            two.remember(f"The bee {number}")
        assert len(one.recalled("walrus bee", limit=20)) == 5
        assert len(two.recalled("walrus bee", limit=20)) == 5
