"""Cold starts of OpenCode: no memory server runs, and the first message comes as early as possible."""

from __future__ import annotations

import fcntl
import os
import pty
import signal
import struct
import subprocess
import termios
import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import httpx2

from e2e.plugged import Instance, Plugged, is_there, until
from e2e.scripted_model import Request, ScriptedModel

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TAG = "<project-memory>"
_COMMAND = ("bash", {"command": "echo one", "description": "count"})
_ANSWER = "With make -j1."
_SIZE = struct.pack("HHHH", 40, 140, 0, 0)
_PATIENCE_SECONDS = 120.0


class Kind(StrEnum):
    """How a person starts OpenCode."""

    RUN = "run"
    SERVE = "serve"
    TUI = "tui"


@dataclass(frozen=True)
class Turn:
    """The requests of the first turn after a cold start.

    Attributes:
        requests: The requests to the model, in their order.
    """

    requests: tuple[Request, ...]

    @property
    def has_block(self) -> bool:
        """Whether every request shows the same memories beside the message."""
        blocks = [[part for part in request.user_parts if part.startswith(TAG)] for request in self.requests]
        return len(blocks[0]) == 1 and all(found == blocks[0] for found in blocks)

    @property
    def is_stable(self) -> bool:
        """Whether system prompt and tools are the same in every request."""
        return len({(request.system, tuple(request.tools)) for request in self.requests}) == 1

    @property
    def has_tools(self) -> bool:
        """Whether the first request offers the tools of the memory."""
        return any(tool.startswith("memory_") for tool in self.requests[0].tools)


def start_cold(plugged: Plugged, kind: Kind, folder: Path, model: ScriptedModel, prompt: str) -> Turn:
    """Start OpenCode without a memory server, send a message at once, and return the requests of its turn."""
    stop_server(plugged)
    model.script(_COMMAND, _ANSWER)
    match kind:
        case Kind.RUN:
            plugged.opencode.session(folder, prompt)
        case Kind.SERVE:
            with Instance(plugged, folder, {}, asks_config=False) as instance:
                instance.prompt(instance.session(), prompt)
        case Kind.TUI:
            with _terminal(plugged, folder, prompt):
                until(lambda: len(model.requests) == 2, "no complete turn came", _PATIENCE_SECONDS)
    assert len(model.requests) == 2, model.requests
    return Turn(tuple(model.requests))


def stop_server(plugged: Plugged) -> None:
    """End the memory server of a home, if one runs."""
    route = f"http://127.0.0.1:{plugged.port}/health"
    with suppress(httpx2.TransportError):
        os.kill(httpx2.get(route, timeout=30).json()["pid"], signal.SIGTERM)
    until(lambda: not is_there(route), "the memory server did not end")


@contextmanager
def _terminal(plugged: Plugged, folder: Path, prompt: str) -> Iterator[None]:
    """OpenCode's terminal UI with a prompt, until the block ends."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, _SIZE)
    process = subprocess.Popen(
        [plugged.opencode.binary, "--prompt", prompt],
        cwd=folder,
        env={**plugged.environment, "PWD": str(folder), "TERM": "xterm-256color"},
        stdin=its,
        stdout=its,
        stderr=its,
        start_new_session=True,
    )
    os.close(its)
    reader = threading.Thread(target=_drain, args=(ours,))
    reader.start()
    try:
        yield
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(10)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        reader.join()
        os.close(ours)


def _drain(terminal: int) -> None:
    """Read what is drawn, so that the program does not block. Linux reports the end of the program as an error."""
    with suppress(OSError):
        while os.read(terminal, 65_536):
            pass
