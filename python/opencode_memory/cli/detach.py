"""``opencode-memory serve --detach``: starts the server in the background."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING

from opencode_memory.cli.context import Invocation
from opencode_memory.cli.errors import DONE
from opencode_memory.config.load import Config

if TYPE_CHECKING:
    from opencode_memory.server.detach import DetachedServer
    from opencode_memory.server.stop import RunningServer


def serve_detached(run: Invocation, config: Config, *, tools: str | None, with_worker: bool) -> int:
    """Start the server in the background unless it already runs, and print its address."""
    is_configured = _address(config) == _address(run.config)
    done = start(config, tools=tools, with_worker=with_worker, is_configured=is_configured)
    if run.out.as_json:
        run.out.json({"url": url_of(config), **_to_fields(done)})
        return DONE
    process = f" (process {done.pid})" if done.pid is not None else ""
    if done.replaced is not None:
        run.out.line(f"Stopped the earlier server at {done.replaced.url} (process {done.replaced.pid}).")
        if done.replaced.url != url_of(config):
            run.out.note("For the plugin, run `opencode-memory setup` and restart OpenCode: the address has changed.")
    if done.started:
        run.out.line(f"opencode-memory serves {url_of(config)}/mcp in the background{process}; its log is {done.log}")
    else:
        run.out.line(f"opencode-memory {done.version or ''} already answers at {url_of(config)}{process}.")
    return DONE


def start(
    config: Config, *, tools: str | None = None, with_worker: bool = True, is_configured: bool = True
) -> DetachedServer:
    """Start the server of a configuration in the background, unless it already runs.

    Args:
        config: The configuration of the server.
        tools: The tools that it offers; None for those of the configuration.
        with_worker: Whether it starts a worker.
        is_configured: Whether its address is the configured one, so that a server at another address is ended.

    Raises:
        OpencodeMemoryError: If it cannot be started; see ``start_detached``.
    """
    from opencode_memory.cli.stop import find_managing_service  # noqa: PLC0415  as below
    from opencode_memory.server.detach import start_detached  # noqa: PLC0415  loads what few commands need
    from opencode_memory.server.replace import end_replaced_server  # noqa: PLC0415  as above
    from opencode_memory.service.launch import require_interpreter  # noqa: PLC0415  as above

    # Without -P, a file in the working folder could shadow a Python module.
    command = [require_interpreter(sys.executable), "-P", "-m", "opencode_memory.cli", "serve", "--detached"]
    command += ["--data-dir", str(config.data_dir), "--host", config.server.host, "--port", str(config.server.port)]
    if tools is not None:
        command += ["--tools", tools]
    if not with_worker:
        command.append("--no-worker")
    end_old = partial(
        end_replaced_server,
        config,
        is_configured=is_configured,
        find_service=partial(find_managing_service, config),
    )
    return start_detached(config, command, end_old=end_old)


def url_of(config: Config) -> str:
    """Return the URL of a configuration's server."""
    from opencode_memory.hosts.opencode.manifest import server_url  # noqa: PLC0415  as above

    return server_url(config)


def _to_fields(done: DetachedServer) -> dict[str, object]:
    replaced = None if done.replaced is None else {"url": done.replaced.url, **_identify(done.replaced)}
    return {**_identify(done), "started": done.started, "log": done.log, "replaced": replaced}


def _identify(server: DetachedServer | RunningServer) -> dict[str, object]:
    return {"pid": server.pid, "version": server.version}


def _address(config: Config) -> tuple[str, int]:
    return config.server.host, config.server.port
