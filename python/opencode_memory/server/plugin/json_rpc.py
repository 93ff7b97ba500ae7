"""One end of a JSON-RPC 2.0 connection. Knows the protocol only, not the methods.

Requests are answered in parallel, so a slow one delays no other. Those beyond a limit are refused. Notifications of one
method are handled in order, and those of different methods in parallel. An invalid message is answered as the
specification says, and never ends the connection. Batches are not supported.
"""

from __future__ import annotations

import itertools
import json
import logging
from collections.abc import AsyncIterable, Awaitable, Callable, Mapping
from contextlib import ExitStack
from typing import Any, Final

import anyio
import anyio.lowlevel
from anyio.abc import TaskGroup
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from opencode_memory.errors import OpencodeMemoryError, StorageError
from opencode_memory.server.in_flight import TOO_MANY_REQUESTS, TOO_MANY_TEXT, InFlight
from opencode_memory.text.unicode import replace_surrogates

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
_MAX_WAITING: Final = 10_000
_LAST_SECONDS: Final = 0.5
"""Time limit for the last notifications after the other side has disconnected."""
_log: Final = logging.getLogger(__name__)

Method = Callable[[Any], Awaitable[Any]]


class RemoteError(StorageError):
    """The other side answered with an error, or not in time."""


class DisconnectedError(RemoteError):
    """The other side has disconnected, so it answers no request."""


