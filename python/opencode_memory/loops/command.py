"""Runs the verification commands of a loop: with limits for time and output, and nothing left running."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import anyio
from anyio.abc import Process

from opencode_memory.config.load import environment as inherited

COMMAND_SECONDS: Final = 1_800.0
KEPT_CHARACTERS: Final = 4_000
_TAIL_BYTES: Final = 64 * 1024
_TIMED_OUT: Final = 124
_OWN_PREFIX: Final = "OPENCODE_MEMORY_"


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
) -> Ran:
    """Run commands one after another, and return the first that fails, or the last.

    Args:
        commands: Commands for ``sh``.
        folder: Where they run.
        wrap: Arguments in front of the shell, for example of a sandbox.
        environment: More variables.
        seconds: Time limit of each command.
    """
    ran = Ran(command="", exit=0, output="")
    for command in commands:
        ran = await run_command(command, folder, wrap=wrap, environment=environment, seconds=seconds)
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
) -> Ran:
    """Run a command. Whatever it has started is ended with it."""
    kept = {name: value for name, value in inherited().items() if not name.startswith(_OWN_PREFIX)}
    tail = bytearray()
    try:
        process = await anyio.open_process(
            [*wrap, "sh", "-c", command],
            cwd=folder,
            env={**kept, "CI": "1", **(environment or {})},
            stdin=subprocess.DEVNULL,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        return Ran(command=command, exit=127, output=f"cannot be started: {error.strerror}")
    exit_code = _TIMED_OUT
    try:
        with anyio.move_on_after(seconds):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_read, process, tail)
                await process.wait()
                # A process that the command left behind may hold the output open.
                _end_group(process)
            exit_code = process.returncode if process.returncode is not None else _TIMED_OUT
    finally:
        _end_group(process)
        with anyio.CancelScope(shield=True):
            await process.aclose()
    output = bytes(tail).decode("utf-8", "replace")
    if exit_code == _TIMED_OUT:
        output += f"\n[ended after {seconds:g} s]"
    return Ran(command=command, exit=exit_code, output=output[-KEPT_CHARACTERS:])


async def _read(process: Process, tail: bytearray) -> None:
    if process.stdout is None:
        return
    async for piece in process.stdout:
        tail += piece
        del tail[:-_TAIL_BYTES]


def _end_group(process: Process) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
