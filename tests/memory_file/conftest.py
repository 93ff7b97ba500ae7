"""Fixtures for the tests of ``.opencode/MEMORY.md``."""

from __future__ import annotations

from pathlib import Path

import pytest

from opencode_memory import MemoryStore
from support.memory_files import (
    Scene,
    git,
    remember,
)


@pytest.fixture
def scene(store: MemoryStore, tmp_path: Path) -> Scene:
    """A repository whose file has been created with three memories."""
    remember(store)
    folder = tmp_path / "shop"
    folder.mkdir()
    git(folder, "init", "-q")
    scene = Scene(store, folder)
    scene.commit()
    assert scene.sync(create=True).written
    return scene