class Peer:
    """One end of a connection.

    Args:
        send: Sends a text. Never raises, because the other side may have disconnected.
        requests: Handlers of requests, by method.
        notifications: Handlers of notifications, by method.
    """

    def __init__(
        self,
        send: Callable[[str], Awaitable[None]],
        *,
        requests: Mapping[str, Method],
        notifications: Mapping[str, Method],
    ) -> None:
        self._send = send
        self._requests = requests
        self._notifications = notifications
        self._numbers = itertools.count(1)
        self._asked: dict[int, _PendingRequest] = {}
        self._lanes: dict[str, MemoryObjectSendStream[Any]] = {}
        self._is_closed = False
        self._is_leaving = False
        self._in_flight = InFlight()

    async def leave(self) -> None:
        """Ignore requests from now on, which the other side sends again elsewhere, and answer the earlier ones."""
        self._is_leaving = True
        await self._in_flight.wait_idle()

    async def run(self, texts: AsyncIterable[str]) -> None:
        """Dispatch messages until the other side disconnects.

        Notifications that came before the end are still handled, within a time limit.
        """
        async with anyio.create_task_group() as tasks:
            with ExitStack() as lanes:
                for name, method in self._notifications.items():
                    sender, receiver = anyio.create_memory_object_stream[Any](_MAX_WAITING)
                    self._lanes[name] = lanes.enter_context(sender)
                    tasks.start_soon(self._listen, method, receiver)
                async for text in texts:
                    await self._dispatch(text, tasks)
                    # A message that has arrived is read without a pause. So many of them would stop the event loop.
                    await anyio.lowlevel.checkpoint()
                self._close()
                with anyio.move_on_after(_LAST_SECONDS):
                    await self.wait_for_notifications()
                tasks.cancel_scope.cancel()

    async def ask(self, method: str, params: Any, *, seconds: float) -> Any:
        """Send a request and return its result.

        Raises:
            DisconnectedError: The other side has disconnected.
            RemoteError: The other side answers with an error, or not in time.
        """
        if self._is_closed:
            raise DisconnectedError(f"{method} was not sent, because the other side has disconnected", path=method)
        number = next(self._numbers)
        asked = self._asked[number] = _PendingRequest()
        try:
            with anyio.fail_after(seconds):
                await self._send(_to_json({"jsonrpc": "2.0", "id": number, "method": method, "params": params}))
                await asked.answered.wait()
        except TimeoutError as error:
            raise RemoteError(f"{method} was not answered in {seconds:g} s", path=method) from error
        finally:
            del self._asked[number]
        if asked.is_lost:
            raise DisconnectedError(f"{method} was not answered before the other side disconnected", path=method)
        if asked.error is not None:
            raise RemoteError(f"{method} failed: {asked.error}", path=method)
        return asked.result

    async def wait_for_notifications(self, *methods: str) -> None:
        """Wait until all earlier notifications are handled, or those of ``methods``."""
        marks = []
        for name in methods or self._lanes:
            marks.append(anyio.Event())
            await self._lanes[name].send(marks[-1])
        for mark in marks:
            await mark.wait()

    def _close(self) -> None:
        """Fail all requests that the other side can no longer answer."""
        self._is_closed = True
        for asked in self._asked.values():
            asked.is_lost = not asked.answered.is_set()
            asked.answered.set()

    async def _dispatch(self, text: str, tasks: TaskGroup) -> None:
        try:
            message = json.loads(text)
        except (ValueError, RecursionError):
            await self._fail(None, PARSE_ERROR, "the message is not JSON")
            return
        match message:
            case {"jsonrpc": "2.0", "method": str(method), "id": int() | str() as id_} if not isinstance(id_, bool):
                if self._is_leaving:
                    return
                if self._in_flight.is_full:
                    await self._fail(id_, TOO_MANY_REQUESTS, TOO_MANY_TEXT)
                    return
                self._in_flight.begin()
                tasks.start_soon(self._answer, id_, method, message.get("params"))
            case {"jsonrpc": "2.0", "method": str(method)} if "id" not in message:
                if (lane := self._lanes.get(method)) is not None:
                    await lane.send((message.get("params"),))
            case {"jsonrpc": "2.0", "id": number} if "method" not in message and message.keys() & {"result", "error"}:
                self._handle_response(number, message)
            case _:
                await self._fail(None, INVALID_REQUEST, "the message is not a JSON-RPC 2.0 message")

    async def _listen(self, method: Method, receiver: MemoryObjectReceiveStream[Any]) -> None:
        with receiver:
            async for item in receiver:
                if isinstance(item, anyio.Event):
                    item.set()
                    continue
                try:
                    await method(*item)
                except OpencodeMemoryError as error:
                    _log.warning("a notification was refused: %s", error)
                except Exception:  # noqa: BLE001  a bug in one handler must not end the connection
                    _log.exception("the handler of a notification failed")

    async def _answer(self, id_: int | str, method: str, params: Any) -> None:
        try:
            await self._carry_out(id_, method, params)
        finally:
            self._in_flight.end()

    async def _carry_out(self, id_: int | str, method: str, params: Any) -> None:
        known = self._requests.get(method)
        if known is None:
            await self._fail(id_, METHOD_NOT_FOUND, f"there is no method {method[:80]!r}")
            return
        try:
            answer = _to_json({"jsonrpc": "2.0", "id": id_, "result": await known(params)})
        except OpencodeMemoryError as error:
            code = INVALID_PARAMS if isinstance(error, ValueError) else INTERNAL_ERROR
            await self._fail(id_, code, str(error))
        except Exception:  # noqa: BLE001  as above
            # The other side does not get the text of the exception, because it may contain anything.
            _log.exception("%s failed", method)
            await self._fail(
                id_, INTERNAL_ERROR, f"{method[:80]} failed because of an internal error (see the server's log)"
            )
        else:
            await self._send(answer)

    def _handle_response(self, number: Any, message: Mapping[str, Any]) -> None:
        asked = self._asked.get(number) if type(number) is int else None
        if asked is None:
            return  # A late answer, or one without a request. Answering an error with an error could go on forever.
        error = message.get("error")
        asked.error = str(error.get("message") if isinstance(error, Mapping) else error) if error else None
        asked.result = message.get("result")
        asked.answered.set()

    async def _fail(self, id_: int | str | None, code: int, message: str) -> None:
        await self._send(_to_json({"jsonrpc": "2.0", "id": id_, "error": {"code": code, "message": message}}))


class _PendingRequest:
    __slots__ = ("answered", "error", "is_lost", "result")

    def __init__(self) -> None:
        self.answered = anyio.Event()
        self.result: Any = None
        self.error: str | None = None
        self.is_lost = False


def _to_json(message: Mapping[str, Any]) -> str:
    # A text may contain a lone surrogate. Sent as it is, it would end the connection.
    return replace_surrogates(json.dumps(message, ensure_ascii=False))
