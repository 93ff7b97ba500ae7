"""Fixtures of the server's tests: a store with its servers, a repository, and a client that works in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.mcp import Agent, World
from support.mcp_scene import Scene, set_up


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with World(tmp_path) as world:
        yield world


@pytest.fixture
def folder(world: World) -> Path:
    """The repository of the client."""
    return world.repository("walrus")


@pytest.fixture
def agent(world: World, folder: Path) -> Agent:
    """A client in the repository. Its first write has already registered the project."""
    agent = world.agent(folder)
    agent.ok("kv_delete", key="none")
    return agent


@pytest.fixture
def scene(world: World) -> Scene:
    return set_up(world)


@pytest.fixture
def other_agent(world: World, scene: Scene) -> Agent:
    """A client in another repository, which has a memory of its own."""
    agent = world.agent(world.repository("bees"))
    agent.remember("Bees sleep at night", "decision")
    return agent
