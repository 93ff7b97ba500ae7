"""Route ``/mcp/opencode``: MCP tools for an OpenCode with the plugin."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from opencode_memory.config.sections import Tools
from opencode_memory.server.tool_calls import select_tools
from opencode_memory.server.web import MCP, PLUGGED_MCP
from support.mcp import World
from support.mcp_http import LATEST, Answer, Wire

CORE = [tool.name for tool in select_tools(Tools.CORE)]
BOOT = "get_boot_context"


@pytest.fixture
def wire(world: World) -> Iterator[Wire]:
    with Wire(world.app()) as wire:
        yield wire


def ask(wire: Wire, method: str, params: Any = None, *, path: str = PLUGGED_MCP, **headers: str) -> Answer:
    """Send a request to one of the two."""
    wanted = {"accept": "application/json, text/event-stream", "content_type": "application/json"}
    message = {"jsonrpc": "2.0", "id": 1, "method": method, **({} if params is None else {"params": params})}
    return wire.request("POST", path, json.dumps(message), **(wanted | headers))


def begun(wire: Wire, path: str) -> Answer:
    who = {"protocolVersion": LATEST, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    return ask(wire, "initialize", who, path=path)


def tools(wire: Wire, path: str = PLUGGED_MCP) -> list[str]:
    return [tool["name"] for tool in ask(wire, "tools/list", path=path).result["tools"]]


def test_it_offers_the_core_without_the_boot_context_which_arrives_by_itself(wire: Wire) -> None:
    assert tools(wire) == [name for name in CORE if name != BOOT]
    assert len(tools(wire, MCP)) > len(CORE)
    refused = ask(wire, "tools/call", {"name": BOOT, "arguments": {}}).result
    assert refused["isError"] is True
    assert "there is no tool" in refused["content"][0]["text"]
    assert BOOT not in begun(wire, PLUGGED_MCP).result["instructions"]
    assert BOOT in begun(wire, MCP).result["instructions"]


def test_boot_context_is_offered_if_injection_is_off(tmp_path: Path) -> None:
    with World(tmp_path, injection__enabled="false") as world, Wire(world.app()) as wire:
        assert tools(wire) == CORE
        assert BOOT in begun(wire, PLUGGED_MCP).result["instructions"]


def test_plugin_route_always_offers_the_core_tools(tmp_path: Path) -> None:
    for which in ("core", "all"):
        with World(tmp_path / which, server__tools=which) as world, Wire(world.app()) as wire:
            assert tools(wire) == [name for name in CORE if name != BOOT]


def test_it_is_the_same_store(world: World, wire: Wire) -> None:
    folder = str(world.repository("walrus"))
    given = {"name": "remember", "arguments": {"content": "The walrus sleeps", "category": "fact"}}
    assert not ask(wire, "tools/call", given, x_opencode_directory=folder).result.get("isError")
    assert "The walrus sleeps" in wire.call("recall", {"query": "walrus"}, x_opencode_directory=folder).text


def test_its_sessions_are_counted_and_are_its_own(wire: Wire) -> None:
    ours, others = begun(wire, PLUGGED_MCP).session, begun(wire, MCP).session
    assert ours
    assert others
    assert wire.get("/stats").json["mcp_sessions"] == 2
    assert ask(wire, "tools/list", mcp_session_id=ours).status == 200
    assert ask(wire, "tools/list", mcp_session_id=others).status == 404
    assert ask(wire, "tools/list", path=MCP, mcp_session_id=ours).status == 404
    assert wire.request("DELETE", PLUGGED_MCP, mcp_session_id=ours).status == 200
    assert wire.get("/stats").json["mcp_sessions"] == 1


def test_its_requests_are_counted_under_its_own_path(wire: Wire) -> None:
    tools(wire)
    text = wire.get("/metrics").message.decode()
    assert re.search(r'http_requests_total\{path="/mcp/opencode",status="200"\} 1\.0', text)


def test_a_busy_session_of_it_does_not_lock_others_out(tmp_path: Path) -> None:
    with World(tmp_path, server__rate_limit="20") as world, Wire(world.app()) as wire:
        busy, other = begun(wire, PLUGGED_MCP).session or "", begun(wire, MCP).session or ""
        answers = [ask(wire, "tools/list", mcp_session_id=busy).status for _ in range(25)]
        assert answers.count(429) >= 4
        assert {ask(wire, "ping", path=MCP, mcp_session_id=other).status for _ in range(15)} == {200}


def test_at_the_end_it_takes_no_more_calls(world: World) -> None:
    app = world.app()
    with Wire(app) as wire:
        wire.begin_task(app.drain).result(30)
        for path in (MCP, PLUGGED_MCP):
            assert ask(wire, "tools/list", path=path).status == 503


def test_a_key_is_asked_for_and_the_token_opens_as_well(world: World) -> None:
    with Wire(world.app(key="s3cret-key")) as wire:
        assert ask(wire, "tools/list").status == 401
        assert ask(wire, "tools/list", authorization="Bearer token-of-the-plugin").status == 200
        assert ask(wire, "tools/list", x_api_key="s3cret-key").status == 200
        assert ask(wire, "tools/list", authorization="Bearer token-of-the-plugin", x_api_key="s3cret-key").status == 401
