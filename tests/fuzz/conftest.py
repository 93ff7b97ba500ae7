"""Fixtures of the fuzz tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.mcp import World


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with World(tmp_path) as world:
        yield world
