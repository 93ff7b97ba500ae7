"""Fixtures of the pages."""

from __future__ import annotations

import pytest

from server.pages.browser import Browser
from support.mcp import World


@pytest.fixture
def browser(world: World) -> Browser:
    """A browser that is signed in."""
    return Browser(world).sign_in()
