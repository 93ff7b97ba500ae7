"""Endpoints for monitoring: ``/health``, ``/stats`` and ``/metrics``.

They answer also after a task of the server has failed, so that a monitor shows the failure.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import anyio.to_thread
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

import opencode_memory
from opencode_memory.errors import OpencodeMemoryError
from opencode_memory.server import NAME
from opencode_memory.server.metrics import CONTENT_TYPE, Metrics
from opencode_memory.server.server_tasks import UNAVAILABLE
from opencode_memory.text.json_values import to_json

if TYPE_CHECKING:
    from starlette.requests import Request

    from opencode_memory.server.plugin.endpoint import Bridge
    from opencode_memory.server.server_state import ServerState
    from opencode_memory.store.reports import Stats

HEALTH: Final = "/health"
STATS: Final = "/stats"
METRICS: Final = "/metrics"


class Monitoring:
    """The endpoints.

    Args:
        state: The state of the server.
        metrics: The metrics of the server.
        bridge: The endpoint of OpenCode's plugins.
        count_sessions: Counts the known MCP sessions.
    """

    def __init__(
        self, state: ServerState, metrics: Metrics, *, bridge: Bridge, count_sessions: Callable[[], int]
    ) -> None:
        self._state = state
        self._metrics = metrics
        self._bridge = bridge
        self._count_sessions = count_sessions
        self._started_at = time.monotonic()

    def routes(self) -> list[Route]:
        """Return the routes of the endpoints."""
        return [Route(HEALTH, self._health), Route(STATS, self._stats), Route(METRICS, self._read_metrics)]

    async def _health(self, _: Request) -> Response:
        current = await anyio.to_thread.run_sync(self._state.health)
        body = {
            "server": NAME,
            "version": opencode_memory.__version__,
            "status": current.status,
            "task_failed": self._state.tasks.have_failed,
            "problems": list(current.problems),
            "notes": list(current.notes),
            "pid": os.getpid(),
            "uptime_seconds": round(time.monotonic() - self._started_at),
        }
        return JSONResponse(body, status_code=200 if current.ok else UNAVAILABLE)

    async def _stats(self, _: Request) -> Response:
        def read() -> Any:
            current = self._state.health()
            return to_json(
                {
                    "store": self._read_stats(),
                    "background": current.background,
                    "problems": current.problems,
                    "notes": current.notes,
                    "mcp_sessions": self._count_sessions(),
                    "plugins": self._bridge.plugins,
                    "plugin_versions": self._bridge.plugin_versions,
                }
            )

        return JSONResponse(await anyio.to_thread.run_sync(read))

    async def _read_metrics(self, _: Request) -> Response:
        def read() -> bytes:
            return self._metrics.read(self._read_stats(), healthy=self._state.health().ok)

        return Response(await anyio.to_thread.run_sync(read), media_type=CONTENT_TYPE)

    def _read_stats(self) -> Stats | None:
        """Return statistics of the store; None if it cannot be read, so that the other numbers are still available."""
        try:
            return self._state.store.stats()
        except OpencodeMemoryError:
            return None
