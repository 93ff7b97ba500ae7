"""``doctor`` and ``/health`` report the same findings about one store."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from opencode_memory.files import access
from opencode_memory.server.server_state import Background
from support.command_line import CommandLine
from support.mcp import World
from support.mcp_http import Wire

Break = Callable[[World, pytest.MonkeyPatch], None]


def fill_disk(_: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(total=10**9, used=10**9, free=0))


def forbid_writes(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access, "is_writable", lambda path: not path.is_relative_to(world.store.data_dir))


def fall_behind(world: World, _: pytest.MonkeyPatch) -> None:
    world.store.remember("The walrus sleeps at noon.")


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with World(tmp_path) as world:
        world.store.remember("The staging port is 8081.")
        world.store.indexes.embed_pending()
        yield world


@pytest.mark.parametrize(
    ("damage", "name", "level", "text"),
    [
        (fill_disk, "disk", "problem", "only 0 MB are free"),
        (forbid_writes, "data_dir", "problem", "is not writable"),
        (fall_behind, "embeddings", "note", "1 memory has no vectors yet"),
    ],
)
def test_doctor_and_health_agree(
    cli: CommandLine, world: World, monkeypatch: pytest.MonkeyPatch, damage: Break, name: str, level: str, text: str
) -> None:
    damage(world, monkeypatch)
    with Wire(world.app()) as wire:
        answer = wire.get("/health")
    checks = cli("--data-dir", str(world.store.data_dir), "doctor", "--json").json["checks"]
    [found] = [check["text"] for check in checks if (check["name"], check["level"]) == (name, level)]
    assert text in found
    assert answer.json[f"{level}s"] == [found]
    assert answer.status == (503 if level == "problem" else 200)


@pytest.mark.parametrize("has_plugin", [True, False])
def test_doctor_repeats_the_problems_of_the_running_server(
    tmp_path: Path, cli: CommandLine, monkeypatch: pytest.MonkeyPatch, has_plugin: bool
) -> None:
    problem = "the worker crashed 3 times in a row"
    with World(tmp_path, background=Background(problems=lambda: (problem,))) as world, world.serve() as server:
        monkeypatch.setenv("OPENCODE_MEMORY_PORT", server.url.rpartition(":")[2].partition("/")[0])
        if has_plugin:
            cli.ok("setup")
        checks = cli("--data-dir", str(world.store.data_dir), "doctor", "--json").json["checks"]
    assert any(check["level"] == "problem" and problem in check["text"] for check in checks), checks
