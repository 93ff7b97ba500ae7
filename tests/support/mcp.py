"""MCP clients for tests: agents that work in folders and share one store, in memory or over HTTP.

Asynchronous code runs on an event loop in a separate thread, so that tests stay synchronous.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, Self, TypeVar
from unittest.mock import patch

import httpx2
import mcp_types as types
import uvicorn
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from pydantic import FileUrl

from opencode_memory.config.load import Config, load
from opencode_memory.embedding import find_model
from opencode_memory.embedding.tokenization import Tokenization
from opencode_memory.server.app import build_server
from opencode_memory.server.metrics import Metrics
from opencode_memory.server.plugin.endpoint import MESSAGE_LIMIT
from opencode_memory.server.server_state import Background, ServerState
from opencode_memory.server.tool_calls import ToolCalls
from opencode_memory.server.web import WebApp, build_app
from opencode_memory.store.arguments import moment
from opencode_memory.text import clock
from support.stores import NOW_MS, open_store, set_clock

T = TypeVar("T")
HANDSHAKE = "legacy"
"""The mode of a client of the current protocol, which sends ``initialize``."""
MODERN = "2026-07-28"
"""The mode of a client of the newer protocol, which has no ``initialize`` and returns requests to the client as results."""
MODES = (HANDSHAKE, MODERN)
TOKEN = "token-of-the-plugin"
"""The token of OpenCode's plugin for these servers."""


@dataclass(frozen=True)
class Reply:
    """The result of a tool."""

    text: str
    data: dict[str, Any]
    is_error: bool

    @property
    def bytes(self) -> int:
        """The size of the text in UTF-8 bytes."""
        return len(self.text.encode())

    @property
    def contents(self) -> list[str]:
        """The texts of the memories in the result."""
        return [memory["content"] for memory in self.data["memories"]]


class Roots:
    """The roots of a client, which may change."""

    def __init__(self, *folders: Path) -> None:
        self.folders: Sequence[Path] = folders
        self.asked = 0

    async def __call__(self, _: Any) -> types.ListRootsResult:
        self.asked += 1
        return types.ListRootsResult(roots=[types.Root(uri=FileUrl(folder.as_uri())) for folder in self.folders])


