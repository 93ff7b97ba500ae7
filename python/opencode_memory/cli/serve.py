"""``opencode-memory serve``, ``worker`` and ``watch``: the server and its background work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

import opencode_memory
from opencode_memory.cli.command import command
from opencode_memory.cli.context import Invocation
from opencode_memory.cli.errors import DONE
from opencode_memory.cli.serve_request import ServeRequest
from opencode_memory.config.load import Config
from opencode_memory.config.sections import Tools
from opencode_memory.errors import ConfigError

if TYPE_CHECKING:
    from opencode_memory.resident.relay import ResidentLink
    from opencode_memory.store.memory_store import MemoryStore
    from opencode_memory.worker.duty import Duty
    from opencode_memory.worker.learning_duties import LearningDuties


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
            from opencode_memory.cli.serve_http import serve_all  # noqa: PLC0415  servers only

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
