"""Finds the process that holds the server's port, and an installation of opencode-semantic-memory, the predecessor.

This module only reads. It opens no file for writing, stops no service, and requests only the health of a server.
Both programs report the name ``opencode-memory`` there, but only ours reports its process id.
"""

from __future__ import annotations

import json
import re
import shlex
import socket
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from ipaddress import ip_address
from pathlib import Path, PurePath
from typing import Any, Final

from opencode_memory.config.paths import APPLICATION, default_config_file, default_data_dir
from opencode_memory.platform import system
from opencode_memory.service.listeners import PROC, Listener, find_listeners, find_process, read_command
from opencode_memory.text.addresses import local_host
from opencode_memory.text.display import one_line

NAME: Final = "opencode-semantic-memory"
SERVICES: Final = (
    "opencode-memory.service",
    "opencode-memory-daemon.service",
    "opencode-memory-worker.service",
    "opencode-memory-enrich.service",
)
AGENTS: Final = ("com.opencode.memory.plist", "com.opencode.memory.daemon.plist", "com.opencode.memory.worker.plist")
IMPORTING: Final = "to import its memories, run its tool memory_export_memories and then `opencode-memory import FILE`"
_PORT: Final = 9824
_MOST_BYTES: Final = 65_536
_MOST_PROBLEMS: Final = 5
_LONGEST_PROBLEM: Final = 300
_LONGEST_COMMAND: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Incumbent:
    """Files of the predecessor, of which at least one exists.

    Attributes:
        database: Its SQLite file, if any.
        vectors: The folder of its vectors, if any.
        units: Its systemd units and launchd agents.
        config: Its configuration file, if any.
    """

    database: Path | None
    vectors: Path | None
    units: tuple[Path, ...]
    config: Path | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PortHolder:
    """Process that holds a port.

    Attributes:
        pid: Its process id; None if it is not visible, for example because it belongs to another user.
        command: Its command line.
        is_ours: Whether it is a server of this program.
        is_incumbent: Whether it is a server of the predecessor.
        version: The version that it reports.
        uid: Id of its user, if visible.
        http_status: HTTP status of its health; None if it did not answer over HTTP in time.
        problems: The problems that its health reports, as text that can be printed.
        has_failed: Whether it says that one of its tasks has failed, so that it refuses its clients.
        uptime_seconds: How long it runs, as it says; None if it does not say so.
    """

    pid: int | None
    command: str | None
    is_ours: bool
    is_incumbent: bool
    version: str | None
    uid: int | None = None
    http_status: int | None = None
    problems: tuple[str, ...] = ()
    has_failed: bool = False
    uptime_seconds: int | None = None


def find_incumbent(environment: Mapping[str, str]) -> Incumbent | None:
    """Find the predecessor's files; return None if there are none.

    The predecessor uses ``~/.local/share`` and ``~/.config`` regardless of the XDG variables, unless its configuration
    names another folder. Its documentation mentions the XDG folders as well, so this function searches both.
    """
    home = Path(environment.get("HOME", ""))
    configs = [home / ".config", default_config_file(environment).parent.parent]
    config = _find_first(folder / APPLICATION / "config.toml" for folder in configs)
    storage = [home / ".local/share" / APPLICATION, default_data_dir(environment).parent]
    if config is not None and (configured := _read_storage_path(config, home)) is not None:
        storage.insert(0, configured)
    units = [folder / "systemd" / "user" / name for folder in configs for name in SERVICES]
    units += [home / "Library" / "LaunchAgents" / name for name in AGENTS]
    found = Incumbent(
        database=_find_first(folder / "memory.db" for folder in storage),
        vectors=_find_first(folder / "vectors" for folder in storage),
        units=tuple(dict.fromkeys(unit for unit in units if _exists(unit))),
        config=config,
    )
    return None if found == Incumbent(database=None, vectors=None, units=(), config=None) else found


def explain_incumbent(found: Incumbent, *, port: int) -> str:
    """Describe the files of the predecessor, and how to import its memories."""
    places = [str(place) for place in (found.database, *found.units) if place is not None]
    text = (
        f"{NAME}, a predecessor of the same name, is also installed ({', '.join(places or [str(found.config)])}). "
        f"Its files are not changed; {IMPORTING}."
    )
    if found.units and port == _PORT:
        text += f" Its services also use port {port}: stop them, or run `{_format_port_command(port)}`."
    return text


