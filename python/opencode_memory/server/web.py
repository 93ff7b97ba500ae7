"""The ASGI app of the resident server: its routes and the guards in front of them.

``/mcp`` is for MCP clients, ``/bridge`` for OpenCode's plugin, ``/terminal`` for OpenCode's terminal, ``/delegate``,
``/loops``, ``/stdio`` and ``/handover`` for commands of the same user, ``/ui`` for the user's browser, ``/health`` for
health checks, ``/stats`` and ``/metrics`` for monitoring. No route lets a page of another origin read its response.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import anyio
from starlette.applications import Starlette
from starlette.routing import Mount, Route, WebSocketRoute

from opencode_memory.resident.client import HANDOVER_PATH, LOOPS_PATH, STDIO_PATH
from opencode_memory.resident.client import PATH as DELEGATE
from opencode_memory.server.delegation import Delegation
from opencode_memory.server.guards import ApiKey, BodyLimit, Fence, RateLimit, default_hosts, default_origins
from opencode_memory.server.handover import Handover
from opencode_memory.server.in_flight import InFlight
from opencode_memory.server.late_sdk import LateSdk, load_sessions
from opencode_memory.server.loops_endpoint import LoopsEndpoint
from opencode_memory.server.mcp_endpoint import McpEndpoint
from opencode_memory.server.metrics import Metrics
from opencode_memory.server.monitoring import HEALTH, METRICS, STATS, Monitoring
from opencode_memory.server.pages import ROOT as PAGES
from opencode_memory.server.pages.late_site import LateSite
from opencode_memory.server.plugin.endpoint import Bridge
from opencode_memory.server.plugin.protocol import PATH as BRIDGE
from opencode_memory.server.stdio_endpoint import StdioEndpoint
from opencode_memory.server.terminal_endpoint import PATH as TERMINAL
from opencode_memory.server.terminal_endpoint import TerminalEndpoint
from opencode_memory.server.tool_calls import ToolCalls

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from opencode_memory.server.client_project import Described
    from opencode_memory.server.server_state import ServerState

BODY_LIMIT: Final = 4 * 1024 * 1024
MCP: Final = "/mcp"
PLUGGED_MCP: Final = "/mcp/opencode"
"""The MCP endpoint for an OpenCode with the plugin: only the tools that the plugin does not replace."""
_OPEN_AFTER_FAILURE: Final = frozenset({HEALTH, STATS, METRICS, HANDOVER_PATH})
"""Paths that still answer after a task of the server has failed, so that a monitor and the next server can use them."""
_PATHS: Final = frozenset({MCP, PLUGGED_MCP, HEALTH, STATS, METRICS, DELEGATE, LOOPS_PATH, TERMINAL})


def build_app(
    state: ServerState,
    metrics: Metrics,
    *,
    host: str,
    key: str | None,
    token: str,
    adopted: Mapping[str, Described] = MappingProxyType({}),
    on_complete: Callable[[], None] = lambda: None,
) -> WebApp:
    """Build the ASGI app with its guards.

    Args:
        state: The state of the server.
        metrics: The metrics of the server.
        host: The address that the server binds.
        key: The API key that every request must carry, except to ``/health`` and below ``/ui``, which has sessions of
            its own; None if no key is required.
        token: The token of OpenCode's plugin; it is valid like the key.
        adopted: The sessions of the server that this one replaces, by path.
        on_complete: Called when all modules are imported that most clients need.
    """
    in_flight = InFlight()
    endpoints = _build_endpoints(state, metrics, token=token, adopted=adopted, in_flight=in_flight)
    metrics.add_gauge("mcp_sessions", "Known MCP sessions.", endpoints.count_sessions)
    metrics.add_gauge("plugins", "Connected OpenCode plugins.", lambda: endpoints.bridge.plugins)
    monitoring = Monitoring(state, metrics, bridge=endpoints.bridge, count_sessions=endpoints.count_sessions)
    app: ASGIApp = _build_routes(state, endpoints, monitoring, token=token, on_complete=on_complete)
    app = _guard(app, state, metrics, endpoints, host=host, key=key, token=token)
    return WebApp(app, metrics, endpoints.drain, endpoints.handover, in_flight)


@dataclass(frozen=True, slots=True)
class _Endpoints:
    """The endpoints that keep connections or sessions.

    Attributes:
        mcp: The MCP endpoints, by path.
        bridge: The endpoint of OpenCode's plugins.
        stdio: The endpoint of ``serve --stdio``.
        handover: Hands over to a newer server.
    """

    mcp: Mapping[str, McpEndpoint]
    bridge: Bridge
    stdio: StdioEndpoint
    handover: Handover

    def count_sessions(self) -> int:
        """Count the known MCP sessions."""
        return sum(endpoint.sessions for endpoint in self.mcp.values())

    def knows_session(self, session: str) -> bool:
        """Return whether an MCP session is known."""
        return any(endpoint.knows(session) for endpoint in self.mcp.values())

    async def wait_complete(self) -> bool:
        """Wait until the MCP SDK is imported; return whether it is."""
        return await _wait_complete(self.mcp)

    async def leave(self) -> None:
        """End the connections of plugins and of ``serve --stdio``."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.bridge.leave)
            tasks.start_soon(self.stdio.leave)

    async def drain(self) -> None:
        """Refuse new calls, and wait until running calls are answered."""
        async with anyio.create_task_group() as tasks:
            for endpoint in self.mcp.values():
                tasks.start_soon(endpoint.drain)


