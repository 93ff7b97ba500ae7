"""One plugin: whose instance of OpenCode it sits in, what it asks, and what is learned from it.

What it asks for a model is answered within the deadline of a hook or not at all, so nothing here waits for learning.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup

import opencode_memory
from opencode_memory import clock
from opencode_memory.errors import ConflictError
from opencode_memory.server.bridge import hooks
from opencode_memory.server.bridge.opencode import OpenCode, SessionFacts
from opencode_memory.server.bridge.peer import Peer, RemoteError
from opencode_memory.server.bridge.protocol import EVENTS, PROTOCOL, Greeting, name
from opencode_memory.server.bridge.watch import Watch

if TYPE_CHECKING:
    from opencode_memory.server.bridge.endpoint import Bridge

MCP_NAME: Final = "memory"
_THREADS: Final = 8
_MOST_SESSIONS: Final = 1_000
_FACTS_SECONDS: Final = 0.2
_SUMMARY_SECONDS: Final = 0.2
_CATCH_UP_SECONDS: Final = 0.2
_MCP_SECONDS: Final = 10.0
_log: Final = logging.getLogger(__name__)
_T = TypeVar("_T")


class Connection:
    """What one plugin is served by.

    Args:
        bridge: What all of them share.
        send: Sends a text to it.
    """

    def __init__(self, bridge: Bridge, send: Any) -> None:
        self._bridge = bridge
        self._limiter = anyio.CapacityLimiter(_THREADS)
        self._here: hooks.Here | None = None
        self._watch = Watch(bridge.state)
        self._sessions: OrderedDict[str, SessionFacts] = OrderedDict()
        self._tasks: TaskGroup | None = None
        self.is_ready = False
        self.peer = Peer(
            send,
            requests={
                "hello": self._hello,
                "messages": self._messages,
                "compacting": self._compacting,
                "command": self._command,
                "tool": self._tool,
                "flush": self._flush,
            },
            notifications={"settled": self._settled, "events": self._events},
        )
        self.opencode = OpenCode(self.peer)

    async def run(self, texts: Any) -> None:
        """Serve it until it goes."""
        async with anyio.create_task_group() as self._tasks:
            await self.peer.run(texts)
            self._tasks.cancel_scope.cancel()

    async def _hello(self, params: Any) -> dict[str, Any]:
        greeting = Greeting.of(params)
        answer: dict[str, Any] = {"protocol": PROTOCOL, "version": opencode_memory.__version__}
        if greeting.protocol != PROTOCOL:
            return answer | {"notice": _notice(greeting), "refused": True}
        self._here = hooks.Here(self._bridge.state, self._bridge.whereabouts, Path(greeting.directory))
        if self._tasks is not None:
            self._tasks.start_soon(self._welcome, greeting)
        return answer | {"deadline_ms": self._bridge.state.config.opencode.deadline_ms, "events": [*EVENTS]}

    async def _welcome(self, greeting: Greeting) -> None:
        """Do what may take its time once a plugin is there."""
        # The first message would otherwise wait for the model and the indexes to be loaded, and come too late.
        await self._on_thread(self._bridge.state.warm_up)
        self.is_ready = True
        try:
            if greeting.version != opencode_memory.__version__:
                await self.opencode.toast(_notice(greeting), variant="warning")
            await self.opencode.connect_mcp(MCP_NAME, seconds=_MCP_SECONDS)
        except RemoteError as error:
            _log.info("OpenCode in %s: %s", greeting.directory, error)

    async def _messages(self, params: Any) -> dict[str, Any]:
        facts = await self._facts(name(params, "sessionID"))
        return await self._on_thread(partial(hooks.messages, self._greeted(), params, facts))

    async def _compacting(self, params: Any) -> dict[str, Any]:
        session, here = name(params, "sessionID"), self._greeted()
        facts = await self._facts(session)
        previous = None
        if self._bridge.state.config.compaction.custom_prompt:
            previous = await self.opencode.last_summary(session, seconds=_SUMMARY_SECONDS)
        # What was said before has to be learned before it is out of sight.
        with anyio.move_on_after(_CATCH_UP_SECONDS):
            await self.peer.caught_up()
            await self._on_thread(partial(self._watch.rest, session, at=clock.now()))
        return await self._on_thread(partial(hooks.compacting, here, session, facts, previous))

    async def _command(self, params: Any) -> dict[str, Any]:
        return await self._on_thread(partial(hooks.command, self._greeted(), params))

    async def _tool(self, params: Any) -> dict[str, Any]:
        return await self._on_thread(partial(hooks.tool, self._greeted(), params))

    async def _flush(self, _: Any) -> dict[str, Any]:
        """Answer once everything that was told so far is taken."""
        await self.peer.caught_up()
        return {}

    async def _settled(self, params: Any) -> None:
        await self._on_thread(partial(hooks.settled, self._greeted(), params))

    async def _events(self, params: Any) -> None:
        self._greeted()
        await self._on_thread(partial(self._watch.take, params, at=clock.now()))

    async def _facts(self, session: str) -> SessionFacts:
        """Ask OpenCode what a session is; once, since it stays so."""
        known = self._sessions.get(session)
        if known is None:
            try:
                known = await self.opencode.facts_of(session, seconds=_FACTS_SECONDS)
            except RemoteError as error:
                _log.info("nothing is known of session %s: %s", session, error)
                return SessionFacts()
            self._sessions[session] = known
            while len(self._sessions) > _MOST_SESSIONS:
                self._sessions.popitem(last=False)
        return known

    def _greeted(self) -> hooks.Here:
        if self._here is None:
            raise ConflictError("say hello first")
        return self._here

    async def _on_thread(self, work: Callable[[], _T]) -> _T:
        return await anyio.to_thread.run_sync(work, limiter=self._limiter)


def _notice(greeting: Greeting) -> str:
    ours, theirs = opencode_memory.__version__, greeting.version
    return (
        f"the plugin in OpenCode is version {theirs}, the server {ours}: run `opencode-memory setup`, "
        "restart OpenCode, and stop an old server (`opencode-memory doctor` finds it)"
    )
