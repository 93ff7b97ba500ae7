"""Exports, imports and notes: no file leads memories from one project into another (I7)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from opencode_memory.exchange import export_memories
from support.mcp import Agent, World
from support.mcp_scene import PROJECT, Scene

BEES = "gitlab.com/group/bees"
ANY = ["active", "candidate", "superseded", "archived"]


def rows_of(world: World, project: str) -> list[str]:
    ids = [memory.id for memory in world.store.list(project=project, scope="project", status=ANY, limit=500)]
    return [row for row in world.dump() if project in row or any(id in row for id in ids)]


def native_export(**arrays: list[dict[str, Any]]) -> str:
    """Return an export in the native format."""
    filled = {name: arrays.get(name, []) for name in ("projects", "memories", "links", "kv", "history")}
    counts = {name: len(rows) for name, rows in filled.items()}
    return json.dumps({"format": "opencode-memory", "version": 1, **filled, "counts": counts})


@pytest.mark.parametrize("suffix", ["json", "md"])
def test_folder_of_exports_is_closed_to_another_project(scene: Scene, other_agent: Agent, suffix: str) -> None:
    exports = scene.world.state.exports
    written = Path(scene.agent.ok("export_memories").data["path"])
    mine = written.with_name(f"mine.{suffix}")
    scene.agent.ok("export_memories", output_path=str(mine))
    for folder in (exports, written.parent):
        other_agent.refused("ingest_file", file_path=str(folder))
        other_agent.refused("bootstrap_memory", path=str(folder))
    for file in (written, mine):
        assert "outside the allowed folders" in other_agent.refused("import_memories", input_path=str(file))
    assert other_agent.recall("shop port firewall", limit=50) == []


def test_export_of_another_project_cannot_be_ingested(scene: Scene, other_agent: Agent) -> None:
    written = scene.agent.ok("export_memories").data["path"]
    other_agent.call("ingest_file", file_path=written)
    assert other_agent.recall("shop port firewall", limit=50) == []


def test_export_of_another_project_cannot_be_replaced(scene: Scene, other_agent: Agent) -> None:
    written = Path(scene.agent.ok("export_memories").data["path"])
    before = written.read_text()
    other_agent.call("export_memories", output_path=str(written))
    assert written.read_text() == before


def test_export_holds_own_project_and_global_memories_only(scene: Scene, other_agent: Agent) -> None:
    other_agent.remember("The user sails", scope="global")
    other_agent.ok("kv_set", key="own", value="of bees")
    for name in ("all.json", "all.md"):
        written = Path(other_agent.ok("export_memories", output_path=name).data["path"]).read_text()
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
def test_import_writes_nothing_into_another_project(
    scene: Scene, other_agent: Agent, rows: dict[str, list[dict[str, Any]]]
) -> None:
    own = other_agent.remember("Bees like clover")
    ids = {"FACT": scene.fact, "OTHER": scene.other, "ARCHIVED": scene.archived, "OWN": own}
    text = native_export(**rows)
    for name, id in ids.items():
        text = text.replace(f'"{name}"', f'"{id}"')
    (scene.world.folder / "bees" / "evil.json").write_text(text)
    before = rows_of(scene.world, PROJECT)
    other_agent.call("import_memories", input_path="evil.json")
    assert rows_of(scene.world, PROJECT) == before


def test_import_does_not_take_a_deleted_memory_of_another_project(scene: Scene, other_agent: Agent) -> None:
    (scene.world.folder / "bees" / "evil.json").write_text(native_export(memories=[memory_row(scene.deleted)]))
    other_agent.call("import_memories", input_path="evil.json")
    other_agent.refused("get_memory", memory_id=scene.deleted)
    scene.agent.ok("undo", memory_ids=[scene.deleted])
    assert scene.world.store.get(scene.deleted).content == "The first port was 8080"


@pytest.mark.parametrize("mark", ["folders", "remotes"])
def test_import_cannot_claim_identities_of_other_repositories(world: World, mark: str) -> None:
    walrus = world.repository("walrus", remote=None)
    victim = world.agent(walrus)
    victim.remember("The walrus is secret")
    bees = world.repository("bees")
    other_agent = world.agent(bees)
    other_agent.remember("The bee is secret")
    marks: dict[str, list[str]] = {"remotes": [], "root_commits": [], "folders": []}
    marks[mark] = [str(walrus)] if mark == "folders" else ["gitlab.com/group/future"]
    (bees / "evil.json").write_text(native_export(projects=[{"name": BEES, "created_at": 1, **marks}]))
    other_agent.call("import_memories", input_path="evil.json")
    assert victim.recall("secret") == ["The walrus is secret"]
    assert world.agent(world.repository("future")).recall("secret") == []


def test_export_of_another_project_is_not_imported(scene: Scene, other_agent: Agent) -> None:
    whole = scene.world.folder / "bees" / "whole.json"
    for name in (whole, whole.with_suffix(".md")):
        export_memories(scene.world.store, name, format="json" if name.suffix == ".json" else "markdown")
        before = scene.world.dump()
        text = other_agent.refused("import_memories", input_path=name.name)
        assert "outside of" in text
        assert "into its own project only" in text
        assert scene.world.dump() == before


def test_ingest_into_a_project_does_not_change_global_memories(tmp_path: Path) -> None:
    with World(tmp_path, server__allowed_folders=str(tmp_path)) as world:
        walrus, bees = world.repository("walrus"), world.repository("bees")
        (walrus / "README.md").write_text("# Walrus\n\nText of the walrus.\n")
        (bees / "README.md").write_text("# Bees\n\nText of the bees.\n")
        world.agent().ok("ingest_file", file_path=str(walrus / "README.md"))
        before = [row for row in world.dump() if "walrus" in row]
        world.agent(bees).ok("ingest_file", file_path="README.md")
        assert [row for row in world.dump() if "walrus" in row] == before


def test_ingests_without_a_project_do_not_replace_each_other(tmp_path: Path) -> None:
    with World(tmp_path, server__allowed_folders=str(tmp_path)) as world:
        client = world.agent()
        for name in ("walrus", "bees"):
            (world.repository(name) / "README.md").write_text(f"# About {name}\n\nText of the {name}.\n")
            client.ok("ingest_file", file_path=str(tmp_path / name / "README.md"))
        assert len(client.recall("text")) == 2


@pytest.mark.parametrize(
    "rows",
    [
        {"memories": [memory_row(NEW, project=PROJECT)]},
        {"memories": [memory_row("FACT", project=None)]},
        {"memories": [memory_row("DELETED", project=None)]},
        {"kv": [{"project": PROJECT, "key": "state", "value": 1, "created_at": 1, "updated_at": 1 << 60}]},
    ],
    ids=["project of a memory", "memory made global", "deleted memory made global", "value"],
)
def test_client_without_a_folder_imports_global_memories_only(
    scene: Scene, rows: dict[str, list[dict[str, Any]]]
) -> None:
    client = scene.world.agent()
    text = native_export(**rows).replace('"FACT"', f'"{scene.fact}"').replace('"DELETED"', f'"{scene.deleted}"')
    exports = Path(client.ok("export_memories").data["path"]).parent
    (exports / "evil.json").write_text(text)
    before = scene.world.dump()
    assert "outside of the global memories" in client.refused("import_memories", input_path="evil.json")
    assert scene.world.dump() == before
    (exports / "good.json").write_text(native_export(memories=[memory_row(NEW, project=None)]))
    client.ok("import_memories", input_path="good.json")
    assert scene.world.store.get(NEW).project is None


def test_client_without_a_folder_imports_another_systems_memories_as_global(scene: Scene) -> None:
    client = scene.world.agent()
    exports = Path(client.ok("export_memories").data["path"]).parent
    document = {
        "memories": [{"id": 1, "content": "Bees dance", "category": "fact", "project": "group/shop"}],
        "links": [],
        "entities": [],
    }
    (exports / "other.json").write_text(json.dumps(document))
    before = rows_of(scene.world, PROJECT)
    client.ok("import_memories", input_path="other.json")
    assert client.recall("dance") == ["Bees dance"]
    assert rows_of(scene.world, PROJECT) == before