def find_port_holder(host: str, port: int, *, timeout_seconds: float = 2.0, proc: Path = PROC) -> PortHolder | None:
    """Find the process that listens on the address of a server.

    Args:
        host: Address or name that the server binds.
        port: Its port.
        timeout_seconds: Timeout of each step of the health request.
        proc: Linux's process file system.

    Returns:
        None if the port is free or the host is unknown.
    """
    listener = _find_listener(host, port, proc=proc)
    answer = _ask_health(host, port, timeout_seconds=timeout_seconds)
    if (listener is None) != (answer is None):
        # A server that starts or ends may have opened or closed its port between the two looks.
        listener = _find_listener(host, port, proc=proc)
    if listener is None and answer is None:
        return None
    status, health = answer or (None, {})
    pid = find_process(listener.inode, proc=proc) if listener is not None else None
    command = read_command(pid, proc=proc) if pid is not None else ()
    names_itself = health.get("server") == APPLICATION
    is_incumbent = _is_incumbent_command(command) or (names_itself and not isinstance(health.get("pid"), int))
    is_ours = not is_incumbent and (names_itself or _is_own_command(command))
    version = health.get("version")
    return PortHolder(
        pid=health["pid"] if pid is None and is_ours and names_itself else pid,
        command=shlex.join(command) or None,
        is_ours=is_ours,
        is_incumbent=is_incumbent,
        version=version if isinstance(version, str) and re.fullmatch(r"[\w.+-]{1,40}", version) else None,
        uid=listener.uid if listener is not None else None,
        http_status=status,
        problems=_read_problems(health),
        has_failed=health.get("task_failed") is True,
        uptime_seconds=uptime if isinstance(uptime := health.get("uptime_seconds"), int) else None,
    )


def explain_holder(holder: PortHolder, host: str, port: int) -> str:
    """Describe the process that holds a port, in one or two sentences."""
    version = f" {holder.version}" if holder.version else ""
    text = f"Port {port} of {host} is held by "
    whose = _describe_owner(holder)
    if holder.is_ours:
        return f"{text}another opencode-memory{version}{whose}."
    if holder.is_incumbent:
        return f"{text}{NAME}{version}, a predecessor of the same name{whose}. It is left unchanged."
    return f"{text}another program{whose}{f': {_truncate(holder.command)}' if holder.command else ''}."


def hint_for_holder(holder: PortHolder, port: int) -> str:
    """Return the next step for a user who wants the port."""
    if holder.is_ours:
        return (
            f"use that server, end it with `opencode-memory stop`, or take another port: `{_format_port_command(port)}`"
        )
    if holder.is_incumbent:
        return f"{IMPORTING}; stop it, or take another port: `{_format_port_command(port)}`"
    return f"stop it, or take another port: `{_format_port_command(port)}`"


def _find_first(places: Iterable[Path]) -> Path | None:
    return next((place for place in places if _exists(place)), None)


def _exists(place: Path) -> bool:
    try:
        return place.is_absolute() and place.exists()
    except OSError:  # No permission to look into the folder.
        return False


def _read_storage_path(config: Path, home: Path) -> Path | None:
    """Return the folder that the predecessor's configuration names, if any. A broken file is ignored."""
    try:
        written = tomllib.loads(config.read_text(encoding="utf-8")).get("storage", {}).get("path")
    except (OSError, ValueError, AttributeError):
        return None
    if not isinstance(written, str):
        return None
    return home / written[2:] if written.startswith("~/") else Path(written)


def _find_listener(host: str, port: int, *, proc: Path) -> Listener | None:
    try:
        addresses = {ip_address(found[4][0]) for found in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)}
    except (OSError, ValueError):  # An unknown name, or a link-local address with an unknown zone.
        return None
    for listener in find_listeners(port, proc=proc):
        if any(listener.conflicts_with(address) for address in addresses):
            return listener
    return None


def _ask_health(host: str, port: int, *, timeout_seconds: float) -> tuple[int | None, Mapping[str, Any]] | None:
    """Request the health; return None if the port is free, and (None, {}) if the holder does not answer over HTTP."""
    # urllib would send the request through the proxies of the environment, and follow redirects to other machines.
    try:
        connection = HTTPConnection(local_host(host), port, timeout=timeout_seconds)
        connection.connect()
    except (OSError, HTTPException, ValueError):  # ValueError: an invalid host name.
        return None
    try:
        connection.request("GET", "/health", headers={"Accept": "application/json", "Connection": "close"})
        response = connection.getresponse()
        status, body = response.status, response.read(_MOST_BYTES)
    except (OSError, HTTPException):
        return None, {}
    finally:
        connection.close()
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        document = None
    return status, document if isinstance(document, dict) else {}


def _read_problems(health: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the reported problems, of which the process that holds the port may be any program."""
    problems = health.get("problems")
    texts = problems[:_MOST_PROBLEMS] if isinstance(problems, list) else []
    return tuple(one_line(text, _LONGEST_PROBLEM) for text in texts if isinstance(text, str))


def _is_incumbent_command(command: Sequence[str]) -> bool:
    return any(
        "opencode_memory.http_server" in part or _program_name(part) == "opencode-memory-server" for part in command
    )


def _is_own_command(command: Sequence[str]) -> bool:
    ours = {"opencode-memory", "ocm-mem", "ocm-memory", "opencode_memory.cli"}
    return "serve" in command and any(_program_name(part) in ours for part in command)


def _program_name(part: str) -> str:
    return PurePath(part).name


def _describe_owner(holder: PortHolder) -> str:
    if holder.uid is not None and holder.uid != system().user_id():
        return f" of the user {system().user_name(holder.uid)}"
    return f" (process {holder.pid})" if holder.pid is not None else ""


def _truncate(command: str) -> str:
    return command if len(command) <= _LONGEST_COMMAND else f"{command[: _LONGEST_COMMAND - 1]}…"


def _format_port_command(port: int) -> str:
    return f"opencode-memory config set server.port {port + 1 if port < 65_535 else port - 1}"  # noqa: PLR2004
