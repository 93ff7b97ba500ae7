"""MCP over standard input and output: a server that one client starts for itself in its working directory.

SIGTERM and SIGINT end the process immediately. Acknowledged writes are durable, and the next process that opens the
store embeds memories without vectors. So no work is lost. A clean shutdown would not be possible anyway, because a
thread that is blocked reading standard input cannot be interrupted.
"""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import anyio
from mcp.server.stdio import stdio_server

from opencode_memory.platform import system
from opencode_memory.server.app import build_server
from opencode_memory.server.in_flight import TOO_MANY_REQUESTS, TOO_MANY_TEXT
from opencode_memory.server.malformed import refuse_malformed
from opencode_memory.server.request_ids import build_refusal, encode_refusal
from opencode_memory.server.tool_calls import ToolCalls
from opencode_memory.server.unanswered import Unanswered, request_id
from opencode_memory.text.json_values import escape_separators

if TYPE_CHECKING:
    from opencode_memory.server.server_state import ServerState

_LAST_SECONDS: Final = 10.0
"""Time limit for the last requests after the end of the client's messages, as beside a resident server."""


def serve_stdio(state: ServerState, *, folder: Path) -> None:
    """Serve one client until it closes standard input, or until SIGTERM or SIGINT.

    Args:
        state: The state of the server.
        folder: The client's folder, unless the client names others.
    """

    async def serve() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(_end_on_signal)
            output = _divert(1, "w")

            async def write(line: str) -> None:
                await output.write(line)
                await output.flush()

            await serve_lines(ToolCalls(state, folder=folder), _divert(0, "r"), write)
            group.cancel_scope.cancel()

    anyio.run(serve)


async def serve_lines(
    calls: ToolCalls,
    lines: AsyncIterable[str],
    write: Callable[[str], Awaitable[None]],
    *,
    unanswered: Unanswered | None = None,
) -> None:
    """Serve one client whose messages are lines, until its last line.

    Args:
        calls: The tools to offer.
        lines: The messages of the client.
        write: Writes a message, which ends with a line break, to the client.
        unanswered: Tells the caller which requests are not answered yet.
    """
    server = build_server(calls)
    unanswered = Unanswered() if unanswered is None else unanswered
    output = _Output(write, unanswered)
    # The SDK uses only the methods that these classes have.
    async with stdio_server(cast("Any", _Input(lines, output, unanswered)), cast("Any", output)) as (reads, writes):
        await server.run(reads, writes, server.create_initialization_options())


def _divert(descriptor: int, mode: str) -> anyio.AsyncFile[str]:
    """Take a standard stream away from the rest of the process, so that stray output does not mix with messages.

    Afterwards, reads from standard input return EOF, and standard output goes to standard error. The process ends with
    the server, so nothing is restored.
    """
    own = os.dup(descriptor)
    if mode == "w":
        os.dup2(2, descriptor)
    else:
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, descriptor)
        os.close(null)
    # closefd=False: a thread may still read from it when the server ends.
    return anyio.wrap_file(
        os.fdopen(own, mode, encoding="utf-8", errors="replace" if mode == "r" else "strict", closefd=False)
    )


class _Output:
    """The messages to the client, one per line.

    Args:
        write: Writes a line.
        unanswered: The requests of the client.
    """

    def __init__(self, write: Callable[[str], Awaitable[None]], unanswered: Unanswered) -> None:
        self._write = write
        self._unanswered = unanswered
        self._lock = anyio.Lock()

    async def write(self, line: str) -> None:
        """Write one line."""
        async with self._lock:
            await self._write(escape_separators(line))
        self._unanswered.note_written(line)

    async def flush(self) -> None:
        """Do nothing, because each line is flushed."""


class _Input:
    """The messages of the client, one per line. Malformed requests are answered here.

    Args:
        lines: The lines.
        output: The output for the answers.
        unanswered: The requests of the client.
    """

    def __init__(self, lines: AsyncIterable[str], output: _Output, unanswered: Unanswered) -> None:
        self._lines = lines
        self._output = output
        self._unanswered = unanswered

    async def __aiter__(self) -> AsyncIterator[str]:
        """Yield the lines for the SDK, and end when all requests are answered: at the end, the SDK drops the others."""
        async for line in self._lines:
            if not line.strip():
                continue
            refusal = refuse_malformed(line) or self._refuse_beyond_limit(line)
            if refusal is None:
                self._unanswered.note_read(line)
                yield line
            else:
                await self._output.write(encode_refusal(refusal) + "\n")
        with anyio.move_on_after(_LAST_SECONDS):
            await self._unanswered.wait()

    def _refuse_beyond_limit(self, line: str) -> dict[str, Any] | None:
        """Return the error for a request beyond the limit; None for all other messages."""
        if not self._unanswered.is_full or (id_ := request_id(line)) is None:
            return None
        return build_refusal(TOO_MANY_REQUESTS, TOO_MANY_TEXT, id=id_)


async def _end_on_signal() -> None:
    if not system().has_signals:  # Windows ends the process at once.
        return
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for _ in signals:
            logging.shutdown()
            os._exit(0)
