"""Fixtures of the server's tests: a store with its servers, a repository, and a client that works in it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from opencode_memory.config.load import Config, load
from support.background import Background
from support.mcp import Agent, World
from support.mcp_scene import Scene, set_up
from support.services import free_port


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


@pytest.fixture
def config(tmp_path: Path) -> Config:
    """The configuration of a server on a free port, in a home of its own."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "OPENCODE_MEMORY_PORT": str(free_port())}
    return load(environment=environment)


@pytest.fixture
def background(config: Config) -> Iterator[Background]:
    """Runs commands in the home of ``config``, and ends the servers that they leave in the background."""
    running = Background(config)
    yield running
    running.close()
