"""Describes the fields that a change of a memory set, apart from its text: ``category fact → decision; tags +ci``."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from opencode_memory.models import INGEST, HistoryEntry, Memory
from opencode_memory.text.display import one_line

_LONGEST_VALUE: Final = 40
_NONE: Final = "none"
_OF_LEARNING: Final = frozenset({"evidence", "observed", "rule", "rules", "seen_as"})
"""Metadata by which learning finds its own memories again; ``show`` prints what of it concerns the user."""
_IMPLIED: Final = {
    "archive": "status",
    "upkeep": "status",
    "supersede": "status",
    "pin": "pinned",
    "unpin": "pinned",
    "update": "time",
    "merge": "time",
    "combine": "time",
}
"""Kind of a change to the field that it always sets, so that the field says nothing new."""


def describe_changed_fields(change: HistoryEntry) -> str:
    """Return the changed fields on one line; an empty text if only the content changed, or if nothing was there."""
    if change.before is None or change.after is None:
        return ""
    implied = _IMPLIED.get(change.kind.split(":")[0])
    return "; ".join(text for field, text in _list_changes(change.before, change.after) if field != implied)


def _list_changes(before: Memory, after: Memory) -> Iterator[tuple[str, str]]:
    """Yield each changed field with its description."""
    values = {
        "category": (before.category, after.category),
        "project": (before.project or "global", after.project or "global"),
        "topic": (before.topic, after.topic),
        "status": (before.status, after.status),
        "trust": (before.trust, after.trust),
        "time": (_format_time(before.time), _format_time(after.time)),
        "expires": (_format_time(before.expires_at), _format_time(after.expires_at)),
        "reminder": (
            _format_due(before.remind_at, before.remind_every),
            _format_due(after.remind_at, after.remind_every),
        ),
        "review": (
            _format_due(before.review_after, before.review_every),
            _format_due(after.review_after, after.review_every),
        ),
    }
    for field, (old, new) in values.items():
        if old != new:
            yield field, f"{field} {_shorten(old)} → {_shorten(new)}"
    for field, old_values, new_values in (
        ("tags", before.tags, after.tags),
        ("entities", before.entities, after.entities),
    ):
        signs = [f"+{_shorten(value)}" for value in new_values if value not in old_values]
        signs += [f"-{_shorten(value)}" for value in old_values if value not in new_values]
        if signs:
            yield field, f"{field} {' '.join(signs)}"
    if before.pinned != after.pinned:
        yield "pinned", "pinned" if after.pinned else "unpinned"
    if after.verified_at is not None and before.verified_at != after.verified_at:
        yield "verified_at", "confirmed"
    names = sorted(
        name
        for name in (before.metadata.keys() | after.metadata.keys()) - {INGEST} - _OF_LEARNING
        if before.metadata.get(name) != after.metadata.get(name)
    )
    if names:
        yield "metadata", f"metadata {', '.join(map(_shorten, names))}"


def _shorten(value: str | None) -> str:
    return _NONE if value is None else one_line(value, _LONGEST_VALUE)


def _format_time(moment: datetime | None) -> str | None:
    return None if moment is None else f"{moment.astimezone():%Y-%m-%d %H:%M}"


def _format_due(due: datetime | None, every: int | None) -> str | None:
    repeats = "" if every is None else f", every {every} d"
    return None if due is None else f"{_format_time(due)}{repeats}"
