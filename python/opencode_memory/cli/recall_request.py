"""Request of ``opencode-memory recall``, which the command or a server carries out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from opencode_memory.cli.parameters import Period
from opencode_memory.models import Category, Sources

OPERATION: Final = "recall"
"""Name of the operation of a server."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallRequest:
    """A query with its filters, as given on the command line."""

    query: str
    limit: int | None
    categories: tuple[Category, ...]
    scope: str | None
    period: Period
    entity: str | None
    as_of: datetime | None
    explain: bool
    uncut: bool
    sources: Sources
    all_projects: bool


def read_request(fields: Mapping[str, Any]) -> RecallRequest:
    """Convert the JSON fields of a request back."""
    period = fields["period"]
    changed = {
        "categories": tuple(map(Category, fields["categories"])),
        "period": Period(_read_time(period["since"]), _read_time(period["until"])),
        "as_of": _read_time(fields["as_of"]),
        "sources": Sources(fields["sources"]),
    }
    return RecallRequest(**{**fields, **changed})


def _read_time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
