"""Starting the resident server in the background, and waiting until it answers.

Whoever asks first starts it; whoever asks meanwhile waits for the same one. The server gets a session of its own, so
neither the terminal nor OpenCode takes it along, and says what it says in a log beside the store.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from opencode_memory.config.load import Config
from opencode_memory.config.settings import PREFIX
from opencode_memory.errors import ConfigError, ConflictError, OpencodeMemoryError, StorageError
from opencode_memory.service.port_holder import PortHolder, explain_holder, hint_for_holder, who_holds

LOG_FILE: Final = "server.log"
_LOCK_FILE: Final = "server.start.lock"
_MOST_LOG_BYTES: Final = 5_000_000
_PATIENCE_SECONDS: Final = 60.0
_PAUSE_SECONDS: Final = 0.05
_LAST_LINES: Final = 12
_LAST_BYTES: Final = 16_384


@dataclass(frozen=True, slots=True, kw_only=True)
class DetachedServer:
    """A server in the background.

    Attributes:
        pid: Its process; None when the system does not say.
        version: Its version.
        started: Whether it was started just now.
        log: Where a server that was started here says what it says.
    """

    pid: int | None
    version: str | None
    started: bool
    log: Path


def start_detached(
    config: Config, command: Sequence[str], *, patience_seconds: float = _PATIENCE_SECONDS
) -> DetachedServer:
    """Start a server, unless one of this user answers already, and return when it answers.

    Args:
        config: The configuration that the server will have.
        command: What starts it.
        patience_seconds: How long it may take to answer.

    Raises:
        ConfigError: The port is any free one.
        ConflictError: Somebody else holds the port.
        OpencodeMemoryError: The server ended before it answered, or took too long.
        StorageError: The log cannot be written.
    """
    _check_port(config)
    log = config.data_dir / LOG_FILE
    if (running := _find_running(config)) is not None:
        return DetachedServer(pid=running.pid, version=running.version, started=False, log=log)
    try:
        config.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _start_lock(config.data_dir / _LOCK_FILE), _open_log(log) as out:
            # Somebody may have started it while this one waited for its turn.
            if (running := _find_running(config)) is not None:
                return DetachedServer(pid=running.pid, version=running.version, started=False, log=log)
            begin = out.tell()
            child = subprocess.Popen(  # noqa: S603  our own program
                command,
                cwd="/",
                env=_environment(config),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )
            return _wait_until_ready(config, child, log, begin, time.monotonic() + patience_seconds)
    except OSError as error:
        if isinstance(error, OpencodeMemoryError):
            raise
        where = error.filename or config.data_dir
        raise StorageError(f"cannot start a server: {where}: {error.strerror or error}", path=str(where)) from error


def _wait_until_ready(
    config: Config, child: subprocess.Popen[bytes], log: Path, begin: int, until: float
) -> DetachedServer:
    while True:
        ended = child.poll() is not None
        # In this order: whoever made it end by being faster answers by now.
        if (running := _find_running(config, until=until)) is not None:
            if not ended:
                # It outlives this process on purpose, which Popen would complain of.
                child.returncode = 0
            return DetachedServer(pid=running.pid, version=running.version, started=running.pid == child.pid, log=log)
        if ended:
            error = OpencodeMemoryError(
                f"the server ended with {child.returncode} before it answered; {_last_lines(log, begin)}"
            )
            error.hint = f"all that it said is in {log}"
            raise error
        if time.monotonic() > until:
            child.kill()
            child.wait()
            error = OpencodeMemoryError(f"the server did not answer in time; {_last_lines(log, begin)}")
            error.hint = f"all that it said is in {log}; `opencode-memory serve` shows it at once"
            raise error
        time.sleep(_PAUSE_SECONDS)


def _find_running(config: Config, *, until: float | None = None) -> PortHolder | None:
    """Return the server of this user that answers on the port; None when nobody holds it, or it does not answer yet.

    Raises:
        ConflictError: Somebody else holds it; or one of ours does, and does not answer.
    """
    host, port = config.server.host, config.server.port
    give_up = time.monotonic() + _PATIENCE_SECONDS if until is None else until
    while (holder := who_holds(host, port)) is not None:
        if not holder.is_ours or holder.uid not in (None, os.getuid()):
            raise _conflict(holder, host, port)
        if holder.http_status is not None:
            return holder
        # It has bound the port and is not ready; a server that was stopped never will be.
        if until is not None:
            return None
        if time.monotonic() > give_up:
            raise _conflict(holder, host, port)
        time.sleep(_PAUSE_SECONDS)
    return None


def _conflict(holder: PortHolder, host: str, port: int) -> ConflictError:
    error = ConflictError(f"cannot start a server. {explain_holder(holder, host, port)}")
    error.hint = hint_for_holder(holder, port)
    return error


def _check_port(config: Config) -> None:
    if config.server.port == 0:
        origin = config.origins["server.port"]
        error = ConfigError(
            "server.port is 0, any free port; nobody would find the server", key="server.port", origin=origin
        )
        error.hint = "name one with --port"
        raise error


def _environment(config: Config) -> dict[str, str]:
    environment = dict(config.environment)
    if PREFIX + "CONFIG" in environment:
        # It may be relative, and the server is started elsewhere.
        environment[PREFIX + "CONFIG"] = str(config.file)
    return environment


@contextmanager
def _start_lock(file: Path) -> Iterator[None]:
    """Wait until nobody else starts a server on this store."""
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _open_log(file: Path) -> IO[bytes]:
    """Open the log to append to it; one that has grown large makes room first."""
    with suppress(FileNotFoundError):
        if file.stat().st_size > _MOST_LOG_BYTES:
            file.replace(file.with_name(f"{file.name}.1"))
    out = os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600), "ab", buffering=0)
    out.seek(0, os.SEEK_END)
    return out


def _last_lines(log: Path, begin: int) -> str:
    with log.open("rb") as file:
        end = file.seek(0, os.SEEK_END)
        file.seek(max(begin, end - _LAST_BYTES))
        said = file.read().decode(errors="replace").strip().splitlines()
    return "its last words:\n" + "\n".join(said[-_LAST_LINES:]) if said else "it said nothing"
