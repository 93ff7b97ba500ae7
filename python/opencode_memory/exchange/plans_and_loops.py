"""Plans and loops in an export: what is carried, and at rest, because an import must not begin any work."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

EXPORTED: Final = frozenset(
    {"plan", "plan-text", "loop", "loop-step", "loop-event", "loop-report", "loop-session"}
)  # fmt: skip
"""Kinds of documents that exports carry. Leases and running commands belong to one machine."""
_ENDED: Final = ("completed", "cancelled", "failed")
_WHY: Final = "it was imported; restart it to carry out its plan here"


def at_rest(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document so that no server goes on with it by itself.

    A loop that has not ended becomes a cancelled one. A plan that waits for its execution has to be approved again.
    """
    body = row.get("body")
    if not isinstance(body, Mapping):
        return dict(row)
    match row.get("kind"):
        case "loop":
            rested: dict[str, str | None] = {"program": None, "host": None, "host_started": None}
            if body.get("state") not in _ENDED:
                rested |= {"state": "cancelled", "rest": None, "reason": _WHY}
            return {**row, "body": {**body, **rested}}
        case "plan" if body.get("status") in {"approved", "running"}:
            return {**row, "body": {**body, "status": "submitted", "approval": None}}
    return dict(row)