class Agent:
    """A connected client."""

    def __init__(self, portal: BlockingPortal, client: Client) -> None:
        self._portal = portal
        self.client = client

    def call(self, tool: str, /, **arguments: Any) -> Reply:
        """Call a tool. Arguments are sent unchanged, including null."""
        result = self._portal.call(self.client.call_tool, tool, arguments)
        [block] = result.content
        return Reply(block.text, dict(result.structured_content or {}), bool(result.is_error))

    def ok(self, tool: str, /, **arguments: Any) -> Reply:
        """Call a tool that must succeed."""
        reply = self.call(tool, **arguments)
        assert not reply.is_error, reply.text
        return reply

    def refused(self, tool: str, /, **arguments: Any) -> str:
        """Call a tool that must fail, and return the error text."""
        reply = self.call(tool, **arguments)
        assert reply.is_error, reply.text
        return reply.text

    def remember(self, content: str, category: str = "fact", **more: Any) -> str:
        """Store a memory and return its id."""
        id: str = self.ok("remember", content=content, category=category, **more).data["id"]
        return id

    def recall(self, query: str, **more: Any) -> list[str]:
        """Recall memories and return their texts."""
        return self.ok("recall", query=query, **more).contents

    def run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Run a coroutine function on the event loop of this client."""
        return self._portal.call(function, *arguments)


class World:
    """A store with its servers and clients, which all end with the block.

    Args:
        folder: The folder of the store and the repositories.
        background: The background process that the server reports.
        environment: Variables of the server beside ``HOME``.
        settings: Configuration keys with two underscores instead of dots: ``server__tools="core"``.
    """

    def __init__(
        self,
        folder: Path,
        *,
        background: Background | None = None,
        environment: Mapping[str, str] | None = None,
        **settings: str,
    ) -> None:
        self.folder = folder
        options: dict[str, str | None] = {name.replace("__", "."): value for name, value in settings.items()}
        self.config: Config = load(environment={"HOME": str(folder / "home"), **(environment or {})}, options=options)
        self.store = open_store(folder / "data", actor="agent")
        self.metrics = Metrics()
        self.state = ServerState(
            self.store, self.config, self.metrics, background or Background(), _tokenization=_tokenization()
        )
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        self._now_ms = NOW_MS
        self._stack.enter_context(patch.object(clock, "now", lambda: moment(self._now_ms)))
        self._portal = self._stack.enter_context(start_blocking_portal())
        return self

    @property
    def now(self) -> datetime:
        """The current time of both clocks."""
        return moment(self._now_ms)

    def pass_time(self, seconds: float) -> None:
        """Advance both clocks, the store's and the server's."""
        self._now_ms += round(seconds * 1000)
        set_clock(self.store, self._now_ms)

    def __exit__(self, *error: object) -> None:
        self._stack.close()
        self.store.close()

    def agent(self, folder: Path | None = None, *, roots: Roots | None = None, mode: str = HANDSHAKE) -> Agent:
        """Connect a client in memory to its own server, started in ``folder``."""
        server = build_server(ToolCalls(self.state, folder=folder))
        return self.connect(Client(server, mode=mode, list_roots_callback=roots))

    def connect(self, client: Client, stack: ExitStack | None = None) -> Agent:
        """Keep a client connected until the world or the stack ends."""
        return Agent(self._portal, (stack or self._stack).enter_context(self.wrap(client)))

    def wrap(self, resource: AbstractAsyncContextManager[T]) -> AbstractContextManager[T]:
        """Turn an asynchronous context manager into a synchronous one."""
        return self._portal.wrap_async_context_manager(resource)

    def repository(self, name: str, *, remote: str | None = "") -> Path:
        """Create a git repository. The default remote is ``gitlab.com/group/<name>``; None means no remote."""
        folder = self.folder / name
        git = folder / ".git"
        for part in ("objects", "refs"):
            (git / part).mkdir(parents=True)
        (git / "HEAD").write_text("ref: refs/heads/main\n")
        url = f"https://gitlab.com/group/{name}.git" if remote == "" else remote
        (git / "config").write_text("" if url is None else f'[remote "origin"]\n\turl = {url}\n')
        return folder

    def worktree(self, of: Path, name: str) -> Path:
        """Create a linked working tree of a repository."""
        folder = self.folder / name
        folder.mkdir()
        git = of / ".git" / "worktrees" / name
        git.mkdir(parents=True)
        (git / "HEAD").write_text("ref: refs/heads/side\n")
        (git / "commondir").write_text("../..\n")
        (git / "gitdir").write_text(f"{folder / '.git'}\n")
        (folder / ".git").write_text(f"gitdir: {git}\n")
        return folder

    def dump(self) -> list[str]:
        """Return every row of the store, with sessions and claims, but without the usage of memories."""
        rows: list[Any] = [
            [kind, {name: value for name, value in row.items() if name not in ("uses", "used_at")}]
            for kind, row in self.store.rows.dump()
        ]
        for project in (None, *(project.name for project in self.store.projects.list())):
            rows += [
                ["session", [project, one.id, one.working_on, [claim.item for claim in one.claims]]]
                for one in self.store.sessions.active(project=project)
            ]
        return sorted(json.dumps(row, sort_keys=True) for row in rows)

    def app(self, *, key: str | None = None) -> WebApp:
        """Build the ASGI app of a resident server."""
        return build_app(self.state, self.metrics, host="127.0.0.1", key=key, token=TOKEN)

    @contextmanager
    def serve(self, *, key: str | None = None) -> Iterator[Resident]:
        """Serve over HTTP on a free port. Clients disconnect before the server ends."""
        config = uvicorn.Config(
            self.app(key=key),
            port=0,
            loop="asyncio",
            lifespan="on",
            ws="websockets-sansio",
            ws_max_size=MESSAGE_LIMIT,
            log_config=None,
            proxy_headers=False,
            timeout_graceful_shutdown=5,
        )
        ready = threading.Event()
        server = _Server(config, ready)
        thread = threading.Thread(target=server.run)
        thread.start()
        ready.wait(60)
        port = server.servers[0].sockets[0].getsockname()[1]
        try:
            with ExitStack() as clients:
                yield Resident(self, f"http://127.0.0.1:{port}/mcp", clients)
        finally:
            server.should_exit = True
            thread.join()


class Resident:
    """A server over HTTP for many clients."""

    def __init__(self, world: World, url: str, clients: ExitStack) -> None:
        self._world = world
        self._clients = clients
        self.url = url

    def agent(
        self,
        folder: Path | None = None,
        *,
        roots: Roots | None = None,
        mode: str = HANDSHAKE,
        headers: dict[str, str | bytes] | None = None,
    ) -> Agent:
        """Connect a client with ``folder`` in its header."""
        sent = dict(headers or {})
        if folder is not None:
            sent["x-opencode-directory"] = str(folder)
        http = self._clients.enter_context(self._world.wrap(httpx2.AsyncClient(headers=sent, timeout=60)))
        client = Client(streamable_http_client(self.url, http_client=http), mode=mode, list_roots_callback=roots)
        return self._world.connect(client, self._clients)


class _Server(uvicorn.Server):
    """Signals another thread when it is ready."""

    def __init__(self, config: uvicorn.Config, ready: threading.Event) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        self._ready.set()


@cache
def _tokenization() -> Tokenization:
    """Return the bundled tokenizer. It is slow to load, so all tests share one."""
    return Tokenization(find_model().vocabulary)


def race_for_claims(folder: Path, session: str, items: Sequence[str], start: Any, results: Any) -> None:
    """Claim items one by one, each at the same time as another process. Runs in a separate process.

    Args:
        folder: The folder of a world with a repository ``walrus``.
        session: The id of the claiming session.
        items: The items to claim.
        start: A barrier to pass before each claim.
        results: The end of a pipe. For each item it gets whether the claim was granted, and the text.
    """
    with World(folder) as world:
        agent = world.agent(folder / "walrus")
        agent.ok("session_start", session_id=session)
        answers = []
        for item in items:
            start.wait(60)
            reply = agent.call("claim_item", session_id=session, item_ref=item)
            answers.append((not reply.is_error, reply.text))
        results.send(answers)
