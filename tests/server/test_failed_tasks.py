"""A resident server one of whose tasks has failed: it says so, and its clients do not use it."""

from __future__ import annotations

import json
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

import opencode_memory
from opencode_memory.hosts.opencode.contract import TOKEN_FILE
from opencode_memory.loops.keeper import Keeper
from opencode_memory.resident.client import MOVED, delegate, describe
from opencode_memory.resident.stdio_client import ACCEPTED, describe_server, find_resident
from opencode_memory.server import web
from opencode_memory.server.sdk_sessions import SdkSessions
from support.mcp import TOKEN, Resident, World

PATIENCE_SECONDS = 30
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
WANTED = {"accept": "application/json, text/event-stream"}

Fail = Callable[[], None]


@pytest.fixture(params=["import of the SDK", "sessions of the SDK", "loops"])
def fail(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Fail:
    """Let a task of the next server fail when the result is called."""
    failing = threading.Event()

    def wait() -> None:
        failing.wait(PATIENCE_SECONDS)

    def load(*_: Any, **__: Any) -> Any:
        wait()
        raise ImportError("no module named private")

    @asynccontextmanager
    async def run(_: SdkSessions) -> AsyncIterator[None]:
        async with anyio.create_task_group() as tasks:

            async def end() -> None:
                await anyio.to_thread.run_sync(wait)
                tasks.cancel_scope.cancel()

            tasks.start_soon(end)
            yield

    async def serve(_: Keeper) -> None:
        await anyio.to_thread.run_sync(wait)
        raise ExceptionGroup("several", [KeyError("private")])

    match request.param:
        case "import of the SDK":
            monkeypatch.setattr(web, "load_sessions", load)
        case "sessions of the SDK":
            monkeypatch.setattr(SdkSessions, "running", run)
        case _:
            monkeypatch.setattr(Keeper, "serve", serve)
    return failing.set


@pytest.fixture
def server(fail: Fail, world: World) -> Iterator[Resident]:
    with world.serve() as server:
        yield server
        fail()


def open_socket(server: Resident, path: str) -> ClientConnection:
    url = server.url.removesuffix("/mcp").replace("http", "ws", 1) + path
    headers = {"Authorization": f"Bearer {TOKEN}"}
    return connect(url, additional_headers=headers, proxy=None, open_timeout=PATIENCE_SECONDS).__enter__()


def wait_for_failure(socket: ClientConnection) -> int | None:
    """Wait until the server disconnects a client, which it does after a failure. Return the close code."""
    with pytest.raises(ConnectionClosed) as closed:
        list(socket)
    return None if closed.value.rcvd is None else closed.value.rcvd.code


def test_failed_server_says_so_and_refuses_its_clients(server: Resident, fail: Fail) -> None:
    root = server.url.removesuffix("/mcp")
    assert httpx2.get(f"{root}/health").json()["problems"] == []
    plugin = open_socket(server, "/bridge")
    fail()
    wait_for_failure(plugin)
    health = httpx2.get(f"{root}/health")
    assert (health.status_code, health.json()["status"]) == (503, "degraded")
    [problem] = health.json()["problems"]
    assert "a task of the server has failed" in problem
    assert "private" not in problem
    assert "opencode_memory_healthy 0" in httpx2.get(f"{root}/metrics").text
    for path in ("/mcp", "/mcp/opencode", "/delegate", "/terminal", "/loops"):
        assert httpx2.post(root + path, json=LIST, headers=WANTED).status_code == 503, path
    for path in ("/bridge", "/stdio"):
        with pytest.raises(InvalidStatus) as raised:
            open_socket(server, path)
        assert raised.value.response.status_code == 503


def test_commands_do_not_use_a_failed_server(world: World, server: Resident, fail: Fail, tmp_path: Path) -> None:
    port = int(server.url.removesuffix("/mcp").rpartition(":")[2])
    config = replace(world.state.config, server=replace(world.state.config.server, port=port))
    world.state.operations["check"] = lambda _store, _request: {}  # type: ignore[index]
    token_file = tmp_path / TOKEN_FILE
    token_file.write_text(TOKEN, encoding="ascii")
    version = opencode_memory.__version__
    assert delegate(config, version, token_file, "check", {}) == {}
    plugin = open_socket(server, "/bridge")
    fail()
    wait_for_failure(plugin)
    assert delegate(config, version, token_file, "check", {}) is None
    assert find_resident(config, version, token_file, tmp_path) is None


def test_connected_process_is_sent_elsewhere_when_a_task_fails(
    world: World, server: Resident, fail: Fail, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    config = world.state.config
    common = describe(config, opencode_memory.__version__) | describe_server(config)
    with open_socket(server, "/stdio") as socket:
        socket.send(json.dumps(common | {"folder": str(tmp_path)}))
        is_accepted = "import" not in request.node.name
        if is_accepted:
            assert socket.recv(PATIENCE_SECONDS) == ACCEPTED
        fail()
        assert wait_for_failure(socket) == (MOVED if is_accepted else 4009)
