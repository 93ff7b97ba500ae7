"""The predecessor of the same name (opencode-semantic-memory on PyPI), and whoever else holds the server's port.

Everything here only looks: files are not opened for writing, services are not stopped, and nothing is asked of a
server but its health. Both programs say ``opencode-memory`` of themselves there; only ours names its process.
"""

from __future__ import annotations

import json
import os
import pwd
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
from opencode_memory.service.listeners import PROC, Listener, find_listeners, find_process, read_command

NAME: Final = "opencode-semantic-memory"
SERVICES: Final = (
    "opencode-memory.service",
    "opencode-memory-daemon.service",
    "opencode-memory-worker.service",
    "opencode-memory-enrich.service",
)
AGENTS: Final = ("com.opencode.memory.plist", "com.opencode.memory.daemon.plist", "com.opencode.memory.worker.plist")
IMPORTING: Final = (
    "its memories come over with `opencode-memory import FILE`, FILE being what its tool memory_export_memories writes"
)
_PORT: Final = 9824
_LOOPBACK: Final = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}  # noqa: S104  nothing is bound here
_MOST_BYTES: Final = 65_536
_LONGEST_COMMAND: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Incumbent:
    """What was found of the predecessor; each of it may be missing, but not all.

    Attributes:
        database: Its SQLite file.
        vectors: The folder of its vectors.
        units: Its systemd units and launchd agents.
        config: Its configuration file.
    """

    database: Path | None
    vectors: Path | None
    units: tuple[Path, ...]
    config: Path | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PortHolder:
    """Who holds a port.

    Attributes:
        pid: The process; None when the system does not say, as for another user's.
        command: Its command line.
        is_ours: Whether it is a server of this program.
        is_incumbent: Whether it is the predecessor's.
        version: What it says that its version is.
        uid: The user whose it is, where the system says.
        http_status: What it answered when asked for its health; None when it does not speak HTTP, or took too long.
    """

    pid: int | None
    command: str | None
    is_ours: bool
    is_incumbent: bool
    version: str | None
    uid: int | None = None
    http_status: int | None = None


def find_incumbent(environment: Mapping[str, str]) -> Incumbent | None:
    """Look for the predecessor's files; None when there are none.

    It keeps to ``~/.local/share`` and ``~/.config`` whatever the XDG variables say, unless its configuration names
    another place, and its documentation speaks of both; so both are looked at.
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
    """Say what there is of the predecessor, that it stays, and how to take its memories over."""
    places = [str(place) for place in (found.database, *found.units) if place is not None]
    text = (
        f"{NAME}, a predecessor of the same name, is here too ({', '.join(places or [str(found.config)])}). "
        f"Nothing of it is touched; {IMPORTING}."
    )
    if found.units and port == _PORT:
        text += f" Its services use port {port} as well: stop them, or `{_format_port_command(port)}`."
    return text


def find_port_holder(host: str, port: int, *, timeout_seconds: float = 2.0, proc: Path = PROC) -> PortHolder | None:
    """Find out who listens where a server wants to listen.

    Args:
        host: Address or name that the server binds.
        port: Its port.
        timeout_seconds: How long each step of asking for the health may take.
        proc: Where Linux tells of its processes.

    Returns:
        None when nobody does, or the host is not known.
    """
    listener = _find_listener(host, port, proc=proc)
    answer = _ask_health(host, port, timeout_seconds=timeout_seconds)
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
    )


def explain_holder(holder: PortHolder, host: str, port: int) -> str:
    """Say who holds a port, in one or two sentences."""
    version = f" {holder.version}" if holder.version else ""
    text = f"Port {port} of {host} is held by "
    whose = _describe_owner(holder)
    if holder.is_ours:
        return f"{text}another opencode-memory{version}{whose}."
    if holder.is_incumbent:
        return f"{text}{NAME}{version}, a predecessor of the same name{whose}. Nothing of it is touched."
    return f"{text}another program{whose}{f': {_truncate(holder.command)}' if holder.command else ''}."


def hint_for_holder(holder: PortHolder, port: int) -> str:
    """Say what can be done about it."""
    if holder.is_ours:
        return f"use that one, or take another port: `{_format_port_command(port)}`"
    if holder.is_incumbent:
        return f"{IMPORTING}; stop it, or take another port: `{_format_port_command(port)}`"
    return f"stop it, or take another port: `{_format_port_command(port)}`"


def _find_first(places: Iterable[Path]) -> Path | None:
    return next((place for place in places if _exists(place)), None)


def _exists(place: Path) -> bool:
    try:
        return place.is_absolute() and place.exists()
    except OSError:  # A folder that may not be looked into holds nothing that we could speak of.
        return False


def _read_storage_path(config: Path, home: Path) -> Path | None:
    """Return the folder that the predecessor's configuration names; a broken file is its own business."""
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
    except (OSError, ValueError):  # A name that nobody knows; a link-local address with a zone that is not here.
        return None
    heard = (
        one for one in find_listeners(port, proc=proc) if any(one.conflicts_with(address) for address in addresses)
    )
    return next(heard, None)


def _ask_health(host: str, port: int, *, timeout_seconds: float) -> tuple[int | None, Mapping[str, Any]] | None:
    """Ask for the health; None when nobody is there, (None, {}) when somebody is who does not answer like a server."""
    # Not urllib: the proxies of the environment have no say in what is on this machine, and redirects lead elsewhere.
    try:
        connection = HTTPConnection(_LOOPBACK.get(host, host), port, timeout=timeout_seconds)
        connection.connect()
    except (OSError, HTTPException, ValueError):  # Also what can be no name of a host.
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


def _is_incumbent_command(command: Sequence[str]) -> bool:
    return any(
        "opencode_memory.http_server" in part or _program_name(part) == "opencode-memory-server" for part in command
    )


def _is_own_command(command: Sequence[str]) -> bool:
    ours = {"opencode-memory", "ocm-mem", "opencode_memory.cli"}
    return "serve" in command and any(_program_name(part) in ours for part in command)


def _program_name(part: str) -> str:
    return PurePath(part).name


def _describe_owner(holder: PortHolder) -> str:
    if holder.uid is not None and holder.uid != os.getuid():
        return f" of the user {_user_name(holder.uid)}"
    return f" (process {holder.pid})" if holder.pid is not None else ""


def _user_name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:  # It has a number only, as in a container.
        return str(uid)


def _truncate(command: str) -> str:
    return command if len(command) <= _LONGEST_COMMAND else f"{command[: _LONGEST_COMMAND - 1]}…"


def _format_port_command(port: int) -> str:
    return f"opencode-memory config set server.port {port + 1 if port < 65_535 else port - 1}"  # noqa: PLR2004
