"""``opencode-memory stop``: ends the resident server of this store."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from opencode_memory.cli.command import command
from opencode_memory.cli.context import Invocation
from opencode_memory.cli.errors import DONE, NOTHING_FOUND
from opencode_memory.errors import OpencodeMemoryError
from opencode_memory.platform import system

if TYPE_CHECKING:
    from opencode_memory.config.load import Config
    from opencode_memory.service.managed import Managed


@command("stop")
def stop(run: Invocation) -> int:
    """Stop the server of this store, also if it uses an earlier port. Exits with 1 if none runs.

    The server answers its running calls first. A server that a service manager runs is not stopped; the error names the
    command that stops the service.
    """
    from opencode_memory.server.stop import (  # noqa: PLC0415  not needed for help
        count_plugins,
        end_server,
        find_running_server,
        refuse_managed,
    )

    server = find_running_server(run.config)
    if server is None:
        if run.out.as_json:
            run.out.json({"stopped": None})
        else:
            run.out.line(f"No server runs for {run.config.data_dir}.")
        return NOTHING_FOUND
    refuse_managed(server, find_managing_service(run.config, server.pid))
    plugins = count_plugins(run.config, server)
    end_server(run.config, server)
    if run.out.as_json:
        about = {"pid": server.pid, "url": server.url, "version": server.version, "plugins": plugins}
        run.out.json({"stopped": about})
        return DONE
    run.out.line(f"Stopped opencode-memory {server.version or ''} at {server.url} (process {server.pid}).")
    if plugins:
        run.out.note("An OpenCode is open, whose plugin starts the server again when it needs it.")
    return DONE


def find_managing_service(config: Config, pid: int) -> Managed | None:
    """Return the service whose main process is this one; None if there is none."""
    from opencode_memory.service import find_supervisor  # noqa: PLC0415  as above
    from opencode_memory.service.managed import find_service  # noqa: PLC0415  as above
    from opencode_memory.service.manager import make_runner  # noqa: PLC0415  as above

    try:
        supervisor = find_supervisor(sys.platform, config.environment, uid=system().user_id())
    except OpencodeMemoryError:  # A platform without a supported service manager.
        supervisor = None
    return find_service(pid, supervisor=supervisor, run=make_runner(config.environment))
