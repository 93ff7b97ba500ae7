"""A store that is removed, renamed or replaced under a running server: no write is acknowledged into nothing."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from support.mcp import Agent, World
from support.mcp_http import Wire


def remove(file: Path) -> None:
    file.unlink()


def rename(file: Path) -> None:
    file.rename(file.with_suffix(".away"))


def replace(file: Path) -> None:
    shutil.copyfile(file, file.with_suffix(".copy"))
    file.with_suffix(".copy").rename(file)


def rename_folder(file: Path) -> None:
    file.parent.rename(file.parent.with_suffix(".away"))


@pytest.mark.parametrize("lose", [remove, rename, replace, rename_folder])
def test_writes_are_refused_and_health_reports_it(lose: Callable[[Path], None], world: World, agent: Agent) -> None:
    agent.remember("The staging port is 8081.", "fact")
    file = world.store.data_dir / "store.db"
    with Wire(world.app()) as wire:
        assert wire.get("/health").status == 200
        lose(file)
        for number in range(5):
            refused = agent.refused("remember", content=f"Acknowledged into nothing {number}.", category="fact")
            assert "while it was open, so nothing is stored" in refused
        answer = wire.get("/health")
    assert (answer.status, answer.json["status"]) == (503, "degraded")
    assert "while it was open" in answer.json["problems"][0]


def test_server_goes_on_when_the_file_is_back(world: World, agent: Agent) -> None:
    agent.remember("The staging port is 8081.", "fact")
    file = world.store.data_dir / "store.db"
    rename(file)
    agent.refused("remember", content="Acknowledged into nothing.", category="fact")
    file.with_suffix(".away").rename(file)
    agent.remember("The server goes on.", "fact")
    assert world.store.count(project="*") == 2
    with Wire(world.app()) as wire:
        assert wire.get("/health").status == 200
