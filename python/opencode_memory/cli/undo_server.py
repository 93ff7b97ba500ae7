"""Ends the server that OpenCode's plugin started, when the plugin is removed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from opencode_memory.cli.context import Invocation
from opencode_memory.errors import OpencodeMemoryError

if TYPE_CHECKING:
    from opencode_memory.service.server_record import ServerRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerFate:
    """The server of the store, and whether the removal of the plugin ends it.

    Attributes:
        url: Its URL.
        pid: Its process id.
        kept: The reason why it goes on; None if it ends.
    """

    url: str
    pid: int
    kept: str | None

    def describe(self, *, dry_run: bool) -> str:
        """Return one or two sentences for the user."""
        server = f"the server at {self.url} (process {self.pid})"
        if self.kept is None:
            return f"{'Would stop' if dry_run else 'Stopped'} {server}."
        return f"{server[0].upper()}{server[1:]} goes on: {self.kept}. To end it: opencode-memory stop"


def end_server_of_plugin(run: Invocation, *, installed: Sequence[Path], dry_run: bool) -> ServerFate | None:
    """End the server of the store, if the plugin started it and no other client or service uses it.

    Args:
        run: The invocation, whose configuration names the store.
        installed: Folders where the plugin remains installed.
        dry_run: Whether to only decide.

    Returns:
        None if no server runs.
    """
    from opencode_memory.service.server_record import find_server  # noqa: PLC0415  not needed for help

    try:
        record = find_server(run.config.data_dir)
    except OpencodeMemoryError as error:
        run.out.note(f"The server was not stopped: {error}")
        return None
    if record is None:
        return None
    try:
        kept = _end(run, record, installed=installed, dry_run=dry_run)
    except OpencodeMemoryError as error:
        kept = str(error)
    return ServerFate(url=record.url, pid=record.pid, kept=kept)


def _end(run: Invocation, record: ServerRecord, *, installed: Sequence[Path], dry_run: bool) -> str | None:
    """End the server, and return None; or return the reason why it goes on."""
    from opencode_memory.cli.stop import find_managing_service  # noqa: PLC0415  as above
    from opencode_memory.server.stop import (  # noqa: PLC0415  as above
        count_plugins,
        end_server,
        find_running_server,
        refuse_managed,
    )

    if installed:
        return f"the plugin in {installed[0]} uses it"
    server = find_running_server(run.config)
    if server is None:
        return None
    refuse_managed(server, find_managing_service(run.config, server.pid))
    if not record.detached:
        return "the plugin did not start it"
    plugins = count_plugins(run.config, server)
    if plugins is None:
        return "it does not tell whether an OpenCode uses it"
    if plugins:
        return f"{plugins} open OpenCode{'s use' if plugins > 1 else ' uses'} it"
    if not dry_run:
        end_server(run.config, server)
    return None
