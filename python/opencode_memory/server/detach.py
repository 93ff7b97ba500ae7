"""Starts the resident server in the background and waits until it is ready.

If several processes call this at the same time, one of them starts the server, and the others wait for it. The server
runs in a process session of its own, so it survives the terminal and OpenCode. It logs to a file beside the store.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Final

from opencode_memory.config.load import Config
from opencode_memory.config.setting import PREFIX
from opencode_memory.errors import ConfigError, ConflictError, OpencodeMemoryError, StorageError
from opencode_memory.files import access
from opencode_memory.platform import system
from opencode_memory.platform.system import AS_BYTES, NOT_INHERITED, PRIVATE_FILE
from opencode_memory.server import LOG_FILE
from opencode_memory.server.failed_server import explain_failed
from opencode_memory.server.replace import Replaced
from opencode_memory.server.stop import RunningServer
from opencode_memory.server.takeover import Inherited
from opencode_memory.service.port_holder import PortHolder, explain_holder, find_port_holder, hint_for_holder
from opencode_memory.service.server_record import find_server
from opencode_memory.service.versions import is_older

_LOCK_FILE: Final = "server.start.lock"
_MOST_LOG_BYTES: Final = 5_000_000
_PATIENCE_SECONDS: Final = 60.0
_MOVING_SECONDS: Final = 2.0
_PAUSE_SECONDS: Final = 0.05
_LAST_LINES: Final = 12
_LAST_BYTES: Final = 16_384


@dataclass(frozen=True, slots=True, kw_only=True)
class DetachedServer:
    """A running server in the background.

    Attributes:
        pid: Its process id; None if the system does not reveal it.
        version: Its version.
        started: Whether this call started it.
        log: The log file of servers that are started here.
        replaced: The server of the same store that was ended before, if any.
    """

    pid: int | None
    version: str | None
    started: bool
    log: Path
    replaced: RunningServer | None = None


def start_detached(
    config: Config,
    command: Sequence[str],
    *,
    end_old: Callable[[], Replaced | None] = lambda: None,
    patience_seconds: float = _PATIENCE_SECONDS,
) -> DetachedServer:
    """Start a server unless one of this store is running, and return when it is ready.

    A server one of whose tasks has failed does not count as running.

    Args:
        config: The configuration of the server.
        command: The command line that starts it.
        end_old: Ends the server of the store if it has another address, an older version or a failed task, and returns
            it.
        patience_seconds: Time for the server to become ready.

    Raises:
        ConfigError: The configured port is 0, which means any free port.
        ConflictError: Another program, another user or the server of another store holds the port, or the old server
            may not be ended.
        OpencodeMemoryError: The server exited before it was ready, took too long, or one of its tasks has failed.
        StorageError: The log cannot be written.
    """
    _check_port(config)
    log = config.data_dir / LOG_FILE
    if (running := _find_running(config)) is not None and not running.has_failed and not is_older(running.version):
        return DetachedServer(pid=running.pid, version=running.version, started=False, log=log)
    try:
        system().make_folder(config.data_dir)
        with _start_lock(config.data_dir / _LOCK_FILE), _open_log(log) as out:
            replaced = end_old()
            inherited = None if replaced is None else replaced.inherited
            # Another process may have started the server while this one waited for the lock. None can have done so if
            # this process holds the port.
            if inherited is None and (running := _find_running(config)) is not None:
                if running.has_failed:  # A service, which ends by itself in a moment.
                    raise explain_failed(running, config.data_dir)
                return DetachedServer(pid=running.pid, version=running.version, started=False, log=log)
            begin = out.tell()
            child = _start_child(config, command, inherited, out)
            until = time.monotonic() + patience_seconds
            ended = None if replaced is None else replaced.server
            return replace(_wait_until_ready(config, child, log, begin, until), replaced=ended)
    except OSError as error:
        if isinstance(error, OpencodeMemoryError):
            raise
        where = error.filename or config.data_dir
        raise StorageError(f"cannot start a server: {where}: {error.strerror or error}", path=str(where)) from error


def _start_child(
    config: Config, command: Sequence[str], inherited: Inherited | None, out: IO[bytes]
) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(  # noqa: S603  our own program
            [*command, "--inherited", str(inherited)] if inherited is not None else command,
            cwd=Path(config.data_dir.anchor),
            env=_environment(config),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
            creationflags=system().detached_flags,
            pass_fds=() if inherited is None else inherited.descriptors,
        )
    finally:
        if inherited is not None:
            # Only the server may hold the port. Otherwise it would stay open without it.
            inherited.close()


def _wait_until_ready(
    config: Config, child: subprocess.Popen[bytes], log: Path, begin: int, until: float
) -> DetachedServer:
    while True:
        ended = child.poll() is not None
        # Poll the child before probing the port. If the child exited because another process bound the port first, that
        # server answers now.
        if (running := _find_running(config, until=until)) is not None:
            if running.has_failed:
                child.returncode = child.returncode or 0
                raise explain_failed(running, config.data_dir)
            if not ended:
                # The child outlives this process on purpose. Without a return code, Popen warns about that.
                child.returncode = 0
            return DetachedServer(pid=running.pid, version=running.version, started=running.pid == child.pid, log=log)
        if ended:
            error = OpencodeMemoryError(
                f"the server exited with {child.returncode} before it was ready; {_read_last_lines(log, begin)}"
            )
            error.hint = f"the complete log is {log}"
            raise error
        if time.monotonic() > until:
            child.kill()
            child.wait()
            error = OpencodeMemoryError(f"the server was not ready in time; {_read_last_lines(log, begin)}")
            error.hint = f"the complete log is {log}; `opencode-memory serve` runs the server in the foreground"
            raise error
        time.sleep(_PAUSE_SECONDS)


def _find_running(config: Config, *, until: float | None = None) -> PortHolder | None:
    """Return the store's server on the configured port; None if the port is free or the server is not ready yet.

    Args:
        config: The configuration with the host and the port.
        until: Deadline of a caller that calls again; None to wait here for a server that is not ready.

    Raises:
        ConflictError: Another program or user or the server of another store holds the port, or our server holds it
            and does not answer.
    """
    host, port = config.server.host, config.server.port
    give_up = time.monotonic() + _PATIENCE_SECONDS if until is None else until
    moved_at = time.monotonic() + _MOVING_SECONDS
    while (holder := find_port_holder(host, port)) is not None:
        if holder.pid is None and holder.uid == system().user_id() and time.monotonic() < moved_at:
            # While a server hands its port over, or ends, no process holds the port.
            time.sleep(_PAUSE_SECONDS)
            continue
        if not holder.is_ours or holder.uid not in (None, system().user_id()):
            raise _conflict(holder, host, port)
        if holder.http_status is not None:
            if _serves_store(config, holder):
                return holder
            if time.monotonic() > moved_at:
                raise _other_store(config, holder)
            # A server that hands over or ends has erased its record, and may still answer for a moment.
            time.sleep(_PAUSE_SECONDS)
            continue
        # The server has bound the port and is not ready yet. A server that is shutting down never will be.
        if until is not None:
            return None
        if time.monotonic() > give_up:
            raise _conflict(holder, host, port)
        time.sleep(_PAUSE_SECONDS)
    return None


def _serves_store(config: Config, holder: PortHolder) -> bool:
    """Return whether a server of this program serves the store of the configuration.

    The server of a store that cannot be written has no record, so that it cannot be told from another.
    """
    if (record := find_server(config.data_dir)) is not None:
        return record.pid == holder.pid or record.port == config.server.port
    return config.data_dir.exists() and not access.is_writable(config.data_dir)


def _other_store(config: Config, holder: PortHolder) -> ConflictError:
    held = explain_holder(holder, config.server.host, config.server.port).removesuffix(".")
    error = ConflictError(f"cannot start a server. {held}, which serves another store than {config.data_dir}.")
    error.hint = "choose another port with --port, or end that server: `opencode-memory stop --data-dir` with its store"
    return error


def _conflict(holder: PortHolder, host: str, port: int) -> ConflictError:
    error = ConflictError(f"cannot start a server. {explain_holder(holder, host, port)}")
    error.hint = hint_for_holder(holder, port)
    return error


def _check_port(config: Config) -> None:
    if config.server.port == 0:
        origin = config.origins["server.port"]
        error = ConfigError(
            "server.port is 0 (any free port); clients could not find a server in the background",
            key="server.port",
            origin=origin,
        )
        error.hint = "choose a port with --port"
        raise error


def _environment(config: Config) -> dict[str, str]:
    environment = dict(config.environment)
    if PREFIX + "CONFIG" in environment:
        # The path may be relative, and the server starts in another directory.
        environment[PREFIX + "CONFIG"] = str(config.file)
    return environment


@contextmanager
def _start_lock(file: Path) -> Iterator[None]:
    """Hold the lock that lets only one process at a time start a server for this store."""
    descriptor = system().open(file, os.O_RDWR | os.O_CREAT)
    try:
        system().lock(descriptor)
        yield
    finally:
        os.close(descriptor)


def _open_log(file: Path) -> IO[bytes]:
    """Open the log for appending. Rotate it first if it is too large."""
    with suppress(FileNotFoundError):
        if file.stat().st_size > _MOST_LOG_BYTES:
            file.replace(file.with_name(f"{file.name}.1"))
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | NOT_INHERITED | AS_BYTES
    out = os.fdopen(os.open(file, flags, PRIVATE_FILE), "ab", buffering=0)
    out.seek(0, os.SEEK_END)
    return out


def _read_last_lines(log: Path, begin: int) -> str:
    with log.open("rb") as file:
        end = file.seek(0, os.SEEK_END)
        file.seek(max(begin, end - _LAST_BYTES))
        lines = file.read().decode(errors="replace").strip().splitlines()
    return "its last output:\n" + "\n".join(lines[-_LAST_LINES:]) if lines else "it wrote no output"
