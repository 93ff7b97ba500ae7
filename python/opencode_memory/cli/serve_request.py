"""Options of ``opencode-memory serve``."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeRequest:
    """Options of a server; None means the value of the configuration.

    Attributes:
        stdio: Whether to serve one client over standard input and output.
        host: The address to listen on.
        port: The port to listen on; 0 for any free port.
        tools: ``all`` or ``core``.
        with_worker: Whether to start a worker.
        detached: Whether ``serve --detach`` started the process.
        inherited: The open files that an older server has left to this one; None if there are none.
    """

    stdio: bool
    host: str | None
    port: int | None
    tools: str | None
    with_worker: bool
    detached: bool = False
    inherited: str | None = None
