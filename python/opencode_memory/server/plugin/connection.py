"""Connection of one plugin: dispatches its requests and notifications.

Requests of hooks have a deadline, so they wait for learning only for a limited time.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import AsyncIterable, Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup

import opencode_memory
from opencode_memory.errors import ConflictError, OpencodeMemoryError
from opencode_memory.hosts.opencode.contract import LOOP_TOOLS, PROTOCOL
from opencode_memory.server.plugin import handlers
from opencode_memory.server.plugin.confinement import confine, find_loop, judge_call
from opencode_memory.server.plugin.digest_runner import DigestRunner, Instance
from opencode_memory.server.plugin.json_rpc import Peer, RemoteError
from opencode_memory.server.plugin.loop_host import LoopHost
from opencode_memory.server.plugin.mcp_link import McpLink
from opencode_memory.server.plugin.opencode_client import (
    OpenCode,
    SessionFacts,
    drop_sessions,
    find_facts,
    has_user_message,
)
from opencode_memory.server.plugin.plan_answers import PlanQuestions
from opencode_memory.server.plugin.protocol import (
    EVENTS,
    CommandParams,
    Greeting,
    GuardParams,
    MessagesParams,
    SessionParams,
    SettledParams,
    ToolParams,
    TurnParams,
)
from opencode_memory.server.plugin.session_watch import Watch
from opencode_memory.service.versions import is_older
from opencode_memory.text import clock

if TYPE_CHECKING:
    from opencode_memory.loops.keeper import Keeper
    from opencode_memory.loops.model import Loop
    from opencode_memory.server.client_project import ClientProjects
    from opencode_memory.server.server_state import ServerState

_THREADS: Final = 8
_MAX_SESSIONS: Final = 1_000
_MAX_ANCESTORS: Final = 10
_SESSION_ID: Final = "ses"
_FACTS_SECONDS: Final = 0.2
_SUMMARY_SECONDS: Final = 0.2
_CATCH_UP_SECONDS: Final = 0.2
_EVENTS_SECONDS: Final = 2.0
_log: Final = logging.getLogger(__name__)
_T = TypeVar("_T")


class Connection:
    """Serves one plugin.

    Args:
        state: The server's state.
        projects: Finds the project of a folder.
        digests: Digests sessions through the plugin's OpenCode.
        loops: Runs loops and approved plans in the plugin's OpenCode.
        send: Sends a text to the plugin.
    """

    def __init__(
        self, state: ServerState, projects: ClientProjects, digests: DigestRunner, loops: Keeper, send: Any
    ) -> None:
        self._loops = loops
        self._host: LoopHost | None = None
        self._questions = PlanQuestions()
        self._state = state
        self._projects = projects
        self._digests = digests
        self._pid = 0
        # Version and folder of the plugin; empty before its greeting.
        self.version = self.directory = ""
        self._limiter = anyio.CapacityLimiter(_THREADS)
        self._context: handlers.PluginContext | None = None
        self._watch = Watch(state)
        self._sessions: OrderedDict[str, SessionFacts] = OrderedDict()
        self._tasks: TaskGroup | None = None
        self.is_ready = False
        self.is_greeted = anyio.Event()
        self.peer = Peer(
            send,
            requests={
                "hello": self._handle_hello,
                "turn": self._handle_turn,
                "messages": self._handle_messages,
                "compacting": self._handle_compacting,
                "command": self._handle_command,
                "tool": self._handle_tool,
                "shell": self._handle_shell,
                "guard": self._handle_guard,
                "flush": self._handle_flush,
            },
            notifications={"settled": self._handle_settled, "events": self._handle_events},
        )
        self.opencode = OpenCode(self.peer)
        self._mcp = McpLink(self.opencode)

    async def run(self, texts: AsyncIterable[str]) -> None:
        """Serve the plugin until it disconnects."""
        try:
            async with anyio.create_task_group() as self._tasks:
                await self.peer.run(texts)
                self._tasks.cancel_scope.cancel()
        finally:
            if self._host is not None:
                self._host.close()
                self._loops.remove(self._host)

    async def _handle_hello(self, params: Any) -> dict[str, Any]:
        greeting = Greeting.parse(params)
        if self._context is not None:
            raise ConflictError("hello was already sent; each instance of OpenCode needs its own connection")
        answer: dict[str, Any] = {"protocol": PROTOCOL, "version": opencode_memory.__version__}
        if greeting.protocol != PROTOCOL:
            return answer | {"notice": _format_notice(greeting, is_refused=True), "refused": True}
        self._context = handlers.PluginContext(self._state, self._projects, Path(greeting.directory))
        self.is_greeted.set()
        self._pid = greeting.pid
        self.version, self.directory = greeting.version, greeting.directory
        if self._tasks is not None:
            self._tasks.start_soon(self._welcome, greeting)
        config = self._state.config.opencode
        deadlines = {"deadline_ms": config.deadline_ms, "first_deadline_ms": config.first_deadline_ms}
        return answer | deadlines | {"events": [*EVENTS]}

    async def _welcome(self, greeting: Greeting) -> None:
        """Do the slow part of the greeting: warm up, and warn about another version."""
        try:
            # Otherwise the first message would wait until the model and the indexes are loaded, and miss its deadline.
            await self._on_thread(self._state.warm_up)
            self.is_ready = True
            if greeting.version != opencode_memory.__version__:
                await self.opencode.toast(_format_notice(greeting), variant="warning")
        except RemoteError as error:
            _log.info("OpenCode in %s: %s", greeting.directory, error)
        except Exception:  # noqa: BLE001  a failed greeting must not end the connection
            _log.exception("the greeting of the plugin in %s failed", greeting.directory)
        self._host = LoopHost(self.opencode, Path(greeting.directory), greeting.pid)
        self._loops.add(self._host)
        await self._digests.serve(Instance(self.opencode, Path(greeting.directory), greeting.pid))

    async def _handle_turn(self, params: Any) -> dict[str, Any]:
        asked = TurnParams.parse(params)
        self._require_context()
        return {"settled": await self._mcp.begin_turn(asked.session, left_out=asked.left_out)}

    async def _handle_messages(self, params: Any) -> dict[str, Any]:
        asked, context = MessagesParams.parse(params), self._require_context()
        facts = await self._get_facts(asked.session)
        if not facts.is_ours:
            self._digests.interrupt(self._pid)
        # The outcomes of earlier messages decide which memories the model already sees.
        await self.peer.wait_for_notifications("settled")
        if len(asked.visible) == 1 and facts.parent is None and not facts.is_ours and not asked.summary:
            rest = partial(self._watch.rest_others, asked.session, str(context.folder), at=clock.now())
            await self._catch_up(rest, f"session {asked.session} begins")
        return await self._on_thread(partial(handlers.handle_messages, context, asked, facts))

    async def _handle_compacting(self, params: Any) -> dict[str, Any]:
        session, context = SessionParams.parse(params).session, self._require_context()
        facts = SessionFacts()
        previous = handlers.PreviousSummary(is_known=not self._state.config.compaction.custom_prompt)

        async def ask_facts() -> None:
            nonlocal facts
            facts = await self._get_facts(session)

        async def ask_summary() -> None:
            nonlocal previous
            try:
                summary = await self.opencode.last_summary(session, seconds=_SUMMARY_SECONDS)
                previous = handlers.PreviousSummary(summary)
            except RemoteError as error:
                _log.info("the previous summary is unknown, so OpenCode's own prompt is used: %s", error)

        # In parallel: together they must meet the deadline of one hook.
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask_facts)
            rest = partial(self._watch.rest, session, at=clock.now())
            tasks.start_soon(self._catch_up, rest, f"session {session} is compacted")
            if not previous.is_known:
                tasks.start_soon(ask_summary)
        return await self._on_thread(partial(handlers.handle_compacting, context, session, facts, previous))

    async def _catch_up(self, rest: Callable[[], None], event: str) -> None:
        """Learn what waits, within a time limit, before messages are compacted away or a session begins."""
        with anyio.move_on_after(_CATCH_UP_SECONDS):
            await self.peer.wait_for_notifications()
            try:
                # At the time limit only the waiting stops. The thread goes on and writes what was learned.
                await anyio.to_thread.run_sync(rest, limiter=self._limiter, abandon_on_cancel=True)
            except OpencodeMemoryError as error:
                _log.warning("%s, but learning from what was said before failed: %s", event, error)

    async def _handle_command(self, params: Any) -> dict[str, Any]:
        try:
            return await self._on_thread(
                partial(handlers.handle_command, self._require_context(), CommandParams.parse(params))
            )
        finally:
            self._loops.wake()

    async def _handle_tool(self, params: Any) -> dict[str, Any]:
        # The message of the current turn is among the earlier events. A tool that writes looks for the user's words.
        with anyio.move_on_after(_EVENTS_SECONDS):
            await self.peer.wait_for_notifications("events")
        asked = ToolParams.parse(params)
        try:
            return await self._on_thread(partial(handlers.handle_tool, self._require_context(), asked))
        finally:
            if asked.tool.startswith(LOOP_TOOLS):
                self._loops.wake()

    async def _handle_shell(self, params: Any) -> dict[str, Any]:
        loop = await self._find_loop(SessionParams.parse(params).session)
        return asdict(confine(self._state.store, loop))

    async def _handle_guard(self, params: Any) -> dict[str, Any]:
        asked = GuardParams.parse(params)
        loop = await self._find_loop(asked.session)
        refusal = await self._on_thread(partial(judge_call, loop, asked))
        return {} if refusal is None else {"refusal": refusal}

    async def _find_loop(self, session: str) -> Loop | None:
        """Return the loop of a session, or of the session that started it as a subagent."""
        self._require_context()
        for _ in range(_MAX_ANCESTORS):
            loop = await self._on_thread(partial(find_loop, self._state.store, session))
            if loop is not None:
                return loop
            parent = (await self._get_facts(session)).parent
            if parent is None or not parent.startswith(_SESSION_ID):
                break
            session = parent
        return None

    async def _handle_flush(self, _: Any) -> dict[str, Any]:
        """Answer as soon as all earlier notifications are handled."""
        await self.peer.wait_for_notifications()
        return {}

    async def _handle_settled(self, params: Any) -> None:
        await self._on_thread(partial(handlers.handle_settled, self._require_context(), SettledParams.parse(params)))

    async def _handle_events(self, params: Any) -> None:
        self._require_context()
        for session, facts in find_facts(params):
            self._remember(session, facts)
        # Skip sessions that opencode-memory started itself for a digest: their prompts are not written by the user.
        others = drop_sessions(params, self._is_ours)
        self._loops.notify()
        self._loops.todos.take(others)
        for answered in await self._on_thread(partial(self._questions.take, self._require_context(), others)):
            self._loops.wake()
            if answered.problem is not None and self._tasks is not None:
                self._tasks.start_soon(self._say_refused, answered.plan, answered.problem)
        if has_user_message(others):
            self._digests.interrupt(self._pid)
        await self._on_thread(partial(self._watch.take, others, at=clock.now()))

    async def _say_refused(self, plan: str, problem: str) -> None:
        """Tell the user that the answer to a question did not approve a plan."""
        message = f"The plan [{plan}] is not approved: {problem}. Then: opencode-memory plan approve {plan}"
        try:
            await self.opencode.toast(message, variant="warning")
        except RemoteError as error:
            _log.info("OpenCode did not show that the plan [%s] is not approved: %s", plan, error)

    def _is_ours(self, session: str) -> bool:
        return self._sessions.get(session, SessionFacts()).is_ours

    async def _get_facts(self, session: str) -> SessionFacts:
        """Return the facts of a session. Ask OpenCode once if no event has announced the session."""
        known = self._sessions.get(session)
        if known is None:
            try:
                known = await self.opencode.get_facts(session, seconds=_FACTS_SECONDS)
            except RemoteError as error:
                _log.info("session %s is unknown: %s", session, error)
                return SessionFacts()
            self._remember(session, known)
        return known

    def _remember(self, session: str, facts: SessionFacts) -> None:
        self._sessions[session] = facts
        while len(self._sessions) > _MAX_SESSIONS:
            self._sessions.popitem(last=False)

    def _require_context(self) -> handlers.PluginContext:
        if self._context is None:
            raise ConflictError("say hello first")
        return self._context

    async def _on_thread(self, work: Callable[[], _T]) -> _T:
        return await anyio.to_thread.run_sync(work, limiter=self._limiter)


def _format_notice(greeting: Greeting, *, is_refused: bool = False) -> str:
    ours, theirs = opencode_memory.__version__, greeting.version
    if is_older(theirs):
        return (
            f"this OpenCode runs plugin {theirs}, the memory server is {ours}: "
            "run `opencode-memory setup` unless you have done so, then restart OpenCode"
        )
    # A refused plugin does not connect again.
    after = ", then restart OpenCode" if is_refused else ""
    return (
        f"the memory server is {ours}, this OpenCode runs plugin {theirs}: "
        f"run `opencode-memory serve --detach`, which replaces the server{after}"
    )
