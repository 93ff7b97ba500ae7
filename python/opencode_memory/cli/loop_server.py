"""Tells the resident server that a command has changed a loop or a plan."""

from __future__ import annotations

from opencode_memory.cli.context import Invocation
from opencode_memory.errors import OpencodeMemoryError
from opencode_memory.hosts.opencode.contract import TOKEN_FILE
from opencode_memory.resident.client import LOOPS_PATH, post


def tell_server(run: Invocation) -> bool:
    """Return whether a server of this user and store was told, and now carries the change out."""
    config = run.config
    if not config.server.port:
        return False
    try:
        token = (config.data_dir / TOKEN_FILE).read_text(encoding="ascii").strip()
        answer = post(config.server.host, config.server.port, LOOPS_PATH, b"{}", token=token)
    except (OSError, ValueError):
        return False
    return answer is not None and answer.status < 300  # noqa: PLR2004  HTTP


def tell_server_or_note(run: Invocation) -> None:
    """Tell the server; if there is none, start it, or say when the change is carried out."""
    if tell_server(run):
        return
    config = run.config
    if config.loop.own_host and config.server.port:
        from opencode_memory.cli.detach import start  # noqa: PLC0415  only here

        try:
            started = start(config)
        except OpencodeMemoryError as error:
            run.out.note(f"The server did not start: {error}")
        else:
            run.out.note(f"The server was started in the background; its log is {started.log}")
            return
    run.out.note("No server runs now. The next OpenCode in this project, or `opencode-memory serve`, carries it out.")
