"""Fixtures of the plugin's tests: a resident server, a connected plugin, and sessions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.bridge import Plugin
from support.mcp import Resident, World
from support.session_calls import Session


@pytest.fixture
def server(world: World) -> Iterator[Resident]:
    with world.serve() as server:
        yield server


@pytest.fixture
def plugin(server: Resident, folder: Path) -> Iterator[Plugin]:
    with Plugin(server.url, folder) as plugin:
        yield plugin


@pytest.fixture
def session(world: World, folder: Path) -> Session:
    return Session(world, folder)


@pytest.fixture
def other_session(world: World) -> Session:
    """A session in another repository."""
    return Session(world, world.repository("bees"), "ses_2")
