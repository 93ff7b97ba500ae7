"""Fixtures of the tests that run whole programs: ours, and third-party ones.

`make e2e` runs these tests and `make test` does not, because they download programs from the npm registry.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.opencode import OpenCode
from e2e.repositories import SHOP, repository
from e2e.scripted_model import ScriptedModel
from e2e.served import Served

_INSTALL = Path(__file__).resolve().parents[2] / "scripts" / "install_third_party.py"


@pytest.fixture(scope="session")
def opencode_binary() -> Path:
    """OpenCode."""
    return _installed("opencode")


@pytest.fixture(scope="session")
def node_tools() -> Path:
    """The folder with the MCP inspector, the conformance suite, and Node.js."""
    return _installed("node-tools")


@pytest.fixture(scope="session")
def plugin_tools() -> Path:
    """The folder with the linter, formatter and compiler for the plugin."""
    return _installed("plugin-tools")


@pytest.fixture(scope="session")
def browser_tools() -> Path:
    """The folder with the driver of Chromium and the checks of accessibility."""
    return _installed("browser-tools")


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    """A model that does as it is told."""
    with ScriptedModel() as scripted:
        yield scripted


@pytest.fixture
def opencode(opencode_binary: Path, tmp_path: Path) -> OpenCode:
    """OpenCode in a home of its own."""
    home = tmp_path / "home"
    home.mkdir()
    return OpenCode(opencode_binary, home)


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A repository."""
    return repository(tmp_path / "shop", remote=f"https://{SHOP}.git")


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """A resident server with a store of its own."""
    with Served(tmp_path / "server") as server:
        yield server


def _installed(what: str) -> Path:
    ran = subprocess.run([sys.executable, _INSTALL, what], capture_output=True, text=True, check=False)
    if ran.returncode:
        # Fail instead of skipping, so that a missing program is noticed.
        pytest.fail(ran.stderr, pytrace=False)
    return Path(ran.stdout.strip())
