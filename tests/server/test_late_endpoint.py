"""``/mcp`` while the SDK is imported: other routes are answered, and requests of MCP clients wait."""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import Any

import anyio

from opencode_memory.server.late_endpoint import LateEndpoint, load_endpoint
from opencode_memory.server.mcp_endpoint import McpEndpoint
from support.mcp import World

SCOPE = {"type": "http", "method": "PUT", "headers": [], "path": "/mcp"}


def test_modules_of_the_first_answer_do_not_import_the_sdk() -> None:
    code = "import sys, opencode_memory.server.http; print([name for name in sys.modules if name.startswith('mcp')])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_request_waits_until_the_endpoint_is_built(world: World) -> None:
    may_build, statuses = threading.Event(), []

    def build() -> McpEndpoint:
        assert may_build.wait(30)
        return load_endpoint(world.state, plugged=False, body_limit=1000)

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    async def ask() -> None:
        endpoint = LateEndpoint(build)
        async with endpoint.running(), anyio.create_task_group() as tasks:
            tasks.start_soon(endpoint, SCOPE, receive, send)
            await anyio.wait_all_tasks_blocked()
            assert (statuses, endpoint.sessions, endpoint.knows("session")) == ([], 0, False)
            may_build.set()

    anyio.run(ask)
    assert statuses == [405]
