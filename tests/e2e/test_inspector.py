"""The MCP inspector's command line, over both transports and in both forms of the protocol."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from e2e.node_tools import run
from e2e.repositories import repository
from e2e.served import Served, command
from opencode_memory.server.tools import TOOLS

PROGRAM = "@modelcontextprotocol/inspector/clients/launcher/build/index.js"
PROJECT = "forge.example/team/shop"
FACT = "The walrus build needs make -j1."


class Inspector:
    """Asks one server, in a process of its own each time.

    Args:
        tools: Where it was installed.
        home: The only folder of a person that it finds.
        options: How to reach the server.
        target: What starts the server, if it is to be started.
    """

    def __init__(self, tools: Path, home: Path, options: list[str], target: list[str]) -> None:
        self._tools = tools
        self._home = home
        self._options = options
        self._target = target

    def ask(self, method: str, *options: str) -> subprocess.CompletedProcess[str]:
        """Call a method."""
        asked = ["--cli", *self._options, "--format", "json", "--method", method, *options, *self._target]
        return run(self._tools, PROGRAM, asked, self._home)

    def call(self, tool: str, **arguments: Any) -> subprocess.CompletedProcess[str]:
        """Call a tool."""
        return self.ask("tools/call", "--tool-name", tool, "--tool-args-json", json.dumps(arguments))


def result(ran: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """Return the answer of a method that must succeed. Any complaint of the inspector fails the test."""
    assert ran.returncode == 0, ran.stderr
    found: dict[str, Any] = json.loads(ran.stdout)["result"]
    return found


@pytest.fixture(params=["stdio", "http"])
def transport(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(params=["legacy", "modern"])
def inspector(request: pytest.FixtureRequest, transport: str, node_tools: Path, tmp_path: Path) -> Inspector:
    """The parameter is the form of the protocol, in the inspector's words."""
    shop = repository(tmp_path / "shop", remote=f"https://{PROJECT}.git")
    options = ["--protocol-era", request.param]
    if transport == "http":
        served: Served = request.getfixturevalue("served")
        options += ["--server-url", served.url, "--header", f"X-OpenCode-Directory: {shop}"]
        return Inspector(node_tools, tmp_path / "home", options, [])
    target = command("serve", "--stdio", "--data-dir", str(tmp_path / "store"))
    return Inspector(node_tools, tmp_path / "home", [*options, "--cwd", str(shop)], ["--", *target])


def test_inspector_accepts_all_schemas(inspector: Inspector) -> None:
    ran = inspector.ask("tools/list", "--strict")
    assert [tool["name"] for tool in result(ran)["tools"]] == [tool.name for tool in TOOLS]
    # The value may be any JSON. The inspector warns about that, but it is intended.
    assert re.findall(r'tool "(\w+)"', ran.stderr) == ["kv_set"], ran.stderr


def test_inspector_finds_a_stored_memory(inspector: Inspector) -> None:
    stored = result(inspector.call("remember", content=FACT, category="fact"))
    found = result(inspector.call("recall", query="how is the walrus built?"))
    [memory] = found["structuredContent"]["memories"]
    assert (memory["id"], memory["content"]) == (stored["structuredContent"]["id"], FACT)
    assert PROJECT in found["content"][0]["text"]


def test_inspector_gets_the_error_of_a_call(inspector: Inspector) -> None:
    ran = inspector.call("recall", limit=0)
    assert ran.returncode != 0
    assert "query: is required; limit: input should be" in ran.stdout
