"""``opencode-memory serve``, ``worker`` and ``watch``: the server and its background work."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

import opencode_memory
from opencode_memory.cli.command import command
from opencode_memory.cli.context import Invocation
from opencode_memory.cli.errors import DONE
from opencode_memory.config.load import Config
from opencode_memory.config.sections import Tools
from opencode_memory.errors import ConfigError
from opencode_memory.platform import system

if TYPE_CHECKING:
    from opencode_memory.resident.relay import ResidentLink
    from opencode_memory.server.server_state import Operation
    from opencode_memory.store.memory_store import MemoryStore
    from opencode_memory.worker.duty import Duty
    from opencode_memory.worker.learning_duties import LearningDuties


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeRequest:
    """Options of the server; None means the value of the configuration."""

    stdio: bool
    host: str | None
    port: int | None
    tools: str | None
    with_worker: bool
    detached: bool = False
    inherited: str | None = None


@command("serve")
@click.option("--stdio", is_flag=True, help="Serve one MCP client over standard input and output.")
@click.option(
    "--host",
    metavar="ADDRESS",
    help="Address to listen on; other than this machine only with an API key.  [default: server.host]",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    metavar="PORT",
    help="Port to listen on; 0 for any free port.  [default: server.port]",
)
@click.option(
    "--tools",
    type=click.Choice([tool.value for tool in Tools], case_sensitive=False),
    help="Offer all tools, or the core ones.  [default: server.tools]",
)
@click.option("--no-worker", is_flag=True, help="Start no worker; you run `opencode-memory worker` yourself.")
@click.option(
    "--detach", is_flag=True, help="Start the server in the background unless it runs, and return when it answers."
)
@click.option("--detached", is_flag=True, hidden=True, help="Record that this process was started by --detach.")
@click.option("--inherited", hidden=True, help="Open files that an older server has left to this one.")
def serve(
    run: Invocation,
    *,
    stdio: bool,
    host: str | None,
    port: int | None,
    tools: str | None,
    no_worker: bool,
    detach: bool,
    detached: bool,
    inherited: str | None,
) -> int:
    """Serve MCP clients over HTTP, or with --stdio the client that starts this process."""
    request = ServeRequest(
        stdio=stdio,
        host=host,
        port=port,
        tools=tools,
        with_worker=not no_worker,
        detached=detached,
        inherited=inherited,
    )
    config = apply_request(run.config, request)
    if detach:
        from opencode_memory.cli.detach import serve_detached  # noqa: PLC0415  only here

        if request.stdio:
            raise click.UsageError("--detach goes with HTTP, not with --stdio", click.get_current_context())
        return serve_detached(run, config, tools=request.tools, with_worker=request.with_worker)
    if request.stdio:
        serve_one(run, config)
    else:
        from opencode_memory.server.start_settings import start_settings  # noqa: PLC0415  servers only

        with start_settings() as end_start:
            serve_all(run, config, request, on_complete=end_start)
    return DONE


def apply_request(config: Config, request: ServeRequest) -> Config:
    """Return the configuration with the options of a request."""
    given: dict[str, Any] = {"host": request.host, "port": request.port}
    if request.tools is not None:
        given["tools"] = Tools(request.tools)
    return replace(config, server=replace(config.server, **{name: v for name, v in given.items() if v is not None}))


def serve_one(run: Invocation, config: Config) -> None:
    """Serve one client over standard input and output, or let the resident server do it."""
    from opencode_memory.cli.log import start_log  # noqa: PLC0415  servers only
    from opencode_memory.config.opencode_manager import log_notices  # noqa: PLC0415  servers only

    start_log(config.server)
    log_notices(config.notices)
    if _relay(run, config):
        return
    from opencode_memory.server.server_state import ServerState  # noqa: PLC0415  loads what few commands need
    from opencode_memory.server.stdio import serve_stdio  # noqa: PLC0415  loads the SDK

    with run.open_unbound_store(actor="agent") as store:
        serve_stdio(ServerState(store, config), folder=run.folder)


def _relay(run: Invocation, config: Config) -> bool:
    """Relay the client to a resident server until the client ends; false if there is no such server."""
    from opencode_memory.hosts.opencode.contract import TOKEN_FILE  # noqa: PLC0415  only here
    from opencode_memory.resident.stdio_client import find_resident, start_child  # noqa: PLC0415  only here

    def find() -> ResidentLink | None:
        return find_resident(config, opencode_memory.__version__, config.data_dir / TOKEN_FILE, run.folder)

    link = find()
    if link is None:
        return False
    from opencode_memory.resident.relay import relay_standard_streams  # noqa: PLC0415  only with a resident server

    relay_standard_streams(link, lambda: find() or start_child(config, run.folder))
    return True


def serve_all(run: Invocation, config: Config, request: ServeRequest, *, on_complete: Callable[[], None]) -> None:
    """Serve all clients over HTTP until a signal stops the server.

    Args:
        run: The invocation of the command.
        config: The configuration with the options of the request.
        request: The options of the server.
        on_complete: Called when the server has imported its modules.
    """
    from opencode_memory._core import limit_arenas  # noqa: PLC0415  a relay needs no engine
    from opencode_memory.cli.log import start_log  # noqa: PLC0415  servers only
    from opencode_memory.config.opencode_manager import log_notices, migrate  # noqa: PLC0415  servers only
    from opencode_memory.server.listening import bind, decide_access  # noqa: PLC0415  servers only
    from opencode_memory.server.metrics import Metrics  # noqa: PLC0415  servers only
    from opencode_memory.server.server_state import Background, ServerState  # noqa: PLC0415  servers only
    from opencode_memory.server.warm_up import WarmUp  # noqa: PLC0415  servers only
    from opencode_memory.service.port_holder import explain_incumbent, find_incumbent  # noqa: PLC0415  servers only
    from opencode_memory.service.server_record import (  # noqa: PLC0415  servers only
        ServerRecord,
        hold_record,
        refuse_second_server,
    )
    from opencode_memory.worker.supervisor import Supervisor  # noqa: PLC0415  servers only

    limit_arenas()
    start_log(config.server)
    migrate(config.environment)
    log_notices(config.notices)
    run.check_data_dir()
    system().make_folder(config.data_dir)
    # Check before binding, because the port of the first server gives a less useful error.
    refuse_second_server(config.data_dir)
    access = decide_access(config.server.host, config.server.api_key, config.data_dir)
    adopted: dict[str, Any] = {}
    if request.inherited is not None:
        from opencode_memory.server.takeover import Inherited  # noqa: PLC0415  only after an older server

        listening, adopted = Inherited.parse(request.inherited).open()
    else:
        listening = bind(config.server.host, config.server.port)
    port = listening.getsockname()[1]
    record = ServerRecord(
        pid=os.getpid(),
        host=config.server.host,
        port=port,
        version=opencode_memory.__version__,
        detached=request.detached,
    )
    metrics, warming = Metrics(), WarmUp()
    command = [
        sys.executable,
        "-m",
        "opencode_memory.cli",
        "worker",
        "--supervised",
        "--data-dir",
        str(config.data_dir),
    ]
    # The worker starts last: until the first answer, it would compete with the server for the processor.
    supervisor = Supervisor(command, on_start=metrics.worker_starts.inc, wait_first=warming.join)
    is_read_only = run.is_read_only()
    with_worker = request.with_worker and not is_read_only
    background = Background(supervisor.describe, supervisor.problems, supervisor.wake)
    if request.detached:
        # A server of a service or of a terminal learns as long as it runs. The plugin's own needs a plugin.
        background = replace(background, let_learn=supervisor.let_learn)
    if not with_worker:
        background = Background(describe=lambda: "none, the store is read-only" if is_read_only else "left to others")

    def ready() -> None:
        if with_worker:
            supervisor.start()
        run.out.note(f"opencode-memory serves http://{config.server.host}:{port}/mcp from {config.data_dir}")
        if (found := find_incumbent(config.environment)) is not None:
            run.out.note(explain_incumbent(found, port=port))

    # The worker embeds and indexes, so that this process stays responsive to its clients.
    with (
        listening,
        # Without a record, a read-only store may have several servers. None of them writes.
        nullcontext() if is_read_only else hold_record(config.data_dir, record),
        run.open_unbound_store(actor="agent", background=False) as store,
    ):
        state = ServerState(store, config, metrics, background, operations=operations(config))
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


def operations(config: Config) -> dict[str, Operation]:
    """Return the operations that commands may delegate to the server."""
    from opencode_memory.cli.delegation import CHECK, serve_command  # noqa: PLC0415  servers only
    from opencode_memory.cli.recall_request import OPERATION  # noqa: PLC0415  servers only

    return {CHECK: lambda _store, _request: {}, OPERATION: serve_command(config, _answer_recall)}


def _answer_recall(run: Invocation, fields: Mapping[str, Any]) -> int:
    from opencode_memory.cli.recall_answer import print_answer  # noqa: PLC0415  not needed to start
    from opencode_memory.cli.recall_request import read_request  # noqa: PLC0415  not needed to start

    return print_answer(run, read_request(fields))


@command("worker")
@click.option("--supervised", is_flag=True, hidden=True, help="End when standard input ends.")
def worker(run: Invocation, *, supervised: bool) -> int:
    """Learn, embed, link similar memories and clean up, until stopped. Several workers may run at once."""
    from opencode_memory._core import limit_arenas  # noqa: PLC0415  as above
    from opencode_memory.worker.duties import maintenance_duties  # noqa: PLC0415  only here
    from opencode_memory.worker.forge_duty import ForgeDuty  # noqa: PLC0415  only here
    from opencode_memory.worker.learning_duties import LearningDuties  # noqa: PLC0415  only here

    limit_arenas()
    with run.open_unbound_store(actor="extracted") as store:
        learning = LearningDuties(store, run.config)
        duties = (*maintenance_duties(), *learning.duties(), *ForgeDuty(run.config).duties())
        _run_worker(run, store, learning, duties, supervised=supervised)
    return DONE


@command("watch")
def watch(run: Invocation) -> int:
    """Only learn from OpenCode's sessions and from watched notes, until stopped."""
    from opencode_memory.worker.learning_duties import LearningDuties  # noqa: PLC0415  only here

    with run.open_unbound_store(actor="extracted") as store:
        learning = LearningDuties(store, run.config)
        duties = learning.duties()
        if not duties:
            raise ConfigError("learning is turned off", key="learning.enabled", origin="configuration")
        _run_worker(run, store, learning, duties, supervised=False)
    return DONE


def _run_worker(
    run: Invocation, store: MemoryStore, learning: LearningDuties, duties: Sequence[Duty], *, supervised: bool
) -> None:
    import signal  # noqa: PLC0415  only here

    from opencode_memory.cli.log import start_log  # noqa: PLC0415  servers only
    from opencode_memory.worker.learning_duties import FROM_SESSIONS  # noqa: PLC0415  only here
    from opencode_memory.worker.run import StdinWaiter, run_worker  # noqa: PLC0415  only here

    start_log(run.config.server)
    if supervised:
        # Ctrl-C reaches the whole process group. Ignore it, because the server decides when its worker ends.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    with learning.watch_notes(store):
        wait = StdinWaiter(supervised=supervised)
        run_worker(store, duties, wait=wait, is_active=lambda kind: wait.may_learn or kind not in FROM_SESSIONS)
