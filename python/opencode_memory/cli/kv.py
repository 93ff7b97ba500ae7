"""``opencode-memory kv``: key-value pairs, in a namespace for each project.

The user may read this program's own state here. Other commands change it, for example ``learning on``.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import click

from opencode_memory.cli.command import Group, command
from opencode_memory.cli.context import Invocation
from opencode_memory.cli.errors import DONE, NOTHING_FOUND
from opencode_memory.cli.parameters import check_lifetime
from opencode_memory.errors import InvalidInputError
from opencode_memory.models import KvEntry
from opencode_memory.store.reserved_keys import refuse_reserved
from opencode_memory.text.clock import age, parse_span

_NEVER: Final = "never"


@dataclass(frozen=True, slots=True, kw_only=True)
class SetRequest:
    """A value to store; with ``ttl_seconds`` None, it never expires."""

    key: str
    value: Any
    ttl_seconds: float | None


@command("set")
@click.argument("key")
@click.argument("value")
@click.option(
    "--ttl", metavar="SPAN|never", help="Lifetime of the value: 12h, 30d, never.  [default: kv.default_ttl_seconds]"
)
@click.option("--text", "as_text", is_flag=True, help="Store VALUE as text, even if it is valid JSON.")
def set_value(run: Invocation, *, key: str, value: str, ttl: str | None, as_text: bool) -> None:
    """Store VALUE under KEY: as JSON if it is valid JSON, otherwise as text."""
    ttl_seconds = run.config.kv.default_ttl_seconds or None if ttl is None else _parse_ttl(ttl, run.started_at)
    store_value(run, SetRequest(key=key, value=value if as_text else _parse_value(value), ttl_seconds=ttl_seconds))


def store_value(run: Invocation, request: SetRequest) -> None:
    """Store a value and print the result."""
    refuse_reserved(request.key)
    with run.open_store(creates_project=True) as store:
        redactions = store.kv.set(request.key, request.value, ttl_seconds=request.ttl_seconds)
    if run.out.as_json:
        run.out.json({"key": request.key, "ttl_seconds": request.ttl_seconds, "redactions": redactions})
        return
    run.out.line("Stored.")
    if redactions:
        run.out.line(f"Not stored, because it is secret: {', '.join(redactions)}.")


@command("get")
@click.argument("key")
def get_value(run: Invocation, *, key: str) -> int:
    """Print the value of KEY: text unchanged, other values as JSON."""
    with run.open_store() as store:
        entry = store.kv.entry(key)
    if run.out.as_json:
        run.out.json({"entry": entry})
    elif entry is None:
        run.out.note(f"There is no value under {key!r}.")
    else:
        run.out.exact(_format_value(entry))
    return NOTHING_FOUND if entry is None else DONE


@command("list")
@click.argument("prefix", default="")
def list_values(run: Invocation, *, prefix: str) -> int:
    """List the values whose keys start with PREFIX."""
    with run.open_store() as store:
        entries = store.kv.list(prefix)
    if run.out.as_json:
        run.out.json({"entries": entries})
    elif entries:
        run.out.table([(entry.key, _format_expiry(entry, run), _format_value(entry)) for entry in entries])
    else:
        run.out.note("Nothing found.")
    return DONE


@command("delete")
@click.argument("key")
def delete_value(run: Invocation, *, key: str) -> int:
    """Delete the value of KEY."""
    refuse_reserved(key)
    with run.open_store() as store:
        was_there = store.kv.delete(key)
    if run.out.as_json:
        run.out.json({"key": key, "deleted": was_there})
    else:
        run.out.line("Deleted." if was_there else f"There is no value under {key!r}.")
    return DONE if was_there else NOTHING_FOUND


kv: Final = Group(
    "kv",
    help="Store short-lived values by key, in a namespace for each project.",
    commands=[set_value, get_value, list_values, delete_value],
)


def _parse_value(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):  # No JSON, or a number of more than 4300 digits.
        return text


def _refuse_constant(name: str) -> Any:
    """Refuse NaN and Infinity, which Python reads although they are no JSON."""
    raise ValueError(name)


def _format_value(entry: KvEntry) -> str:
    return entry.value if isinstance(entry.value, str) else json.dumps(entry.value, ensure_ascii=False)


def _format_expiry(entry: KvEntry, run: Invocation) -> str:
    return _NEVER if entry.expires_at is None else age(entry.expires_at, at=run.started_at)


def _parse_ttl(text: str, at: datetime) -> float | None:
    if text == _NEVER:
        return None
    span = parse_span(f"{text}s" if text.isdecimal() else text)
    if span is None:
        raise InvalidInputError(
            f"--ttl: {text!r} is not a time span such as 90 (seconds), 12h, 30d or never", field="--ttl"
        )
    if not span:
        raise InvalidInputError("--ttl: the lifetime must be more than 0", field="--ttl", limit="more than 0")
    check_lifetime(span, text, at=at)
    return span.total_seconds()
