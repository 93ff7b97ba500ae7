"""Fixtures for tests of digests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from opencode_memory import MemoryStore
from support.digested_sessions import Desk
from support.digesting import Scene


@pytest.fixture
def scene() -> Iterator[Scene]:
    with Scene() as opened:
        yield opened


@pytest.fixture
def desk(store: MemoryStore) -> Desk:
    return Desk(store)
