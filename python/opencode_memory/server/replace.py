"""Ends the server of a store that has an earlier address, an older version or a failed task, before a new one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from opencode_memory.config.load import Config
from opencode_memory.errors import ConflictError
from opencode_memory.server.failed_server import explain_failed, find_failed, is_too_young
from opencode_memory.server.stop import RunningServer, end_server, find_running_server, refuse_managed
from opencode_memory.server.takeover import Inherited, take_over
from opencode_memory.service.managed import Managed
from opencode_memory.service.versions import is_older


@dataclass(frozen=True, slots=True)
class Replaced:
    """A server that has ended.

    Attributes:
        server: The server.
        inherited: What it has left to its successor; None if it was ended without that.
    """

    server: RunningServer
    inherited: Inherited | None = None


def end_replaced_server(
    config: Config, *, is_configured: bool, find_service: Callable[[int], Managed | None]
) -> Replaced | None:
    """End the server of the store if it has another address, an older version or a failed task, and return it.

    One of an older version at the same address hands over its port, so that its clients notice nothing.

    A plugin that was set up before the port was changed still asks for the earlier port. Only the configured address
    replaces another one. Otherwise two plugins would end each other's servers again and again.

    A server that has failed soon after its start is not replaced yet. Otherwise a plugin would start and end servers
    without pause if each of them fails.

    Args:
        config: The configuration of the new server.
        is_configured: Whether its address is the configured one, and not only that of an option.
        find_service: Returns the service whose main process has an id.

    Raises:
        ConflictError: The server has another address and is a service, or the new address is not the configured one.
        OpencodeMemoryError: The server did not end in time, or has failed soon after its start.
    """
    server = find_running_server(config)
    if server is None:
        return None
    if (server.host, server.port) == (config.server.host, config.server.port):
        # A service is restarted by its manager, as the doctor says.
        failed = find_failed(server.host, server.port)
        if (failed is None and not is_older(server.version)) or find_service(server.pid) is not None:
            return None
        if failed is not None and is_too_young(failed):
            raise explain_failed(failed, config.data_dir)
        if (inherited := take_over(config, server)) is not None:
            return Replaced(server, inherited)
        # It may have begun to hand over, and end by itself.
        if find_running_server(config) is None:
            return Replaced(server)
    elif not is_configured:
        error = ConflictError(f"the server of this store runs at {server.url} (process {server.pid})")
        error.hint = "`opencode-memory setup` writes the configured address into the plugin; then restart OpenCode"
        raise error
    else:
        refuse_managed(server, find_service(server.pid))
    end_server(config, server)
    return Replaced(server)
