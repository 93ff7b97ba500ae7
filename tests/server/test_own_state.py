"""This program's own state in the key-value store: agents neither see nor change it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from opencode_memory.exchange import export_memories
from opencode_memory.forges.cache import ForgeCache
from opencode_memory.learning import off_times, switches
from opencode_memory.learning.digest.budget import StoredUsage, Usage
from opencode_memory.learning.relearn.offer import settle_offer
from opencode_memory.memory_file.git_state import Head
from opencode_memory.memory_file.last_written import LastWritten, key_of, read_last, record_last
from opencode_memory.notes.fact_sheet.memory import update_fact_sheet
from opencode_memory.reviews import Findings
from support.mcp import Agent, World
from support.mcp_scene import PROJECT, Scene

RESERVED = [
    "opencode-memory:learning",
    "opencode-memory:paused:ses_1",
    "opencode-memory:digest:2026-09-21",
    "memory_file:0f",
    "review-finding:main:1",
    "forge/host/gitlab.com",
]


def write_own_state(scene: Scene) -> set[str]:
    """Write own state of every kind; return the keys."""
    store = scene.world.store
    switches.switch(store, PROJECT, on=False)
    switches.pause(store, "ses_1", paused=True)
    off_times.note_configuration(store, sources=(), skip_projects=("x",), at_ms=1)
    StoredUsage(store).save(scene.world.now.date(), Usage(calls=1, tokens=2))
    settle_offer(store)
    last = LastWritten(fingerprint="f", head=Head("main", "0"), shown=(scene.fact,))
    record_last(store, PROJECT, scene.folder, last)
    update_fact_sheet(store, scene.folder, project=PROJECT)
    Findings(store.kv, PROJECT, "main").record("It leaks", at=scene.world.now)
    ForgeCache(store).pause_for("gitlab.com", 60, "busy", at=scene.world.now)
    entries = [*store.kv.list(project=PROJECT), *store.for_project(None).kv.list()]
    return {entry.key for entry in entries} - {"state"}


@pytest.mark.parametrize("key", RESERVED)
def test_reserved_key_cannot_be_set_or_deleted(scene: Scene, key: str) -> None:
    before = scene.world.dump()
    for tool, arguments in (("kv_set", {"value": "on"}), ("kv_delete", {})):
        text = scene.agent.refused(tool, key=key, **arguments)
        assert "is reserved for opencode-memory's own state" in text
        assert "choose a key that does not begin with" in text
    assert scene.world.dump() == before


def test_agents_do_not_see_own_state(scene: Scene) -> None:
    own = write_own_state(scene)
    assert len(own) >= 10
    for client in (scene.agent, scene.world.agent()):
        assert {entry["key"] for entry in client.ok("kv_list").data["entries"]} <= {"state"}
        for key in own:
            assert client.ok("kv_list", prefix=key).text == "There are no values."
            assert "there is no value" in client.refused("kv_get", key=key)
            assert "is reserved" in client.refused("kv_delete", key=key)


def test_learning_stays_off_and_the_memory_file_keeps_its_record(scene: Scene) -> None:
    write_own_state(scene)
    record = read_last(scene.world.store, PROJECT, scene.folder)
    scene.agent.refused("kv_delete", key="opencode-memory:learning")
    scene.agent.refused("kv_set", key="opencode-memory:learning", value="on")
    scene.agent.refused("kv_set", key=key_of(scene.folder), value={"shown": [scene.other]})
    assert switches.is_off(scene.world.store, PROJECT)
    assert read_last(scene.world.store, PROJECT, scene.folder) == record


def test_export_of_an_agent_leaves_out_own_state(scene: Scene) -> None:
    own = write_own_state(scene)
    written = Path(scene.agent.ok("export_memories").data["path"]).read_text()
    assert [row["key"] for row in json.loads(written)["kv"]] == ["state"]
    assert not [key for key in own if key in written]


def test_import_of_an_agent_writes_no_own_state(world: World, scene: Scene) -> None:
    write_own_state(scene)
    export_memories(world.store, scene.folder / "all.json", project=PROJECT)
    switches.switch(world.store, PROJECT, on=True)
    world.store.kv.delete("state", project=PROJECT)
    counts = scene.agent.ok("import_memories", input_path="all.json").data["counts"]["kv"]
    assert (counts["stored"], counts["left out"] >= 10) == (1, True)
    assert not switches.is_off(world.store, PROJECT)
    assert world.store.kv.get("state", project=PROJECT) == ["half", "done"]


def test_keys_that_only_resemble_reserved_ones_are_free(agent: Agent) -> None:
    for key in ("opencode-memory", "memory_files", "review-findings", "forges/1", "my opencode-memory:x"):
        agent.ok("kv_set", key=key, value=1)
        assert agent.ok("kv_get", key=key).data["value"] == 1
        assert agent.ok("kv_delete", key=key).data["deleted"] is True
