"""Ends the resident server of a store.

A server is ended only if it serves this store, belongs to this user, and its process is visible. The record in the data
directory gives its address, also after the configured port was changed. A server of an older version writes no record;
it is found at the configured port, and recognized because it accepts the token of the store.
"""

from __future__ import annotations

import json
import os
import select
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from opencode_memory.config.load import Config
from opencode_memory.errors import ConflictError, OpencodeMemoryError
from opencode_memory.hosts.opencode.token_file import accepts_token, token_file
from opencode_memory.platform import system
from opencode_memory.resident.client import get
from opencode_memory.service.managed import Managed
from opencode_memory.service.port_holder import PortHolder, explain_holder, find_port_holder, hint_for_holder
from opencode_memory.service.server_record import ServerRecord, find_server
from opencode_memory.text.addresses import format_url

_PATIENCE_SECONDS: Final = 20.0
_ENDING_SECONDS: Final = 5.0
_PAUSE_SECONDS: Final = 0.05
_STATS: Final = "/stats"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningServer:
    """The server of a store, whose process may be ended.

    Attributes:
        pid: Its process id.
        host: The address that it binds.
        port: Its port.
        version: Its version, if it reports one.
        detached: Whether ``serve --detach`` started it; None if it has no record.
    """

    pid: int
    host: str
    port: int
    version: str | None
    detached: bool | None

    @property
    def url(self) -> str:
        """The URL for clients of this machine."""
        return format_url(self.host, self.port)


class _NotReadyError(ConflictError):
    """A server without a record does not accept the token: that of another store, or one that starts.

    Attributes:
        has_answered: Whether it answers requests, so that it has started.
    """

    has_answered = False


def find_running_server(config: Config) -> RunningServer | None:
    """Find the server of a store and check that this user may end it; return None if none runs.

    Raises:
        ConflictError: A process of another program, user or store holds the address, or its process is not visible.
        StorageError: The record cannot be opened.
    """
    until = time.monotonic() + _ENDING_SECONDS
    while True:
        if (record := find_server(config.data_dir)) is None:
            try:
                return _find_without_record(config)
            except _NotReadyError as refusal:
                # A server that starts opens its port before it writes its record.
                if find_server(config.data_dir) is None and (refusal.has_answered or time.monotonic() > until):
                    raise
            time.sleep(_PAUSE_SECONDS)
            continue
        holder = find_port_holder(record.host, record.port)
        if holder is not None:
            _check_holder(holder, record.host, record.port)
            if holder.pid != record.pid:
                raise _other_process(record, holder)
            return RunningServer(
                pid=record.pid, host=record.host, port=record.port, version=record.version, detached=record.detached
            )
        # A server that ends closes its port first.
        if time.monotonic() > until:
            error = ConflictError(f"the server of this store (process {record.pid}) does not listen at {record.url}")
            error.hint = "it may be ending, or run in a container; wait, or end it where it was started"
            raise error
        time.sleep(_PAUSE_SECONDS)


def end_server(config: Config, server: RunningServer, *, patience_seconds: float = _PATIENCE_SECONDS) -> None:
    """End a server gracefully: it answers its running calls, and ends its worker. Return when its process has ended.

    Args:
        config: The configuration with the store.
        server: The result of ``find_running_server``.
        patience_seconds: Time for the process to end.

    Raises:
        ConflictError: Meanwhile another server took its place, or its process belongs to another user.
        OpencodeMemoryError: The process did not end in time.
    """
    with hold_process(config, server) as handle:
        try:
            system().end(server.pid)
        except ProcessLookupError:
            return
        except PermissionError as error:
            raise ConflictError(f"this user may not end the server (process {server.pid})") from error
        if not wait_for_end(server.pid, handle, patience_seconds):
            late = OpencodeMemoryError(f"the server (process {server.pid}) did not end within {patience_seconds:.0f} s")
            late.hint = f"its acknowledged writes are durable; `kill -KILL {server.pid}` ends it at once"
            raise late


@contextmanager
def hold_process(config: Config, server: RunningServer) -> Iterator[int | None]:
    """Hold a handle of a server's process, which refers to it even after its id is used again.

    Args:
        config: The configuration with the store.
        server: The result of ``find_running_server``.

    Yields:
        The handle; None on systems without handles.

    Raises:
        ConflictError: Meanwhile another server took its place.
    """
    handle = _open_process(server.pid)
    try:
        if find_running_server(config) != server:
            raise ConflictError(f"process {server.pid} is no longer the server of this store; try again")
        yield handle
    finally:
        if handle is not None:
            os.close(handle)


