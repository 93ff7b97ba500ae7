"""Plans and loops in an export: what is carried, and at rest, because an import must not begin any work."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from opencode_memory.errors import InvalidInputError

EXPORTED: Final = frozenset(
    {"plan", "plan-text", "loop", "loop-step", "loop-event", "loop-report", "loop-session"}
)  # fmt: skip
"""Kinds of documents that exports carry. Leases and running commands belong to one machine."""
_ENDED: Final = ("completed", "cancelled", "failed")
_WHY: Final = "it was imported; restart it to carry out its plan here"


def at_rest(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document so that no server goes on with it by itself.

    A loop that has not ended becomes a cancelled one. A plan that waits for its execution has to be approved again.

    Raises:
        InvalidInputError: A plan or a loop does not say its state.
    """
    match row:
        case {"kind": "loop", "body": {"state": str(state)} as body}:
            rested: dict[str, str | None] = {"program": None, "host": None, "host_started": None}
            if state not in _ENDED:
                rested |= {"state": "cancelled", "rest": None, "reason": _WHY}
            return {**row, "body": {**body, **rested}}
        case {"kind": "plan", "body": {"status": str(status)} as body}:
            is_waiting = status in {"approved", "running"}
            return {**row, "body": {**body, "status": "submitted", "approval": None}} if is_waiting else dict(row)
        case {"kind": "loop" | "plan" as kind}:
            field = f"{kind}.{'state' if kind == 'loop' else 'status'}"
            raise InvalidInputError(f"{field}: expected a text", field=field)
    return dict(row)
