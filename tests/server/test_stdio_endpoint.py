"""The endpoint of ``serve --stdio``: whom it serves, and whom it leaves to serve their client themselves."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from starlette.websockets import WebSocket
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

import opencode_memory
from opencode_memory.resident.client import describe
from opencode_memory.resident.stdio_client import ACCEPTED, describe_server
from opencode_memory.server import stdio_endpoint
from opencode_memory.server.stdio_endpoint import StdioEndpoint
from support.mcp import TOKEN, Resident, World

PATIENCE_SECONDS = 30


@pytest.fixture
def server(world: World) -> Iterator[Resident]:
    with world.serve() as server:
        yield server


def open_socket(server: Resident, token: str = TOKEN) -> ClientConnection:
    url = server.url.removesuffix("/mcp").replace("http", "ws", 1) + "/stdio"
    return connect(
        url, additional_headers={"Authorization": f"Bearer {token}"}, proxy=None, open_timeout=PATIENCE_SECONDS
    ).__enter__()


def greeting(world: World, own: Path, **other: Any) -> str:
    config = world.state.config
    common = describe(config, opencode_memory.__version__) | describe_server(config)
    return json.dumps(common | {"folder": str(own)} | other)


def test_equal_process_is_served_for_its_folder(world: World, server: Resident, tmp_path: Path) -> None:
    with open_socket(server) as socket:
        socket.send(greeting(world, tmp_path))
        assert socket.recv(PATIENCE_SECONDS) == ACCEPTED
        who = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
        socket.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": who}))
        assert json.loads(socket.recv(PATIENCE_SECONDS))["id"] == 1
        socket.send(json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}))
        call = {"name": "memory_status", "arguments": {}}
        socket.send(json.dumps({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call}))
        assert json.loads(socket.recv(PATIENCE_SECONDS))["result"]["structuredContent"]["project"] == str(tmp_path)
        socket.send('{"jsonrpc": "2.0", "id": [7], "method": "ping"}')
        assert "id: must be a string" in json.loads(socket.recv(PATIENCE_SECONDS))["error"]["message"]


@pytest.mark.parametrize(
    "other",
    [
        {"version": "0.0.1"},
        {"data_dir": "/elsewhere"},
        {"settings": {}},
        {"tools": "other"},
        {"cross_project": True},
        {"folder": "relative"},
        {"folder": "/a\0b"},
        {"folder": None},
    ],
)
def test_other_process_is_declined(world: World, server: Resident, tmp_path: Path, other: dict[str, Any]) -> None:
    with open_socket(server) as socket:
        socket.send(greeting(world, tmp_path, **other))
        with pytest.raises(ConnectionClosed) as raised:
            socket.recv(PATIENCE_SECONDS)
        assert raised.value.rcvd is not None
        assert raised.value.rcvd.code == 4009


@pytest.mark.parametrize("text", ["", "no JSON", "[]", "[" * 100_000])
def test_strange_greeting_is_declined(server: Resident, text: str) -> None:
    with open_socket(server) as socket:
        socket.send(text)
        with pytest.raises(ConnectionClosed):
            socket.recv(PATIENCE_SECONDS)


def test_process_without_the_token_is_refused(server: Resident) -> None:
    with pytest.raises(InvalidStatus):
        open_socket(server, token="wrong")


def socket_of(left: list[str]) -> WebSocket:
    """Return the server's side of a socket whose client sends some texts, reads nothing, and disconnects."""

    async def receive() -> dict[str, Any]:
        if not connected:
            connected.append(True)
            return {"type": "websocket.connect"}
        return {"type": "websocket.receive", "text": left.pop(0)} if left else {"type": "websocket.disconnect"}

    async def send(message: Any) -> None:
        if message["type"] == "websocket.send":
            raise ConnectionResetError

    connected: list[bool] = []
    scope = {"type": "websocket", "headers": [(b"authorization", f"Bearer {TOKEN}".encode())]}
    return WebSocket(scope, receive, send)


def test_client_that_comes_while_the_sdk_is_imported_waits(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []

    async def wait_for_sdk() -> bool:
        steps.append("the server has imported the SDK")
        return True

    async def serve_client(*_: Any) -> None:
        steps.append("the client is served")

    def load() -> Any:
        steps.append("a thread imports the rest")
        return serve_client

    monkeypatch.setattr(stdio_endpoint, "_load", load)
    endpoint = StdioEndpoint(world.state, token=TOKEN, on_refused=steps.append, wait_for_sdk=wait_for_sdk)
    anyio.run(endpoint.serve, socket_of([greeting(world, tmp_path)]))
    assert steps == ["the server has imported the SDK", "a thread imports the rest", "the client is served"]


def test_requests_before_the_end_are_carried_out_after_an_answer_that_could_not_be_sent(
    world: World, tmp_path: Path
) -> None:
    async def wait_for_sdk() -> bool:
        return True

    endpoint = StdioEndpoint(world.state, token=TOKEN, on_refused=print, wait_for_sdk=wait_for_sdk)
    left = [greeting(world, tmp_path), *(json.dumps({"jsonrpc": "2.0", "id": id_, "method": "ping"}) for id_ in (1, 2))]
    anyio.run(endpoint.serve, socket_of(left))
    assert left == []
