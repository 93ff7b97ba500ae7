"""Fixtures for the tests of the mirror."""

from __future__ import annotations

from pathlib import Path

import pytest

from opencode_memory import MemoryStore
from support.mirrors import Scene, global_scene, project_scene


@pytest.fixture
def scene(store: MemoryStore, tmp_path: Path) -> Scene:
    """A repository with the files of two memories."""
    store.remember("Use pnpm, not npm", category="preference", project="app", tags=["build"])
    store.remember("The port is 5128", category="decision", project="app")
    scene = project_scene(store, tmp_path / "shop")
    assert scene.sync().problem is None
    return scene


@pytest.fixture
def home(store: MemoryStore, tmp_path: Path) -> Scene:
    """A home folder with the file of one global memory."""
    store.remember("Answer in short sentences", category="preference", scope="global")
    scene = global_scene(store, tmp_path / "home")
    assert scene.sync().problem is None
    return scene
