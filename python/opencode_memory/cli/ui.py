"""``opencode-memory ui``: opens the pages of the resident server in a browser."""

from __future__ import annotations

import json
import time
import webbrowser
from typing import Final

import click

from opencode_memory.cli.command import command
from opencode_memory.cli.context import Invocation
from opencode_memory.cli.detach import start, url_of
from opencode_memory.errors import OpencodeMemoryError
from opencode_memory.hosts.opencode.contract import TOKEN_FILE
from opencode_memory.resident.client import UI_LINK_PATH, post

_OK: Final = 200
_PATIENCE_SECONDS: Final = 20.0
_PAUSE_SECONDS: Final = 0.05


@command("ui")
@click.option("--no-open", is_flag=True, help="Only print the link.")
def ui(run: Invocation, *, no_open: bool) -> None:
    """Open what is remembered in a browser: search, review, edit, undo.

    The link works once, within two minutes. The server is started if none runs.
    """
    config = run.config
    start(config)
    link = url_of(config) + _ask_for_link(run)
    opened = not no_open and webbrowser.open(link)
    if run.out.as_json:
        run.out.json({"url": link, "opened": opened})
    elif opened:
        run.out.line(f"Opened {url_of(config)}/ui/ in your browser.")
    else:
        run.out.line(link)


def _ask_for_link(run: Invocation) -> str:
    """Return the path of a link. A server that was just started may need some seconds for its answer."""
    server, until = run.config.server, time.monotonic() + _PATIENCE_SECONDS
    while True:
        try:
            token = (run.config.data_dir / TOKEN_FILE).read_text(encoding="ascii").strip()
            answer = post(
                server.host, server.port, UI_LINK_PATH, b"{}", token=token, seconds=_PATIENCE_SECONDS, trusts=True
            )
        except (OSError, ValueError) as error:
            if time.monotonic() > until:
                raise OpencodeMemoryError(f"the server does not give a link: {error}") from error
            answer = None
        if answer is not None and answer.status == _OK:
            path: str = json.loads(answer.body)["path"]
            return path
        if answer is not None or time.monotonic() > until:
            break
        time.sleep(_PAUSE_SECONDS)
    refusal = OpencodeMemoryError("the server gives no link; it may serve another store, or be of another version")
    refusal.hint = "opencode-memory doctor"
    raise refusal
