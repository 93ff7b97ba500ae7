"""Sessions of the server that this one has replaced: they stay in their project, or their client starts a new one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from opencode_memory.server import mcp_endpoint
from opencode_memory.server.client_project import Described
from opencode_memory.server.web import MCP, WebApp, build_app
from support.mcp import TOKEN, World
from support.mcp_http import LATEST, Wire

PROJECT = "gitlab.com/group/walrus"


def build(world: World, sessions: Described) -> WebApp:
    return build_app(world.state, world.metrics, host="127.0.0.1", key=None, token=TOKEN, adopted={MCP: sessions})


@pytest.fixture
def folder(world: World) -> str:
    return str(world.repository("walrus"))


@pytest.fixture
def wire(world: World, folder: str) -> Iterator[Wire]:
    sessions = {"known": [folder], "without-roots": [], "by-header": None}
    with Wire(build(world, sessions)) as wire:
        yield wire


def in_session(session: str, **more: str) -> dict[str, str]:
    return {"mcp_session_id": session, "mcp_protocol_version": LATEST, **more}


def project_of(wire: Wire, session: str, **more: str) -> str | None:
    return wire.call("memory_status", **in_session(session, **more)).result["structuredContent"].get("project")


def test_session_keeps_its_project_for_reads_and_writes(world: World, wire: Wire) -> None:
    assert project_of(wire, "known") == PROJECT
    wire.call("remember", {"content": "The walrus sleeps.", "category": "fact"}, **in_session("known"))
    assert [memory.project for memory in world.store.list(project=PROJECT)] == [PROJECT]


def test_session_without_roots_has_no_project(wire: Wire) -> None:
    assert project_of(wire, "without-roots") is None


def test_header_tells_the_folder_of_a_session(wire: Wire, folder: str) -> None:
    assert project_of(wire, "by-header", x_opencode_directory=folder) == PROJECT


@pytest.mark.parametrize("tool", ["memory_status", "kv_delete"])
def test_session_of_an_unknown_folder_is_refused(wire: Wire, tool: str) -> None:
    answer = wire.call(tool, {"key": "a"} if tool == "kv_delete" else {}, **in_session("by-header"))
    assert answer.status == 404


def test_session_whose_roots_change_is_refused_so_that_its_client_lists_them_again(wire: Wire) -> None:
    changed = {"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}
    assert wire.post(changed, **in_session("known")).status == 404
    assert wire.call("memory_status", **in_session("known")).status == 404


def test_session_has_no_stream_and_can_be_ended(wire: Wire) -> None:
    stream = wire.request("GET", "/mcp", accept="text/event-stream", mcp_session_id="known")
    assert (stream.status, stream.headers["allow"]) == (405, "POST, DELETE")
    assert wire.request("DELETE", "/mcp", mcp_session_id="known").status == 200
    assert wire.call("memory_status", **in_session("known")).status == 404


def test_session_that_was_used_last_is_not_the_one_to_be_evicted(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_endpoint, "_MOST_SESSIONS", 2)
    used, unused = wire.begin(), wire.begin()
    wire.call("kv_delete", {"key": "none"}, mcp_session_id=used)
    newest = wire.begin()
    described = wire.app.handover._describe()[MCP]
    assert (used in described, unused in described, newest in described) == (True, False, True)


def test_sessions_are_described_for_the_next_server(world: World, wire: Wire, folder: str) -> None:
    own = wire.begin()
    wire.call("kv_delete", {"key": "none"}, mcp_session_id=own)
    headed = wire.begin()
    assert wire.app.handover._describe()[MCP] == {
        "known": [folder],
        "without-roots": [],
        "by-header": None,
        own: [],
        headed: None,
    }


def test_server_that_nobody_called_passes_its_sessions_on(world: World, folder: str) -> None:
    assert build(world, {"known": [folder]}).handover._describe()[MCP] == {"known": [folder]}
