"""A scripted plugin: calls the server over a real socket, and answers the server's calls to OpenCode."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from types import TracebackType
from typing import Any, Final, Self

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

import opencode_memory
from opencode_memory.hosts.opencode.contract import PROTOCOL
from opencode_memory.store.ledger import Decision
from support.mcp import TOKEN, World

PATIENCE_SECONDS: Final = 30.0
PROJECT: Final = "gitlab.com/group/walrus"
DIRECTIVE: Final = "Always run the linter before committing."
WALRUS: Final = "The walrus build needs make -j1: parallel builds corrupt the archive."
LONG: Final = (
    "The walrus archive is built with make -j1 on the build server, because parallel builds corrupt its index, "
    "and the nightly job that builds it waits for the lock of the release job before it begins to write anything."
)
QUESTION: Final = "How do I build the walrus archive?"


def known(world: World, content: str, category: str = "fact", *, project: str | None = PROJECT, **more: Any) -> str:
    """Store a memory and its embedding, and return its id."""
    where = {"scope": "global"} if project is None else {"project": project}
    id: str = world.store.remember(content, category=category, **where, **more).id
    world.store.indexes.embed_pending()
    return id


def decisions(world: World, session: str = "ses_1") -> dict[str, Decision]:
    """Return the decisions about the messages of a session, by the id of the message."""
    return {decision.message: decision for decision in world.store.ledger.decisions(session)}


def until(condition: Callable[[], bool], seconds: float = PATIENCE_SECONDS) -> None:
    """Poll until something is true."""
    pause, end = threading.Event(), time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        pause.wait(0.01)


class RefusedError(Exception):
    """The server answered with an error."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass
class OpenCode:
    """State of a scripted instance of OpenCode.

    Attributes:
        sessions: The API's description of sessions, by id.
        messages: The API's description of messages, by the id of their session.
        mcp: States of the MCP servers.
        active: States of the sessions that are not idle, by id.
        is_silent: Whether it answers no request.
        asked: Requests so far: method and path.
        toasts: Messages shown to the user.
    """

    sessions: dict[str, Any] = field(default_factory=dict)
    messages: dict[str, list[Any]] = field(default_factory=dict)
    mcp: dict[str, Any] = field(default_factory=dict)
    active: dict[str, Any] = field(default_factory=dict)
    is_silent: bool = False
    asked: list[tuple[str, str]] = field(default_factory=list)
    toasts: list[str] = field(default_factory=list)

    def answer(self, method: str, params: Mapping[str, Any]) -> Any:
        """Answer a request of the server."""
        if method == "toast":
            self.toasts.append(params["message"])
            return {}
        assert method == "oc.request"
        self.asked.append((params["method"], params["path"]))
        parts = params["path"].split("/")[1:]
        match parts:
            case ["mcp"]:
                return _found(self.mcp)
            case ["mcp", name, "connect"]:
                self.mcp[name] = {"status": "connected"}
                return _found(True)
            case ["session", "status"]:
                return _found(self.active)
            case ["session", id]:
                return _found(self.sessions[id]) if id in self.sessions else {"status": 404, "body": "{}"}
            case ["session", id, "message"]:
                return _found(self.messages.get(id, []))
        return {"status": 404, "body": "not found"}


def _found(body: Any) -> dict[str, Any]:
    return {"status": 200, "body": json.dumps(body)}


