"""The list of tools as sent to clients, and one valid call of each tool, with its annotations."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest

from opencode_memory.config.sections import Tools
from opencode_memory.server.app import INSTRUCTIONS
from opencode_memory.server.tool_calls import select_tools
from opencode_memory.text.formatting import short_id
from support.mcp import HANDSHAKE, MODES, Agent, World
from support.mcp_http import Wire
from support.mcp_scene import ALWAYS_FAILING, Scene, set_up
from support.turns import add

PROJECT = "gitlab.com/group/walrus"
CORE = ["recall", "remember", "get_context", "get_boot_context", "edit_memory", "archive_memory", "get_memory"]
ALL = [
    *CORE,
    *[
        "memory_status",
        "get_linked_memories",
        "get_session",
        "search_history",
        "log_session",
        "link_memories",
        "restore_memory",
        "delete_memory",
        "undo",
        "pin_memory",
        "set_reminder",
        "resolve_blocker",
        "unresolve_blocker",
        "bulk_archive",
        "consolidate_memory",
        "session_start",
        "session_heartbeat",
        "session_end",
        "get_active_sessions",
        "claim_item",
        "release_item",
        "export_memories",
        "import_memories",
        "ingest_file",
        "bootstrap_memory",
        "enrich_entity",
        "kv_set",
        "kv_get",
        "kv_list",
        "kv_delete",
    ],
]
READERS = [tool.name for tool in select_tools(Tools.ALL) if tool.reads]
REPEATERS = [tool.name for tool in select_tools(Tools.ALL) if tool.repeats]
KEEPERS = [tool.name for tool in select_tools(Tools.ALL) if not tool.reads and not tool.destroys]


def list_tools(world: World) -> tuple[list[dict[str, Any]], int]:
    """Return the tools as sent over HTTP, and the size of the response in bytes."""
    with Wire(world.app()) as wire:
        answer = wire.ask("tools/list")
    return answer.result["tools"], len(answer.message)


def test_all_tools_are_listed_within_the_size_limit(world: World) -> None:
    tools, size = list_tools(world)
    assert [tool["name"] for tool in tools] == ALL
    assert len(ALL) == 37
    assert size < 20_300


def test_core_tools_are_listed_within_the_size_limit(tmp_path: Path) -> None:
    with World(tmp_path, server__tools="core") as world:
        tools, size = list_tools(world)
        assert [tool["name"] for tool in tools] == CORE
        assert size < 6_000
        text = world.agent().refused("kv_list")
    assert "there is no tool 'kv_list'" in text


@pytest.mark.parametrize("mode", MODES)
def test_both_protocols_list_the_same_tools(world: World, mode: str) -> None:
    agent = world.agent(mode=mode)
    assert [tool.name for tool in agent.run(agent.client.list_tools).tools] == ALL


def test_input_schemas_hold_no_superfluous_keys(world: World) -> None:
    def keys(schema: Any) -> Iterator[str]:
        if isinstance(schema, list):
            for member in schema:
                yield from keys(member)
        elif isinstance(schema, dict):
            for name, value in schema.items():
                yield name
                yield from keys(value)

    tools, _ = list_tools(world)
    for tool in tools:
        assert "title" not in tool
        assert {"title", "$ref", "$defs", "additionalProperties"}.isdisjoint(keys(tool["inputSchema"])), tool["name"]
        assert "null" not in json.dumps(tool["inputSchema"]), tool["name"]


def test_every_schema_is_valid(world: World) -> None:
    for tool in list_tools(world)[0]:
        for name in ("inputSchema", "outputSchema"):
            if name in tool:
                jsonschema.Draft202012Validator.check_schema(tool[name])
        assert tool["inputSchema"]["type"] == "object"
        required = tool["inputSchema"].get("required", [])
        assert set(required) <= set(tool["inputSchema"]["properties"])


def test_every_tool_has_a_short_description(world: World) -> None:
    for tool in list_tools(world)[0]:
        assert 5 < len(tool["description"]) < 200, tool["name"]


def test_instructions_are_short_and_name_existing_tools(world: World) -> None:
    instructions = world.agent().client.instructions
    assert instructions == INSTRUCTIONS
    assert len(instructions) < 900
    for name in ("get_boot_context", "recall", "get_context", "remember", "edit_memory", "archive_memory"):
        assert name in instructions
        assert name in CORE


def test_only_annotations_that_are_not_default_are_sent(world: World) -> None:
    annotations = {tool["name"]: tool["annotations"] for tool in list_tools(world)[0]}
    assert annotations["recall"] == {"readOnlyHint": True, "openWorldHint": False}
    assert annotations["remember"] == {"destructiveHint": False, "openWorldHint": False}
    assert annotations["archive_memory"] == {"destructiveHint": False, "idempotentHint": True, "openWorldHint": False}
    assert annotations["delete_memory"] == {"idempotentHint": True, "openWorldHint": False}
    assert annotations["enrich_entity"] == {"destructiveHint": False}


def test_scene_has_a_valid_call_of_every_tool(scene: Scene) -> None:
    assert sorted([*scene.valid_calls(), *ALWAYS_FAILING]) == sorted(ALL)


@pytest.mark.parametrize("mode", MODES)
def test_every_tool_returns_text_and_data_of_its_schema(world: World, mode: str) -> None:
    scene = set_up(world, mode=mode)
    schemas = {tool["name"]: tool.get("outputSchema") for tool in list_tools(world)[0]}
    assert sum(schema is not None for schema in schemas.values()) >= 3
    for name, arguments in scene.valid_calls().items():
        reply = scene.agent.ok(name, **arguments)
        assert reply.text.strip(), name
        assert reply.data, name
        if schemas[name] is not None:
            jsonschema.validate(reply.data, schemas[name])


def test_text_names_the_short_ids_of_its_data(scene: Scene) -> None:
    def ids(value: Any) -> Iterator[str]:
        if isinstance(value, list):
            for member in value:
                yield from ids(member)
        elif isinstance(value, dict):
            for name, member in value.items():
                yield from [member] if name in ("id", "source", "target") and isinstance(member, str) else ids(member)

    named = 0
    for name, arguments in scene.valid_calls().items():
        reply = scene.agent.ok(name, **arguments)
        for id in set(ids(reply.data)) & {row.id for row in scene.world.store.list(project="*", status=ANY)}:
            named += 1
            assert short_id(id) in reply.text, name
    assert named > 12


ANY = ["active", "candidate", "superseded", "archived"]


@pytest.mark.parametrize("name", READERS)
def test_reading_tool_changes_nothing(scene: Scene, name: str) -> None:
    before = scene.world.dump()
    scene.agent.call(name, **{**scene.valid_calls(), **ALWAYS_FAILING}[name])
    assert scene.world.dump() == before
    assert not scene.agent.call("get_active_sessions").is_error


def test_reading_tool_creates_no_project(world: World) -> None:
    agent = world.agent(world.repository("new"))
    values = {"query": "x", "entity_ref": "!12", "memory_id": "abcdef12", "key": "x", "message_id": "msg_1"}
    for tool in select_tools(Tools.ALL):
        if tool.reads:
            agent.call(tool.name, **{name: values[name] for name in tool.input.get("required", [])})
    assert world.store.projects.list() == []


def _once_more(scene: Scene, name: str) -> tuple[list[str], list[str]]:
    arguments = scene.valid_calls()[name]
    scene.agent.ok(name, **arguments)
    scene.world.pass_time(1)
    before = scene.world.dump()
    scene.agent.call(name, **arguments)
    return before, scene.world.dump()


def _without_times(rows: list[str]) -> list[str]:
    """Strip the times that a second `kv_set` changes on purpose."""
    return [re.sub(r'"(updated_at|expires_at)": \d+', "", row) for row in rows]


@pytest.mark.parametrize(
    "name",
    REPEATERS,
)
def test_idempotent_tool_changes_nothing_when_repeated(scene: Scene, name: str) -> None:
    before, after = _once_more(scene, name)
    if name == "kv_set":
        before, after = _without_times(before), _without_times(after)
    assert after == before


def test_undo_is_not_idempotent(scene: Scene) -> None:
    assert "undo" not in REPEATERS
    scene.agent.ok("edit_memory", memory_id=scene.fact, content="one")
    scene.agent.ok("edit_memory", memory_id=scene.fact, content="two")
    scene.agent.ok("undo", memory_ids=[scene.fact])
    assert scene.world.store.get(scene.fact).content == "one"
    scene.agent.ok("undo", memory_ids=[scene.fact])
    assert scene.world.store.get(scene.fact).content.startswith("The shop")


@pytest.mark.parametrize(
    "same", [{"content": "Foxes sleep"}, {"category": "fact"}, {"topic": "foxes"}, {"tags": ["sleep"]}]
)
def test_edit_that_changes_nothing_does_not_promise_an_undo(scene: Scene, same: dict[str, Any]) -> None:
    id = scene.agent.remember("Foxes sleep", topic="foxes", tags=["sleep"])
    said = scene.agent.ok("edit_memory", memory_id=id, **same).text
    assert said.startswith(f"[{id[-8:]}] is unchanged: it has these values.")
    assert len(scene.world.store.history(id)) == 1
    changed = scene.agent.ok("edit_memory", memory_id=id, content="Foxes run").text
    assert changed.startswith(f"Changed [{id[-8:]}]. undo restores the previous text.")


@pytest.mark.parametrize("name", KEEPERS)
def test_non_destructive_tool_keeps_every_text_in_the_store(scene: Scene, name: str) -> None:
    before = {memory.id: memory.content for memory in scene.world.store.list(project="*", status=ANY, limit=500)}
    scene.agent.call(name, **(scene.valid_calls() | ALWAYS_FAILING)[name])
    kept = scene.world.dump()
    for id, text in before.items():
        assert any(json.dumps(text)[1:-1] in row and id in row for row in kept), (name, text)


def test_export_that_replaces_a_file_is_destructive_or_refused(scene: Scene) -> None:
    (scene.folder / "main.py").write_text("print()\n")
    annotations = {tool["name"]: tool["annotations"] for tool in list_tools(scene.world)[0]}["export_memories"]
    scene.agent.call("export_memories", output_path="main.py")
    assert annotations.get("destructiveHint") is not False or (scene.folder / "main.py").read_text() == "print()\n"


def test_unknown_tool_is_an_error_with_a_suggestion(world: World) -> None:
    agent = world.agent(mode=HANDSHAKE)
    assert agent.refused("recal") == "there is no tool 'recal'; did you mean 'recall'?"
    assert "memory_recall" in agent.refused("memory_recall")


def test_recall_names_the_earlier_statement_in_its_correction(agent: Agent) -> None:
    agent.remember("Use npm to install packages.")
    agent.remember("Use pnpm instead of npm.")
    for compact in (False, True):
        reply = agent.ok("recall", query="use pnpm or npm", compact=compact)
        assert "(changed now; before: Use npm to install packages.)" in reply.text
        [found] = reply.data["memories"]
        assert [memory["content"] for memory in found["before"]] == ["Use npm to install packages."]


def test_empty_recall_is_explained_by_the_nearest_memories(world: World, agent: Agent) -> None:
    agent.remember("The shop deploys on Friday.")
    world.store.indexes.embed_pending()
    silent = agent.ok("recall", query="capital of Mongolia")
    assert "nearest" not in silent.data
    explained = agent.ok("recall", query="capital of Mongolia", explain=True)
    assert "The shop deploys on Friday." in explained.text
    [near] = explained.data["nearest"]
    assert near["relevance"] < near["floor"]
    assert explained.data["memories"] == []


def test_recall_says_where_a_memory_comes_from(world: World, agent: Agent) -> None:
    world.store.remember("Undo a release with revert.sh.", project="gitlab.com/group/walrus", source={"file": "a/b.md"})
    reply = agent.ok("recall", query="undo a release", explain=True)
    assert "a/b.md" in reply.text.splitlines()[1]
    assert "words:" in reply.text
    assert reply.data["memories"][0]["source"]["file"] == "a/b.md"


def test_status_counts_the_sessions_that_can_be_searched(world: World, agent: Agent) -> None:
    assert agent.ok("memory_status").data["sessions"] == {"sessions": 0, "turns": 0}
    add(world.store, {"m1": "The walrus sleeps.", "m2": "The bee flies."}, project=PROJECT)
    reply = agent.ok("memory_status")
    assert reply.data["sessions"] == {"sessions": 1, "turns": 2}
    assert "Sessions that can be searched: 1, with 2 turns." in reply.text


def test_get_context_finds_a_global_memory_that_names_a_number_of_the_project(agent: Agent) -> None:
    first = agent.remember("Breaks the login, see !77")
    second = agent.remember("Review !77 carefully", scope="global")
    reply = agent.ok("get_context", entity_ref="!77")
    assert {memory["id"] for memory in reply.data["memories"]} == {first, second}
