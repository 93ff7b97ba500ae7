"""Starts the resident server, which serves all clients over HTTP, with its worker.

``serve`` imports this module only for such a server, because a relay and the help need none of its imports.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import opencode_memory
from opencode_memory._core import limit_arenas
from opencode_memory.cli.context import Invocation
from opencode_memory.cli.delegation import CHECK, serve_command
from opencode_memory.cli.log import start_log
from opencode_memory.cli.recall_request import OPERATION
from opencode_memory.cli.serve_request import ServeRequest
from opencode_memory.config.load import Config
from opencode_memory.config.opencode_manager import log_notices, migrate
from opencode_memory.platform import system
from opencode_memory.server.listening import bind, decide_access
from opencode_memory.server.metrics import Metrics
from opencode_memory.server.server_state import Background, ServerState
from opencode_memory.server.warm_up import WarmUp
from opencode_memory.service.port_holder import explain_incumbent, find_incumbent
from opencode_memory.service.server_record import ServerRecord, hold_record, refuse_second_server
from opencode_memory.worker.supervisor import Supervisor

if TYPE_CHECKING:
    from opencode_memory.server.client_project import Described
    from opencode_memory.server.server_state import Operation


def serve_all(run: Invocation, config: Config, request: ServeRequest, *, on_complete: Callable[[], None]) -> None:
    """Serve all clients over HTTP until a signal stops the server.

    Args:
        run: The invocation of the command.
        config: The configuration with the options of the request.
        request: The options of the server.
        on_complete: Called when the server has imported its modules.

    Raises:
        ConflictError: The store has a server already, or another program uses the port.
        InvalidInputError: Other machines can reach the address, and no API key is configured.
        StorageError: The folder of the store cannot be used.
    """
    limit_arenas()
    start_log(config.server)
    migrate(config.environment)
    log_notices(config.notices)
    run.check_data_dir()
    system().make_folder(config.data_dir)
    # Check before binding, because the port of the first server gives a less useful error.
    refuse_second_server(config.data_dir)
    access = decide_access(config.server.host, config.server.api_key, config.data_dir)
    listening, adopted = _open_port(config, request.inherited)
    port = listening.getsockname()[1]
    metrics, warming = Metrics(), WarmUp()
    # The worker starts last: until the first answer, it would compete with the server for the processor.
    supervisor = Supervisor(_worker_command(config), on_start=metrics.worker_starts.inc, wait_first=warming.join)
    is_read_only = run.is_read_only()
    with_worker = request.with_worker and not is_read_only

    def ready() -> None:
        if with_worker:
            supervisor.start()
        _announce(run, config, port)

    # The worker embeds and indexes, so that this process stays responsive to its clients.
    with (
        listening,
        # A server of a read-only store writes no record, because a store may have several of them.
        nullcontext() if is_read_only else hold_record(config.data_dir, _describe_server(config, port, request)),
        run.open_unbound_store(actor="agent", background=False) as store,
    ):
        background = (
            _make_background(supervisor, is_detached=request.detached)
            if with_worker
            else _describe_none(is_read_only=is_read_only)
        )
        state = ServerState(store, config, metrics, background, operations=_operations(config))
        with warming.running(state):
            from opencode_memory.server.http import serve_http  # noqa: PLC0415  loads for long, so the model loads beside it

            try:
                serve_http(
                    state,
                    metrics,
                    listening,
                    access=access,
                    adopted=adopted,
                    on_ready=ready,
                    on_complete=on_complete,
                    # The next `serve --detach` replaces a server in the background. Others have a manager, or a reader.
                    ends_after_failure=not request.detached,
                )
            finally:
                supervisor.close()


def _open_port(config: Config, inherited: str | None) -> tuple[socket.socket, Mapping[str, Described]]:
    """Return the listening socket, and the MCP sessions of the older server that has left it."""
    if inherited is None:
        return bind(config.server.host, config.server.port), {}
    from opencode_memory.server.takeover import Inherited  # noqa: PLC0415  only after an older server

    return Inherited.parse(inherited).open()


def _worker_command(config: Config) -> list[str]:
    program = [sys.executable, "-m", "opencode_memory.cli"]
    return [*program, "worker", "--supervised", "--data-dir", str(config.data_dir)]


def _describe_server(config: Config, port: int, request: ServeRequest) -> ServerRecord:
    return ServerRecord(
        pid=os.getpid(),
        host=config.server.host,
        port=port,
        version=opencode_memory.__version__,
        detached=request.detached,
    )


def _make_background(supervisor: Supervisor, *, is_detached: bool) -> Background:
    """Return the background of a server with a worker."""
    if not is_detached:
        # The server of a service or of a terminal learns as long as it runs.
        return Background(supervisor.describe, supervisor.problems, supervisor.wake)
    # The server that a plugin started learns while a plugin is connected.
    return Background(supervisor.describe, supervisor.problems, supervisor.wake, supervisor.let_learn)


def _describe_none(*, is_read_only: bool) -> Background:
    """Return the background of a server without a worker."""
    return Background(describe=lambda: "none, the store is read-only" if is_read_only else "left to others")


def _announce(run: Invocation, config: Config, port: int) -> None:
    """Say that the server is ready, and name an installation of the predecessor."""
    run.out.note(f"opencode-memory serves http://{config.server.host}:{port}/mcp from {config.data_dir}")
    if (found := find_incumbent(config.environment)) is not None:
        run.out.note(explain_incumbent(found, port=port))


def _operations(config: Config) -> dict[str, Operation]:
    """Return the operations that commands may delegate to the server."""
    return {CHECK: lambda _store, _request: {}, OPERATION: serve_command(config, _answer_recall)}


def _answer_recall(run: Invocation, fields: Mapping[str, Any]) -> int:
    from opencode_memory.cli.recall_answer import print_answer  # noqa: PLC0415  not needed to start
    from opencode_memory.cli.recall_request import read_request  # noqa: PLC0415  not needed to start

    return print_answer(run, read_request(fields))
