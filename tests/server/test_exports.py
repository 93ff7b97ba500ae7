"""Exports: their folders, their content per client, and the files that they do not replace."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from support.mcp import World


def read_contents(file: Path) -> list[str]:
    return [memory["content"] for memory in json.loads(file.read_text())["memories"]]


def test_each_project_has_a_readable_folder_of_exports(world: World) -> None:
    folders = [
        Path(world.agent(folder).ok("export_memories").data["path"]).parent
        for folder in (world.repository("walrus"), world.repository("a", remote="git@gitlab.com:group/wal/rus"), None)
    ]
    assert len(set(folders)) == 3
    assert {folder.parent for folder in folders} == {world.state.exports.resolve()}
    assert [folder.name.rpartition("-")[0] or folder.name for folder in folders] == [
        "gitlab.com-group-walrus", "gitlab.com-group-wal-rus", "global",
    ]  # fmt: skip


def test_similar_project_names_get_separate_folders_of_exports(world: World) -> None:
    names = ["a/b", "a-b", "a b", "..", "/", "\N{BEETLE}", "x" * 300, "x" * 301, "global"]
    folders = {world.state.exports_of(name) for name in [*names, None]}
    assert len(folders) == len(names) + 1
    assert {folder.parent for folder in folders} == {world.state.exports}
    assert all(len(folder.name) < 60 and folder.name not in (".", "..") for folder in folders)


def test_client_reads_and_replaces_its_own_exports(world: World) -> None:
    agent = world.agent(world.repository("walrus"))
    agent.remember("The walrus sleeps")
    written = agent.ok("export_memories").data["path"]
    agent.remember("The walrus swims")
    agent.ok("export_memories", output_path=written)
    assert len(read_contents(Path(written))) == 2
    agent.ok("import_memories", input_path=written)
    assert "is not a note" in agent.refused("ingest_file", file_path=written)
    assert "is a folder of exports" in agent.refused("bootstrap_memory", path=str(Path(written).parent))


@pytest.mark.parametrize("suffix", ["json", "md"])
def test_client_without_a_project_exports_global_memories(world: World, suffix: str) -> None:
    agent = world.agent(world.repository("walrus"))
    agent.remember("The walrus sleeps")
    agent.remember("The user sails", scope="global")
    agent.ok("kv_set", key="own", value="of the walrus")
    client = world.agent()
    everybody = Path(client.ok("export_memories", output_path=f"a.{suffix}").data["path"]).read_text()
    assert "sails" in everybody
    assert "walrus" not in everybody
    named = Path(client.ok("export_memories", output_path=f"b.{suffix}", project="walrus").data["path"]).read_text()
    assert "sails" in named
    assert "The walrus sleeps" in named


def test_client_with_a_project_neither_exports_nor_imports_values_of_no_project(world: World) -> None:
    folder = world.repository("walrus")
    agent, nobody = world.agent(folder), world.agent()
    nobody.ok("kv_set", key="state", value="of nobody")
    agent.ok("kv_set", key="state", value="of the walrus")
    agent.remember("The walrus sleeps")
    document = json.loads(Path(agent.ok("export_memories").data["path"]).read_text())
    assert [value["value"] for value in document["kv"]] == ["of the walrus"]
    [value] = document["kv"]
    document["kv"] += [{**value, "project": None, "value": "overwritten", "updated_at": value["updated_at"] + 1}]
    document["counts"]["kv"] = 2
    (folder / "new.json").write_text(json.dumps(document))
    counts = agent.ok("import_memories", input_path="new.json").data["counts"]["kv"]
    assert counts == {"merged": 1, "left out": 1}
    assert nobody.ok("kv_get", key="state").data["value"] == "of nobody"
    own = json.loads(Path(nobody.ok("export_memories").data["path"]).read_text())
    assert [value["value"] for value in own["kv"]] == ["of nobody"]


def test_allowed_folder_gives_no_access_to_exports_of_others(tmp_path: Path) -> None:
    with World(tmp_path, server__allowed_folders=str(tmp_path)) as world:
        agent, other_agent = world.agent(world.repository("walrus")), world.agent(world.repository("bees"))
        agent.remember("The walrus sleeps")
        written = Path(agent.ok("export_memories").data["path"])
        agent.ok("export_memories", output_path=str(written.with_suffix(".md")))
        assert "outside the allowed folders" in other_agent.refused("import_memories", input_path=str(written))
        assert "outside the allowed folders" in other_agent.refused("export_memories", output_path=str(written))
        other_agent.refused("ingest_file", file_path=str(written.parent))
        assert other_agent.ok("ingest_file", file_path=str(tmp_path)).data["added"] == 0


def test_export_into_git_folder_is_refused(world: World) -> None:
    folder = world.repository("walrus")
    (folder / "sub").mkdir()
    (folder / "sub" / "into").symlink_to(folder / ".git")
    agent = world.agent(folder)
    for path in (".git", ".git/new.json", ".GIT/new.json", "sub/into/new.json"):
        text = agent.refused("export_memories", output_path=path)
        assert "lies in a .git folder" in text
        assert "choose a name that does not exist" in text


def test_export_onto_a_fifo_is_refused_without_blocking(world: World) -> None:
    folder = world.repository("walrus")
    os.mkfifo(folder / "pipe")
    assert "is not an export" in world.agent(folder).refused("export_memories", output_path="pipe")


@pytest.mark.parametrize("above", [False, True], ids=["home", "above it"])
def test_client_in_the_home_folder_can_remember_but_read_no_files(
    world: World, monkeypatch: pytest.MonkeyPatch, *, above: bool
) -> None:
    home = world.folder / "people" / "walrus"
    home.mkdir(parents=True)
    (home / "note.md").write_text("# Bee\n\nThe bee flies.\n")
    monkeypatch.setenv("HOME", str(home))
    folder = home.parent if above else home
    agent = world.agent(folder)
    agent.remember("The walrus sleeps", scope="project")
    text = agent.refused("ingest_file", file_path=str(home / "note.md"))
    assert "outside the allowed folders" in text
    assert "a home folder, or a folder above it, gives no access to its files" in text
    assert read_contents(Path(agent.ok("export_memories").data["path"])) == ["The walrus sleeps"]
    project = home / "project"
    project.mkdir()
    (project / "note.md").write_text("# Bee\n\nThe bee flies.\n")
    assert world.agent(project).ok("ingest_file", file_path="note.md").data["added"] == 1


def test_bootstraps_without_a_project_do_not_replace_each_other(tmp_path: Path) -> None:
    with World(tmp_path, server__allowed_folders=str(tmp_path)) as world:
        client = world.agent()
        for name in ("walrus", "bees"):
            (world.repository(name) / "package.json").write_text(json.dumps({"name": name}))
            assert client.ok("bootstrap_memory", path=str(tmp_path / name)).data["added"] == 1
        again = [client.ok("bootstrap_memory", path=str(tmp_path / name)).data for name in ("walrus", "bees")]
        assert [report["unchanged"] for report in again] == [1, 1]
