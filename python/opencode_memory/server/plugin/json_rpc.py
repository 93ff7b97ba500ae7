"""One end of a JSON-RPC 2.0 connection: what it is asked, what it asks, and nothing of what either means.

Requests are answered side by side, so a slow one holds up no other. Notifications of one method are taken one after the
other, in their order; those of another method do not wait for them. A message that is none is answered as the
specification says, and never ends the connection. Batches are not spoken.
"""

from __future__ import annotations

import itertools
import json
import logging
from collections.abc import AsyncIterable, Awaitable, Callable, Mapping
from contextlib import ExitStack
from typing import Any, Final

import anyio
from anyio.abc import TaskGroup
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from opencode_memory.errors import OpencodeMemoryError, StorageError
from opencode_memory.text.unicode import replace_surrogates

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
_MOST_WAITING: Final = 10_000
_LAST_SECONDS: Final = 0.5
"""How long what was told last may take once the other side has gone."""
_log: Final = logging.getLogger(__name__)

Method = Callable[[Any], Awaitable[Any]]


class RemoteError(StorageError):
    """The other side could not do what it was asked, or did not answer in time."""


class Peer:
    """One end of a connection.

    Args:
        send: Sends a text; never raises, since what cannot be sent has nobody to read it.
        requests: What may be asked, by method.
        notifications: What may be told, by method.
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

    async def run(self, texts: AsyncIterable[str]) -> None:
        """Take what comes until it ends; what was told by then is still taken, within reason."""
        async with anyio.create_task_group() as tasks:
            with ExitStack() as lanes:
                for name, method in self._notifications.items():
                    told, telling = anyio.create_memory_object_stream[Any](_MOST_WAITING)
                    self._lanes[name] = lanes.enter_context(told)
                    tasks.start_soon(self._listen, method, telling)
                async for text in texts:
                    await self._dispatch(text, tasks)
                with anyio.move_on_after(_LAST_SECONDS):
                    await self.wait_for_notifications()
                tasks.cancel_scope.cancel()

    async def ask(self, method: str, params: Any, *, seconds: float) -> Any:
        """Ask the other side and return what it answers.

        Raises:
            RemoteError: It answers with an error, or not in time.
        """
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
        if asked.error is not None:
            raise RemoteError(f"{method} failed: {asked.error}", path=method)
        return asked.result

    async def wait_for_notifications(self, *methods: str) -> None:
        """Wait until every notification that came so far was taken, or those of some methods."""
        marks = []
        for name in methods or self._lanes:
            marks.append(anyio.Event())
            await self._lanes[name].send(marks[-1])
        for mark in marks:
            await mark.wait()

    async def _dispatch(self, text: str, tasks: TaskGroup) -> None:
        try:
            message = json.loads(text)
        except (ValueError, RecursionError):
            await self._fail(None, PARSE_ERROR, "this is not JSON")
            return
        match message:
            case {"jsonrpc": "2.0", "method": str(method), "id": int() | str() as id_} if not isinstance(id_, bool):
                tasks.start_soon(self._answer, id_, method, message.get("params"))
            case {"jsonrpc": "2.0", "method": str(method)} if "id" not in message:
                if (lane := self._lanes.get(method)) is not None:
                    await lane.send((message.get("params"),))
            case {"jsonrpc": "2.0", "id": number} if "method" not in message and message.keys() & {"result", "error"}:
                self._handle_response(number, message)
            case _:
                await self._fail(None, INVALID_REQUEST, "this is no JSON-RPC 2.0 message")

    async def _listen(self, method: Method, telling: MemoryObjectReceiveStream[Any]) -> None:
        with telling:
            async for one in telling:
                if isinstance(one, anyio.Event):
                    one.set()
                    continue
                try:
                    await method(*one)
                except OpencodeMemoryError as error:
                    _log.warning("a notification was not taken: %s", error)
                except Exception:  # noqa: BLE001  whatever it is, the connection goes on
                    _log.exception("a notification could not be taken")

    async def _answer(self, id_: int | str, method: str, params: Any) -> None:
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
            # A bug; its text may hold anything and stays here.
            _log.exception("%s failed", method)
            await self._fail(id_, INTERNAL_ERROR, "it failed for a reason that is in the server's log")
        else:
            await self._send(answer)

    def _handle_response(self, number: Any, message: Mapping[str, Any]) -> None:
        asked = self._asked.get(number) if type(number) is int else None
        if asked is None:
            return  # Too late, or never asked; an error that is about nothing must not be answered with another one.
        error = message.get("error")
        asked.error = str(error.get("message") if isinstance(error, Mapping) else error) if error else None
        asked.result = message.get("result")
        asked.answered.set()

    async def _fail(self, id_: int | str | None, code: int, message: str) -> None:
        await self._send(_to_json({"jsonrpc": "2.0", "id": id_, "error": {"code": code, "message": message}}))


class _PendingRequest:
    __slots__ = ("answered", "error", "result")

    def __init__(self) -> None:
        self.answered = anyio.Event()
        self.result: Any = None
        self.error: str | None = None


def _to_json(message: Mapping[str, Any]) -> str:
    # A lone surrogate, which some text may hold, would end the connection.
    return replace_surrogates(json.dumps(message, ensure_ascii=False))
