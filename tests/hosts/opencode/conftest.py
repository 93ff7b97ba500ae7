"""Fixtures of the tests of OpenCode's database."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from opencode_memory.hosts.opencode.feed.database import OpenCodeDatabase
from support.opencode import FakeOpenCode


@pytest.fixture
def opencode(tmp_path: Path) -> Iterator[FakeOpenCode]:
    """Writes to a database as OpenCode does."""
    with FakeOpenCode(tmp_path / "opencode.db") as opencode:
        yield opencode


@pytest.fixture
def database(opencode: FakeOpenCode) -> Iterator[OpenCodeDatabase]:
    """That database, read."""
    with OpenCodeDatabase(opencode.path) as database:
        yield database
