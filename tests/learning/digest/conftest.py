"""Fixtures for tests of the digest step."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.digesting import Scene


@pytest.fixture
def scene() -> Iterator[Scene]:
    with Scene() as opened:
        yield opened
