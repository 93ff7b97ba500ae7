"""Commands that the resident server carries out for the command line, with the same output and exit code.

The command sends its parsed request and the properties of its terminal. The server runs the function that the command
would run, on the server's open store, and returns the text. So the two ways cannot differ.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

import click

import opencode_memory
from opencode_memory.cli.context import Invocation
from opencode_memory.cli.options import GlobalOptions
from opencode_memory.cli.output import Output
from opencode_memory.hosts.opencode.contract import TOKEN_FILE
from opencode_memory.resident.client import delegate

if TYPE_CHECKING:
    from opencode_memory.config.load import Config
    from opencode_memory.store.memory_store import MemoryStore

CHECK: Final = "check"
"""An operation without effect, for ``doctor``."""
_FORM: Final = ("as_json", "color", "terminal", "width")


def can_delegate(config: Config) -> bool:
    """Check whether a server would carry out commands for this process."""
    return delegate(config, opencode_memory.__version__, config.data_dir / TOKEN_FILE, CHECK, {}) is not None


def delegate_command(run: Invocation, operation: str, request: Mapping[str, Any]) -> int | None:
    """Let the resident server carry out a command and print its output.

    Returns:
        The exit code; None if the command has to do the work itself.
    """
    document = {
        "request": request,
        "project": run.config.project,
        "project_option": run.given.project,
        "folder": str(run.folder) if run.config.project is None else None,
        "started_at": run.started_at.isoformat(),
        "out": {name: getattr(run.out, name) for name in _FORM},
    }
    found = delegate(run.config, opencode_memory.__version__, run.config.data_dir / TOKEN_FILE, operation, document)
    match found:
        case {"text": str(text), "notes": str(notes), "code": int(code)}:
            # The text is complete, so nothing is added to it and no style is removed from it.
            click.echo(text, run.out.texts, nl=False, color=True)
            click.echo(notes, run.out.notes, nl=False, err=True, color=True)
            return code
        case _:
            return None


class _Served(Invocation):
    """A run of a command in the resident server, whose store it uses."""

    def __init__(self, store: MemoryStore, config: Config, document: Mapping[str, Any], out: Output) -> None:
        folder = document["folder"]
        given = GlobalOptions(folder=folder, project=document["project_option"])
        super().__init__(given, datetime.fromisoformat(document["started_at"]))
        # These names are cached properties, whose values take the place of what the class would load.
        self.__dict__.update(config=replace(config, project=document["project"]), out=out)
        self.__dict__["_store"] = store

    @contextmanager
    def open_store(self, *, creates_project: bool = False, background: bool = True) -> Iterator[MemoryStore]:
        """Bind the store of the server to the project of the command."""
        del background
        store: MemoryStore = self.__dict__["_store"]
        yield self.bind(store, creates_project=creates_project)
        self.offer_relearning(store)


def serve_command(
    config: Config, print_answer: Callable[[Invocation, Mapping[str, Any]], int]
) -> Callable[[MemoryStore, Any], dict[str, Any] | None]:
    """Make the operation of a command for the resident server.

    Args:
        config: The configuration of the server.
        print_answer: Runs the command for a request of JSON values, and returns the exit code.
    """

    def serve(store: MemoryStore, document: Any) -> dict[str, Any] | None:
        if store.indexes.mismatch() is not None:
            return None  # The command itself warns its user.
        texts, notes = io.StringIO(), io.StringIO()
        out = Output(**document["out"], texts=texts, notes=notes)
        code = print_answer(_Served(store, config, document, out), document["request"])
        return {"text": texts.getvalue(), "notes": notes.getvalue(), "code": code}

    return serve
