"""Fixtures of the configuration tests."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Environment with an empty home folder."""
    return {"HOME": str(tmp_path)}
