"""``/mcp`` while the SDK is imported: calls of reading tools are answered, and all other requests wait."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from importlib.util import find_spec
from typing import Any

import anyio
import pytest

from opencode_memory.server.late_sdk import LateSdk, load_sessions
from opencode_memory.server.mcp_endpoint import McpEndpoint
from opencode_memory.server.sdk_sessions import SdkSessions
from opencode_memory.server.tool_calls import ToolCalls
from opencode_memory.server.web import build_app
from support.mcp import TOKEN, World
from support.mcp_http import LATEST, Wire

HEADERS = [
    (b"accept", b"application/json, text/event-stream"),
    (b"content-type", b"application/json"),
    (b"mcp-protocol-version", LATEST.encode()),
]
RECALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "recall", "arguments": {"query": "x"}}}
LATER = {
    "mcp",
    "mcp_types",
    "opencode_memory.context.compaction",
    "opencode_memory.exchange",
    "opencode_memory.loops.runner",
    "opencode_memory.notes",
    "opencode_memory.server.pages.site",
    "opencode_memory.service.launchd",
    "opencode_memory.service.systemd",
    "opencode_memory.service.task_scheduler",
}
"""Modules that a server imports when a client first needs them, so that its first answer comes earlier."""
LIST = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}


class Loading:
    """Sends messages to an endpoint and keeps the statuses of its answers. The test decides when the SDK is imported."""

    def __init__(self, world: World) -> None:
        self.may_build = threading.Event()
        self.fails = False
        self.statuses: list[int] = []
        calls = ToolCalls(world.state)

        def build() -> SdkSessions:
            assert self.may_build.wait(30)
            if self.fails:
                raise ImportError("no SDK")
            return load_sessions(calls, body_limit=10_000)

        self.endpoint = McpEndpoint(calls, LateSdk(build), {"adopted": None})

    async def post(self, message: dict[str, Any]) -> None:
        """Send a message as a client without a session."""
        parts = iter([{"type": "http.request", "body": json.dumps(message).encode(), "more_body": False}])

        async def receive() -> Any:
            return next(parts, None) or await anyio.sleep_forever()

        async def send(part: Any) -> None:
            if part["type"] == "http.response.start":
                self.statuses.append(part["status"])

        scope = {"type": "http", "method": "POST", "headers": HEADERS, "path": "/mcp", "query_string": b""}
        await self.endpoint(scope, receive, send)


@pytest.fixture
def loading(world: World) -> Loading:
    return Loading(world)


def test_modules_of_the_first_answer_import_nothing_that_only_later_answers_need() -> None:
    code = f"import sys, opencode_memory.server.http; print(sorted({LATER!r} & sys.modules.keys()))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_every_module_that_only_later_answers_need_exists() -> None:
    assert [name for name in LATER if find_spec(name) is None] == []


def test_recall_is_answered_before_the_sdk_is_imported(loading: Loading) -> None:
    async def ask() -> None:
        async with loading.endpoint.running():
            await loading.post(RECALL)
            assert loading.statuses == [200]
            loading.may_build.set()

    anyio.run(ask)


def test_request_for_the_sdk_is_refused_if_it_cannot_be_imported(loading: Loading) -> None:
    loading.fails = True

    async def ask() -> None:
        async with anyio.create_task_group() as tasks:
            with pytest.RaisesGroup(ImportError):
                async with loading.endpoint.running():
                    tasks.start_soon(loading.post, LIST)
                    await anyio.wait_all_tasks_blocked()
                    loading.may_build.set()
                    await anyio.sleep_forever()

    anyio.run(ask)
    assert loading.statuses == [503]


def test_request_for_the_sdk_waits_until_it_is_imported(loading: Loading) -> None:
    async def ask() -> None:
        async with loading.endpoint.running(), anyio.create_task_group() as tasks:
            tasks.start_soon(loading.post, LIST)
            await anyio.wait_all_tasks_blocked()
            assert loading.statuses == []
            loading.may_build.set()

    anyio.run(ask)
    assert loading.statuses == [200]


def test_drain_waits_for_a_request_that_waits_for_the_sdk(loading: Loading) -> None:
    async def ask() -> None:
        async with loading.endpoint.running(), anyio.create_task_group() as tasks:
            tasks.start_soon(loading.post, LIST)
            await anyio.wait_all_tasks_blocked()
            with anyio.move_on_after(0.05) as waiting:
                await loading.endpoint.drain()
            assert (waiting.cancelled_caught, loading.statuses) == (True, [])
            loading.may_build.set()
            await loading.endpoint.drain()
            assert loading.statuses == [200]

    anyio.run(ask)


def test_adopted_session_is_known_before_the_sdk_is_imported(loading: Loading) -> None:
    endpoint = loading.endpoint
    assert (endpoint.sessions, endpoint.knows("adopted"), endpoint.knows("session")) == (1, True, False)
    assert endpoint.describe_sessions() == {"adopted": None}


def test_start_is_complete_once_the_sdk_is_imported(world: World) -> None:
    complete = threading.Event()
    app = build_app(world.state, world.metrics, host="127.0.0.1", key=None, token=TOKEN, on_complete=complete.set)
    with Wire(app):
        assert complete.wait(30)