class Plugin:
    """One connection, from ``with`` on.

    Args:
        url: Address of any route of the server.
        folder: Folder of its instance of OpenCode.
        opencode: State of that instance.
        headers: Headers of the handshake; None for the token.
        hello: Whether to send a greeting.
    """

    def __init__(
        self,
        url: str,
        folder: Path,
        *,
        opencode: OpenCode | None = None,
        headers: Mapping[str, str] | Sequence[tuple[str, str]] | None = None,
        hello: bool = True,
    ) -> None:
        self.folder = folder
        self.opencode = opencode or OpenCode()
        self.strays: SimpleQueue[dict[str, Any]] = SimpleQueue()
        self._hello = hello
        self._asked: dict[int, Future[Any]] = {}
        self._number = 0
        shown = {"Authorization": f"Bearer {TOKEN}"} if headers is None else headers
        root = url.removesuffix("/mcp").replace("http", "ws", 1)
        self._connecting = connect(
            f"{root}/bridge", additional_headers=shown, max_size=None, open_timeout=PATIENCE_SECONDS, proxy=None
        )
        self._reader = threading.Thread(target=self._read)

    def __enter__(self) -> Self:
        self.socket: ClientConnection = self._connecting.__enter__()
        self._reader.start()
        if self._hello:
            try:
                self.hello()
            except BaseException:
                self.close()
                raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Disconnect."""
        self._connecting.__exit__(None, None, None)
        self._reader.join(PATIENCE_SECONDS)

    def hello(self, **changes: Any) -> dict[str, Any]:
        """Send the greeting."""
        said = {"protocol": PROTOCOL, "version": opencode_memory.__version__, "directory": str(self.folder), "pid": 1}
        answer: dict[str, Any] = self.ask("hello", **(said | changes))
        return answer

    def ask(self, method: str, /, **params: Any) -> Any:
        """Send a request and return its result.

        Raises:
            RefusedError: The server answers with an error.
        """
        return self.begin(method, params).result(PATIENCE_SECONDS)

    def refused(self, method: str, /, **params: Any) -> int:
        """Send a request that must be refused, and return the code of the error."""
        try:
            answer = self.ask(method, **params)
        except RefusedError as error:
            assert "Traceback" not in str(error)
            return error.code
        raise AssertionError(answer)

    def begin(self, method: str, params: Any) -> Future[Any]:
        """Send a request and return the future of its result."""
        self._number += 1
        answer = self._asked[self._number] = Future()
        self.send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        return answer

    def pending(self) -> list[Future[Any]]:
        """Return the requests without an answer."""
        return list(self._asked.values())

    def tell(self, method: str, params: Any) -> None:
        """Send a notification."""
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def send(self, message: Any) -> None:
        """Send a message, or a text that may be invalid."""
        self.socket.send(message if isinstance(message, str | bytes) else json.dumps(message))

    def flush(self) -> None:
        """Wait until all notifications are handled."""
        self.ask("flush")

    # Hooks

    def offered(
        self, message: str, text: str, *, session: str = "ses_1", visible: Sequence[str] = (), **more: Any
    ) -> dict[str, str]:
        """Request the blocks of the visible messages; ``message`` is the last one."""
        seen = [*visible, message]
        params = {"sessionID": session, "visible": seen, "message": {"id": message, "text": text}}
        blocks: dict[str, str] = self.ask("messages", **(params | more))["blocks"]
        return blocks

    def settle(self, message: str, state: str = "shown", *, session: str = "ses_1") -> None:
        """Report whether a block was shown or late."""
        self.tell("settled", {"sessionID": session, "messageID": message, "state": state})

    def shown(
        self, message: str, text: str, *, session: str = "ses_1", visible: Sequence[str] = (), **more: Any
    ) -> str:
        """Have a message decided and shown, as the hook does. Return its block, which may be empty."""
        block = self.offered(message, text, session=session, visible=visible, **more).get(message, "")
        if block:
            self.settle(message, session=session)
        return block

    def happens(self, *events: Mapping[str, Any]) -> None:
        """Forward events and wait until they are handled."""
        self.tell("events", {"directory": str(self.folder), "events": list(events)})
        self.flush()

    def _read(self) -> None:
        with suppress(ConnectionClosed):
            for text in self.socket:
                message = json.loads(text)
                if "method" in message:
                    self._answer(message)
                elif (waiting := self._asked.pop(message["id"], None)) is None:
                    self.strays.put(message)
                elif "error" in message:
                    waiting.set_exception(RefusedError(message["error"]["code"], message["error"]["message"]))
                else:
                    waiting.set_result(message["result"])
        for waiting in self._asked.values():
            waiting.set_exception(ConnectionError("the server has gone"))

    def _answer(self, message: Mapping[str, Any]) -> None:
        if self.opencode.is_silent:
            return
        result = self.opencode.answer(message["method"], message["params"])
        self.send({"jsonrpc": "2.0", "id": message["id"], "result": result})


# Events as OpenCode publishes them


def began(folder: Path, session: str = "ses_1", **more: Any) -> dict[str, Any]:
    """A session began."""
    info = {"id": session, "directory": str(folder), "title": "A title", **more}
    return {"type": "session.created", "properties": {"sessionID": session, "info": info}}


def said(message: str, *texts: str, created: int, session: str = "ses_1") -> list[dict[str, Any]]:
    """The user said something."""
    info = {"id": message, "sessionID": session, "role": "user", "time": {"created": created}}
    return [
        {"type": "message.updated", "properties": {"sessionID": session, "info": info}},
        *(_part(session, message, number, text) for number, text in enumerate(texts)),
    ]


def answered(
    message: str, text: str, *, created: int, session: str = "ses_1", done: bool = True
) -> list[dict[str, Any]]:
    """The agent answered."""
    info: dict[str, Any] = {"id": message, "sessionID": session, "role": "assistant", "mode": "build"}
    info |= {"agent": "build", "time": {"created": created}}
    begun = {"type": "message.updated", "properties": {"sessionID": session, "info": info}}
    parts = [begun, _part(session, message, 0, text)]
    if not done:
        return parts
    ended = info | {"finish": "stop", "time": {"created": created, "completed": created + 1}}
    finish = {"id": f"prt_{message}_9", "messageID": message, "sessionID": session, "type": "step-finish"}
    return [
        *parts,
        {"type": "message.part.updated", "properties": {"sessionID": session, "part": finish}},
        {"type": "message.updated", "properties": {"sessionID": session, "info": ended}},
    ]


def idle(session: str = "ses_1") -> dict[str, Any]:
    """The turn ended."""
    return {"type": "session.idle", "properties": {"sessionID": session}}


def _part(session: str, message: str, number: int, text: str) -> dict[str, Any]:
    part = {"id": f"prt_{message}_{number}", "messageID": message, "sessionID": session, "type": "text", "text": text}
    return {"type": "message.part.updated", "properties": {"sessionID": session, "part": part}}
