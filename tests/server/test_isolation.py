"""Isolation of projects: no tool shows or changes memories of another project (I7, predecessor 29)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from opencode_memory.text.formatting import short_id
from support.mcp import Agent, World
from support.mcp_scene import ALWAYS_FAILING, PROJECT, Scene, set_up

BEES = "gitlab.com/group/bees"
ANY = ["active", "candidate", "superseded", "archived"]


def texts_of(world: World, project: str) -> list[str]:
    return [memory.content for memory in world.store.list(project=project, scope="project", status=ANY, limit=500)]


def rows_of(world: World, project: str) -> list[str]:
    ids = [memory.id for memory in world.store.list(project=project, scope="project", status=ANY, limit=500)]
    return [row for row in world.dump() if project in row or any(id in row for id in ids)]


def check_that_no_tool_shows_or_changes_the_project(scene: Scene, client: Agent) -> None:
    before = rows_of(scene.world, PROJECT)
    secrets = [*texts_of(scene.world, PROJECT), "The first port was 8080", "the firewall", "half", PROJECT]
    assert len(secrets) > 8
    for name, arguments in {**scene.valid_calls(), **ALWAYS_FAILING}.items():
        reply = client.call(name, **arguments)
        result = reply.text + json.dumps(reply.data)
        if name not in ("link_memories", "edit_memory", "claim_item", "session_start"):
            assert not [secret for secret in secrets if secret in result], (name, result)
    assert rows_of(scene.world, PROJECT) == before


def test_no_tool_shows_or_changes_another_project(scene: Scene, other_agent: Agent) -> None:
    check_that_no_tool_shows_or_changes_the_project(scene, other_agent)


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
def test_memory_of_another_project_is_not_found(scene: Scene, other_agent: Agent, tool: str) -> None:
    for id in (scene.fact, scene.archived, scene.deleted, scene.blocker):
        for part in (id, short_id(id), id[-12:]):
            more = {"content": "stolen"} if tool == "edit_memory" else {}
            assert other_agent.refused(tool, memory_id=part, **more) == f'memory "{part}" was not found'


def test_missing_and_foreign_memories_give_the_same_error(scene: Scene, other_agent: Agent) -> None:
    theirs = other_agent.refused("get_memory", memory_id=scene.fact)
    assert theirs.replace(scene.fact, "?") == other_agent.refused("get_memory", memory_id="0" * 36).replace(
        "0" * 36, "?"
    )


def test_one_foreign_id_refuses_the_whole_call(scene: Scene, other_agent: Agent) -> None:
    own = other_agent.remember("Bees like clover")
    before = scene.world.dump()
    assert "not found" in other_agent.refused("bulk_archive", reason="r", memory_ids=[own, scene.fact])
    assert "not found" in other_agent.refused("undo", memory_ids=[own, scene.fact])
    assert "not found" in other_agent.refused("undo", memory_ids=[own, scene.deleted])
    assert "not found" in other_agent.refused("link_memories", source_id=own, target_id=scene.fact)
    assert "not found" in other_agent.refused("link_memories", source_id=scene.fact, target_id=own)
    assert scene.world.dump() == before


def test_bulk_archive_and_consolidation_stay_in_the_project(scene: Scene, other_agent: Agent) -> None:
    scene.world.pass_time(400 * 86_400)
    before = rows_of(scene.world, PROJECT)
    for category in ("fact", "idea", "blocker", "directive"):
        other_agent.ok("bulk_archive", reason="r", category=category)
    other_agent.ok("bulk_archive", reason="r", older_than_days=0)
    other_agent.ok("consolidate_memory", days_stale=1, apply=True, limit=200)
    assert rows_of(scene.world, PROJECT) == before


def test_bulk_archive_skips_global_memories(scene: Scene, other_agent: Agent) -> None:
    everywhere = other_agent.remember("The user speaks Danish", "fact", scope="global")
    other_agent.ok("bulk_archive", reason="r", category="fact")
    assert scene.world.store.get(everywhere).status == "active"


@pytest.mark.parametrize("criterion", [{"category": "preference"}, {"older_than_days": 0}])
def test_bulk_archive_without_a_project_archives_global_memories_by_id_only(
    scene: Scene, criterion: dict[str, Any]
) -> None:
    nowhere = scene.world.agent()
    everywhere = nowhere.remember("The user speaks Danish", "preference", scope="global")
    assert "only archived by id" in nowhere.refused("bulk_archive", reason="r", **criterion)
    assert scene.world.store.get(everywhere).status == "active"
    nowhere.ok("bulk_archive", reason="r", memory_ids=[everywhere])
    assert scene.world.store.get(everywhere).status == "archived"


def test_global_memories_are_visible_in_every_project(scene: Scene, other_agent: Agent) -> None:
    everywhere = other_agent.remember("The user speaks Danish", "preference", scope="global")
    assert scene.agent.recall("Danish") == ["The user speaks Danish"]
    assert scene.agent.ok("get_memory", memory_id=everywhere).data["memory"]["content"] == "The user speaks Danish"


def test_same_text_in_two_projects_is_two_memories(scene: Scene, other_agent: Agent) -> None:
    one = scene.agent.remember("Never squash commits", "convention")
    two = other_agent.remember("Never squash commits", "convention")
    assert one != two
    assert "Never squash" in other_agent.ok("get_boot_context").text
    other_agent.ok("delete_memory", memory_id=two)
    assert scene.agent.recall("squash") == ["Never squash commits"]


def test_same_topic_in_two_projects_is_two_memories(scene: Scene, other_agent: Agent) -> None:
    scene.agent.remember("The day is Monday", topic="deploy day")
    other_agent.remember("The day is Friday", topic="deploy day")
    assert scene.agent.recall("day") == ["The day is Monday"]


def test_kv_values_are_separate_per_project(scene: Scene, other_agent: Agent) -> None:
    assert "no value" in other_agent.refused("kv_get", key="state")
    assert other_agent.ok("kv_list").data["entries"] == []
    assert other_agent.ok("kv_delete", key="state").data["deleted"] is False
    other_agent.ok("kv_set", key="state", value="of bees")
    assert scene.agent.ok("kv_get", key="state").data["value"] == ["half", "done"]


def test_sessions_and_claims_are_separate_per_project(scene: Scene, other_agent: Agent) -> None:
    assert other_agent.ok("get_active_sessions").data["sessions"] == []
    assert "was not found" in other_agent.refused("session_heartbeat", session_id="s1")
    assert "was not found" in other_agent.refused("session_end", session_id="s1")
    other_agent.ok("session_start", session_id="s1", working_on="bees")
    assert "yours" in other_agent.ok("claim_item", session_id="s1", item_ref="!12").text
    other_agent.ok("session_end", session_id="s1")
    sessions = {one["id"]: one for one in scene.agent.ok("get_active_sessions").data["sessions"]}
    assert {id: one["working_on"] for id, one in sessions.items()} == {"s1": "the port", "s2": "the firewall"}
    assert [claim["item"] for claim in sessions["s1"]["claims"]] == [f"{PROJECT}!12"]


def test_boot_context_holds_memories_of_the_own_project_only(scene: Scene, other_agent: Agent) -> None:
    text = other_agent.ok("get_boot_context", max_tokens=4000).text
    assert "Bees sleep at night" in text
    assert not [told for told in texts_of(scene.world, PROJECT) if told in text]
    assert "s1" not in text


def test_entity_of_another_project_reveals_no_memory(scene: Scene, other_agent: Agent) -> None:
    for reference in ("!12", f"{PROJECT}!12", f"https://{PROJECT}/-/merge_requests/12"):
        assert other_agent.ok("get_context", entity_ref=reference).data["memories"] == []
        assert other_agent.recall("port", entity=reference) == []


def test_linked_memory_moved_to_another_project_is_not_shown(scene: Scene, other_agent: Agent) -> None:
    scene.world.store.edit(scene.other, project=BEES)
    reply = scene.agent.ok("get_linked_memories", memory_id=scene.fact)
    assert reply.text == "No memory is linked to it."
    assert "not found" in scene.agent.refused("undo", memory_ids=[scene.other])


# The argument `project`


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
def test_project_argument_cannot_leave_the_project(scene: Scene, other_agent: Agent, tool: str) -> None:
    arguments = {"category": "fact", "reason": "r"} if tool == "bulk_archive" else scene.valid_calls()[tool]
    before = scene.world.dump()
    for requested in (PROJECT, "shop", "group/shop", "*", "no/such", "../shop", "/"):
        text = other_agent.refused(tool, **{**arguments, "project": requested})
        assert text.startswith(f"project: this client works in {BEES!r}, and {requested!r} is another project")
        assert "leave project out" in text
    assert scene.world.dump() == before


@pytest.mark.parametrize("requested", [BEES, "bees", "group/bees", "."])
def test_project_argument_may_name_the_own_project(other_agent: Agent, requested: str) -> None:
    assert other_agent.recall("bees", project=requested) == ["Bees sleep at night"]


def test_partial_last_name_is_another_project(other_agent: Agent) -> None:
    assert "another project" in other_agent.refused("recall", query="bees", project="ees")


def test_cross_project_allows_other_projects(tmp_path: Path) -> None:
    with World(tmp_path, server__cross_project="true") as world:
        scene = set_up(world)
        other_agent = world.agent(world.repository("bees"))
        other_agent.remember("The port of the bees is the hive")
        assert other_agent.recall("port") == ["The port of the bees is the hive"]
        assert "The shop listens on port 5128, see !12" in other_agent.recall("port", project="shop")
        assert len(other_agent.recall("port", project="*")) > 3
        assert other_agent.ok("get_memory", memory_id=scene.fact).data["memory"]["project"] == PROJECT
        assert "did you mean" in other_agent.refused("recall", query="port", project="gitlab.com/group/shp")
        assert "name one project" in other_agent.refused("remember", content="x", category="fact", project="*")
        world.agent(world.repository("other", remote="https://example.org/team/shop")).remember("x")
        assert "matches several projects" in other_agent.refused("recall", query="port", project="shop")


# Clients without a folder


def test_client_without_a_folder_sees_global_memories(scene: Scene) -> None:
    scene.agent.remember("The port of the user", "fact", scope="global")
    client = scene.world.agent()
    assert client.recall("port") == ["The port of the user"]
    assert client.ok("memory_status").data["project"] is None
    assert "The shop" not in client.ok("get_boot_context").text


def test_client_without_a_folder_sees_and_changes_no_project_by_id(scene: Scene) -> None:
    client = scene.world.agent()
    own = client.remember("The user sails")
    before = rows_of(scene.world, PROJECT)
    check_that_no_tool_shows_or_changes_the_project(scene, client)
    for tool, arguments in (
        ("get_memory", {"memory_id": scene.fact}),
        ("get_memory", {"memory_id": short_id(scene.fact)}),
        ("edit_memory", {"memory_id": scene.fact, "content": "stolen"}),
        ("archive_memory", {"memory_id": scene.fact, "reason": "r"}),
        ("delete_memory", {"memory_id": scene.fact}),
        ("get_linked_memories", {"memory_id": scene.fact}),
        ("bulk_archive", {"memory_ids": [own, scene.fact], "reason": "r"}),
        ("link_memories", {"source_id": own, "target_id": scene.fact}),
        ("undo", {"memory_ids": [scene.deleted]}),
        ("get_memory", {"memory_id": "0" * 36}),
    ):
        assert "was not found. Next: the server does not know the folder" in client.refused(tool, **arguments), tool
    assert rows_of(scene.world, PROJECT) == before
    assert client.ok("get_memory", memory_id=own).data["memory"]["content"] == "The user sails"


@pytest.mark.parametrize("tool", ["get_memory", "undo"])
def test_project_that_was_named_in_another_call_opens_no_ids(scene: Scene, tool: str) -> None:
    client = scene.world.agent()
    assert client.recall("shop", project=PROJECT)
    answers = {
        client.refused(tool, **({"memory_ids": [id]} if tool == "undo" else {"memory_id": id})).replace(id, "ID")
        for id in (scene.fact, scene.deleted, "0" * 36)
    }
    # Nothing tells a memory of the project from one that does not exist, and the user is told what to change.
    [answer] = answers
    for part in ("also after a call that named a project", "x-opencode-directory", "server.cross_project"):
        assert part in answer


def test_client_without_a_folder_sees_no_linked_memory_of_a_project(scene: Scene) -> None:
    client = scene.world.agent()
    own = client.remember("The user sails")
    scene.world.store.link(own, scene.fact, "related")
    assert client.ok("get_linked_memories", memory_id=own).text == "No memory is linked to it."


def test_cross_project_lets_a_client_without_a_folder_read_by_id(tmp_path: Path) -> None:
    with World(tmp_path, server__cross_project="true") as world:
        scene = set_up(world)
        assert world.agent().ok("get_memory", memory_id=scene.fact).data["memory"]["project"] == PROJECT


def test_client_without_a_folder_may_name_one_project(scene: Scene) -> None:
    client = scene.world.agent()
    assert "The shop listens on port 5128, see !12" in client.recall("port", project="shop")
    assert "all projects" in client.refused("recall", query="port", project="*")
    assert "no project 'nope'" in client.refused("recall", query="port", project="nope")


def test_client_without_a_folder_writes_global_memories(scene: Scene) -> None:
    client = scene.world.agent()
    id = client.remember("The user sails")
    assert scene.world.store.get(id).project is None
    assert "needs the name of a project" in client.refused("remember", content="x", category="fact", scope="project")


def test_client_without_a_folder_does_not_export_all_projects(scene: Scene) -> None:
    reply = scene.world.agent().call("export_memories")
    assert reply.is_error or "The shop" not in Path(reply.data["path"]).read_text()
