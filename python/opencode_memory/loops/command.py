"""Runs the verification commands of a loop: with limits for time and output, and an end of what they have started.

Without a sandbox, a daemon that has a session of its own goes on.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import anyio
from anyio.abc import Process

from opencode_memory.config.load import environment as inherited
from opencode_memory.loops.left_over import mark
from opencode_memory.loops.process import ProcessId, identify

COMMAND_SECONDS: Final = 1_800.0
KEPT_CHARACTERS: Final = 4_000
_TAIL_BYTES: Final = 64 * 1024
_TIMED_OUT: Final = 124
_LEFT_OPEN_SECONDS: Final = 2.0
"""Time in which the output of an ended command is read. A daemon in a session of its own holds it open for ever."""
_OWN_PREFIX: Final = "OPENCODE_MEMORY_"
_GATE: Final = ("sh", "-c", 'read -r go && exec "$@" </dev/null', "sh")
"""Waits for a line, so that the process group is recorded before the command begins. If the server dies before, the
gate closes and nothing begins."""

OnStart = Callable[[ProcessId], Awaitable[None]]
"""Records the process group of a command. The command begins when it returns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """A command that has ended.

    Attributes:
        command: The command.
        exit: Its exit code; 124 if it took too long.
        output: The end of its output, both streams together.
    """

    command: str
    exit: int
    output: str


async def run_all(
    commands: Sequence[str],
    folder: Path,
    *,
    wrap: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
    seconds: float = COMMAND_SECONDS,
    on_start: OnStart | None = None,
) -> Ran:
    """Run commands one after another, and return the first that fails, or the last.

    Args:
        commands: Commands for ``sh``.
        folder: Where they run.
        wrap: Arguments in front of the shell, for example of a sandbox.
        environment: More variables.
        seconds: Time limit of each command.
        on_start: Is called with the process group of each command before it begins.
    """
    ran = Ran(command="", exit=0, output="")
    for command in commands:
        ran = await run_command(command, folder, wrap=wrap, environment=environment, seconds=seconds, on_start=on_start)
        if ran.exit != 0:
            break
    return ran


async def run_command(
    command: str,
    folder: Path,
    *,
    wrap: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
    seconds: float = COMMAND_SECONDS,
    on_start: OnStart | None = None,
) -> Ran:
    """Run a command. Whatever it has started is ended with it, but for a daemon that has a session of its own."""
    kept = {name: value for name, value in inherited().items() if not name.startswith(_OWN_PREFIX)}
    tail = bytearray()
    try:
        process = await anyio.open_process(
            [*_GATE, *wrap, "sh", "-c", command],
            cwd=folder,
            env={**kept, "CI": "1", **(environment or {}), **mark()},
            stdin=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        return Ran(command=command, exit=127, output=f"cannot be started: {error.strerror}")
    exit_code: int | None = None
    try:
        group = identify(process.pid)
        if on_start is not None and group is not None:
            await on_start(group)
        await _open_gate(process)
        with anyio.move_on_after(seconds):
            async with anyio.create_task_group() as tasks:
                has_read = anyio.Event()
                tasks.start_soon(_read, process, tail, has_read)
                exit_code = await process.wait()
                # A process that the command left behind may hold the output open.
                _end_group(process)
                with anyio.move_on_after(_LEFT_OPEN_SECONDS):
                    await has_read.wait()
                tasks.cancel_scope.cancel()
    finally:
        _end_group(process)
        with anyio.CancelScope(shield=True):
            await process.aclose()
    output = bytes(tail).decode("utf-8", "replace")
    if exit_code is None:
        output += f"\n[ended after {seconds:g} s]"
        exit_code = _TIMED_OUT
    return Ran(command=command, exit=exit_code, output=output[-KEPT_CHARACTERS:])


async def _open_gate(process: Process) -> None:
    if process.stdin is None:
        return
    with suppress(anyio.BrokenResourceError, ConnectionError):
        await process.stdin.send(b"\n")
    await process.stdin.aclose()


async def _read(process: Process, tail: bytearray, has_read: anyio.Event) -> None:
    if process.stdout is not None:
        async for piece in process.stdout:
            tail += piece
            del tail[:-_TAIL_BYTES]
    has_read.set()


def _end_group(process: Process) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
