"""Checks of the resident server: which process holds its port, and whether it lets the plugin in."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path

import opencode_memory
from opencode_memory.cli.context import Invocation
from opencode_memory.cli.doctor.checks import Check, Fix, FixableCheck, FixKind, Level
from opencode_memory.cli.stop import find_managing_service
from opencode_memory.errors import OpencodeMemoryError
from opencode_memory.hosts.opencode.contract import TOKEN_FILE
from opencode_memory.hosts.opencode.manifest import server_url
from opencode_memory.hosts.opencode.token_file import accepts_token
from opencode_memory.platform import system
from opencode_memory.server.stop import list_plugin_versions
from opencode_memory.service.port_holder import PortHolder, explain_holder, find_port_holder, hint_for_holder
from opencode_memory.service.versions import is_older


def check_server(run: Invocation, *, has_plugin: bool = True) -> Iterator[Check]:
    """Check that our server holds the port that the plugin connects to, and that it accepts the plugin's key.

    Args:
        run: The command.
        has_plugin: Whether the plugin is installed. Without it, only the health of our running server is checked.
    """
    try:
        url = server_url(run.config)
    except OpencodeMemoryError as error:
        yield Check("server", Level.PROBLEM, str(error), error.hint)
        return
    host, port = run.config.server.host, run.config.server.port
    holder = find_port_holder(host, port)
    start = "opencode-memory serve --detach"
    if not has_plugin and (holder is None or not holder.is_ours):
        return
    if holder is None:
        text = f"no server runs at {url}; the plugin starts it when needed"
        yield FixableCheck("server", Level.NOTE, text, start, Fix(FixKind.START))
    elif not holder.is_ours or holder.uid not in (None, system().user_id()):
        yield Check("server", Level.PROBLEM, explain_holder(holder, host, port), hint_for_holder(holder, port))
    else:
        if is_older(holder.version) and find_managing_service(run.config, holder.pid or 0) is None:
            # The newer version takes over the port, so no call is lost.
            text = f"the server at {url} has version {holder.version}, but {opencode_memory.__version__} is installed"
            yield FixableCheck("server", Level.PROBLEM, text, start, Fix(FixKind.START))
        else:
            yield _check_own_server(holder, url, restart=f"opencode-memory stop && {start}")
        yield from _check_running_plugins(run, host, port)
        if holder.http_status is not None and has_plugin:
            # The process may serve another store, whose server `stop` does not end.
            restart = f"kill {holder.pid or 'PID'} && {start}"
            yield from _check_token(run.config.data_dir / TOKEN_FILE, url, restart=restart)


def _check_own_server(holder: PortHolder, url: str, *, restart: str) -> Check:
    version = opencode_memory.__version__
    if holder.http_status is None:
        return Check("server", Level.PROBLEM, f"your server at {url} does not answer", restart)
    if holder.version != version:
        text = f"the server at {url} has version {holder.version}, but {version} is installed"
        return Check("server", Level.PROBLEM, text, restart)
    if holder.has_failed:
        reported = "; ".join(holder.problems)
        start = "opencode-memory serve --detach"
        return FixableCheck(
            "server", Level.PROBLEM, f"the server refuses clients: {reported}", start, Fix(FixKind.START)
        )
    if holder.http_status != 200:  # noqa: PLR2004  HTTP's OK
        reported = "; ".join(holder.problems) or f"see {url}/health"
        return Check("server", Level.PROBLEM, f"the server reports a problem: {reported}", restart)
    return Check("server", Level.OK, f"opencode-memory {version} answers at {url}")


def _check_running_plugins(run: Invocation, host: str, port: int) -> Iterator[Check]:
    """Report plugins of another version. OpenCode loads a plugin once, so ``setup`` does not update those that run."""
    version = opencode_memory.__version__
    others = [found for found in list_plugin_versions(run.config, host, port) if found != version]
    if others:
        text = f"an open OpenCode still runs the plugin of version {' and '.join(others)}, but {version} is installed"
        yield Check("plugin", Level.NOTE, text, "restart OpenCode")


def _check_token(file: Path, url: str, *, restart: str) -> Iterator[Check]:
    try:
        found = file.stat()
    except FileNotFoundError:
        text = f"{file} does not exist, so the server rejects the plugin; it may serve another store"
        yield Check("token", Level.PROBLEM, text, "stop the server and start it again: opencode-memory serve --detach")
        return
    if system().user_id() not in (None, found.st_uid):
        yield Check("token", Level.PROBLEM, f"{file} belongs to another user", f"rm {file}, and restart the server")
    elif system().may_others_read(file):
        text = f"other users may read {file} ({stat.S_IMODE(found.st_mode):o})"
        yield FixableCheck("token", Level.PROBLEM, text, f"chmod 600 {file}", Fix(FixKind.CHMOD, path=file, mode=0o600))
    elif accepts_token(url, file.read_text(encoding="ascii", errors="replace").strip()) is False:
        text = f"the server at {url} rejects the key in {file}, and therefore the plugin"
        yield Check("token", Level.PROBLEM, f"{text}; it may serve another store", restart)