def wait_for_end(pid: int, handle: int | None, patience_seconds: float) -> bool:
    """Wait until a process has ended; false if it takes too long.

    Args:
        pid: Its id.
        handle: The result of ``hold_process``.
        patience_seconds: Time for the process to end.
    """
    if handle is not None:
        return bool(select.select([handle], [], [], patience_seconds)[0])
    until = time.monotonic() + patience_seconds
    while time.monotonic() < until:
        if system().has_ended(pid):
            return True
        time.sleep(_PAUSE_SECONDS)
    return False


def count_plugins(config: Config, server: RunningServer) -> int | None:
    """Return the number of OpenCode processes that are connected to a server; None if it does not tell."""
    plugins = _read_stats(config, server.host, server.port).get("plugins")
    return plugins if isinstance(plugins, int) else None


def list_plugin_versions(config: Config, host: str, port: int) -> list[str]:
    """Return the versions of the plugins that are connected to a server; empty if it does not tell."""
    versions = _read_stats(config, host, port).get("plugin_versions")
    return [version for version in versions if isinstance(version, str)] if isinstance(versions, list) else []


def _read_stats(config: Config, host: str, port: int) -> dict[str, object]:
    try:
        token = token_file(config.data_dir).read_text(encoding="ascii").strip()
        answer = get(host, port, _STATS, token=token)
        stats = json.loads(answer.body) if answer is not None else None
    except (OSError, ValueError):
        return {}
    return stats if isinstance(stats, dict) else {}


def refuse_managed(server: RunningServer, service: Managed | None) -> None:
    """Raise an error if a service manager runs the server.

    Raises:
        ConflictError: A service manager runs the server; the hint has the command that stops it.
    """
    if service is None:
        return
    error = ConflictError(
        f"the server at {server.url} (process {server.pid}) is the service {service.name}; its manager would start it"
        " again"
    )
    error.hint = f"stop the service: `{service.stop}`"
    if service.is_ours:
        error.hint += "; to remove it: `opencode-memory service uninstall`"
    raise error


def _find_without_record(config: Config) -> RunningServer | None:
    host, port = config.server.host, config.server.port
    if not port or (holder := find_port_holder(host, port)) is None:
        return None
    pid = _check_holder(holder, host, port)
    try:
        token = token_file(config.data_dir).read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        token = ""
    if not token or not accepts_token(format_url(host, port), token):
        error = _NotReadyError(
            f"the server at {format_url(host, port)} (process {pid}) does not accept the token of {config.data_dir}, so"
            " it may serve another store"
        )
        error.has_answered = holder.http_status is not None
        error.hint = "name its store with --data-dir"
        raise error
    return RunningServer(pid=pid, host=host, port=port, version=holder.version, detached=None)


def _check_holder(holder: PortHolder, host: str, port: int) -> int:
    """Return the process id of a server of this user.

    Raises:
        ConflictError: The process is another program, belongs to another user, or is not visible.
    """
    if not holder.is_ours or holder.uid not in (None, system().user_id()):
        error = ConflictError(f"no server of yours to stop. {explain_holder(holder, host, port)}")
        error.hint = hint_for_holder(holder, port)
        raise error
    # Without a visible command, the process id is the server's own report, for example from a container.
    if holder.pid is None or (sys.platform == "linux" and holder.command is None):
        error = ConflictError(f"the process of the server at {format_url(host, port)} is not visible here")
        error.hint = "it may run in a container; stop it where it was started"
        raise error
    return holder.pid


def _other_process(record: ServerRecord, holder: PortHolder) -> ConflictError:
    error = ConflictError(
        f"the record of this store names process {record.pid}, but process {holder.pid} listens at {record.url}"
    )
    error.hint = "the server may run in a container; stop it where it was started"
    return error


def _open_process(pid: int) -> int | None:
    """Return a handle of a process that becomes readable when the process ends; None if there is no such handle."""
    if sys.platform != "linux":
        return None
    try:
        return os.pidfd_open(pid)
    except OSError:  # The process has ended, or the kernel is older than 5.3.
        return None