def _build_endpoints(
    state: ServerState, metrics: Metrics, *, token: str, adopted: Mapping[str, Described], in_flight: InFlight
) -> _Endpoints:
    mcp = {
        MCP: _build_endpoint(ToolCalls(state), adopted.get(MCP, {})),
        PLUGGED_MCP: _build_endpoint(ToolCalls(state, plugged=True), adopted.get(PLUGGED_MCP, {})),
    }
    bridge = Bridge(state, token=token, on_refused=metrics.refuse)
    stdio = StdioEndpoint(state, token=token, on_refused=metrics.refuse, wait_for_sdk=partial(_wait_complete, mcp))

    async def settle() -> None:
        async with anyio.create_task_group() as tasks:
            for wait in (in_flight.wait_idle, bridge.leave, stdio.leave):
                tasks.start_soon(wait)

    def describe() -> dict[str, Described]:
        return {path: endpoint.describe_sessions() for path, endpoint in mcp.items()}

    return _Endpoints(mcp, bridge, stdio, Handover(token, settle=settle, describe=describe))


def _build_endpoint(calls: ToolCalls, adopted: Described) -> McpEndpoint:
    return McpEndpoint(calls, LateSdk(partial(load_sessions, calls, body_limit=BODY_LIMIT)), adopted)


async def _wait_complete(mcp: Mapping[str, McpEndpoint]) -> bool:
    return all([await endpoint.wait_complete() for endpoint in mcp.values()])


def _guard(
    app: ASGIApp,
    state: ServerState,
    metrics: Metrics,
    endpoints: _Endpoints,
    *,
    host: str,
    key: str | None,
    token: str,
) -> ASGIApp:
    """Put the guards in front of the routes. A request passes the last one first."""
    config = state.config.server
    app = state.tasks.guard(app, open_paths=_OPEN_AFTER_FAILURE)
    app = BodyLimit(app, limit=BODY_LIMIT, on_refused=metrics.refuse)
    if key is not None:
        app = ApiKey(
            app, key=key, other=token, open_paths=frozenset({HEALTH}), open_below=f"{PAGES}/", on_refused=metrics.refuse
        )
    app = RateLimit(
        app,
        per_minute=config.rate_limit,
        known_session=endpoints.knows_session,
        clock=time.monotonic,
        on_refused=metrics.refuse,
        exempt=frozenset({HEALTH}),
    )
    return Fence(
        app,
        hosts=default_hosts(host) | frozenset(config.allowed_hosts),
        origins=default_origins(host) | frozenset(config.allowed_origins),
        on_refused=metrics.refuse,
    )


def _build_routes(
    state: ServerState,
    endpoints: _Endpoints,
    monitoring: Monitoring,
    *,
    token: str,
    on_complete: Callable[[], None],
) -> Starlette:
    bridge = endpoints.bridge

    async def report_complete() -> None:
        if await endpoints.wait_complete():
            on_complete()

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with state.tasks.watch(endpoints.leave), AsyncExitStack() as running:
            for endpoint in endpoints.mcp.values():
                await running.enter_async_context(endpoint.running())
            tasks = await running.enter_async_context(anyio.create_task_group())
            tasks.start_soon(bridge.loops.serve)
            tasks.start_soon(report_complete)
            bridge.learning.start()
            yield
            bridge.learning.close()
            tasks.cancel_scope.cancel()

    terminal = TerminalEndpoint(state, token=token, find_outdated=bridge.find_outdated)
    return Starlette(
        routes=[
            *(Route(path, endpoint=endpoint) for path, endpoint in endpoints.mcp.items()),
            *monitoring.routes(),
            Route(DELEGATE, Delegation(state, token=token).handle, methods=["POST"]),
            Route(HANDOVER_PATH, endpoints.handover.handle, methods=["POST"]),
            Route(LOOPS_PATH, LoopsEndpoint(state, bridge.loops, token=token).handle, methods=["GET", "POST"]),
            WebSocketRoute(BRIDGE, bridge.serve),
            WebSocketRoute(STDIO_PATH, endpoints.stdio.serve),
            Route(TERMINAL, terminal.handle, methods=["GET", "POST"]),
            Mount(PAGES, app=LateSite(state, token)),
        ],
        lifespan=lifespan,
    )


class WebApp:
    """The outermost ASGI app: counts requests by path and status, and ends every response.

    All unknown paths are counted as one path. Otherwise a client could create any number of metrics.

    Args:
        app: The app with its guards.
        metrics: The metrics of the server.
        drain: Refuses new calls, and waits until running calls are answered.
        handover: Hands over to a newer server.
        in_flight: Counts the requests that have to be answered before that.
    """

    def __init__(
        self,
        app: ASGIApp,
        metrics: Metrics,
        drain: Callable[[], Awaitable[None]],
        handover: Handover,
        in_flight: InFlight,
    ) -> None:
        self._app = app
        self._metrics = metrics
        self.drain = drain
        self.handover = handover
        self._in_flight = in_flight

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path = scope["path"] if scope["path"] in _PATHS else "other"

        is_open = False

        async def count(message: Message) -> None:
            nonlocal is_open
            if message["type"] == "http.response.start":
                if self.handover.is_moving:
                    # The next request of the client is for the next server.
                    message["headers"] = [*message.get("headers", ()), (b"connection", b"close")]
                self._metrics.requests.labels(path, str(message["status"])).inc()
            is_open = message["type"] == "http.response.start" or bool(message.get("more_body", False))
            await send(message)

        # A request by GET may get a stream, which does not end by itself.
        with self._in_flight.one() if scope["method"] == "POST" else nullcontext():
            await self._app(scope, receive, count)
        if is_open:
            # The stream of a session does not end by itself; end it when the server shuts down.
            await send({"type": "http.response.body", "body": b"", "more_body": False})
