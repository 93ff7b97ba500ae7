"""Check of lateness: whether messages got no memories because the server did not answer in time."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from opencode_memory.cli.doctor.checks import Check, Level
from opencode_memory.text import clock
from opencode_memory.text.formatting import format_count

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore

_PERIOD: Final = timedelta(days=7)


def check_lateness(store: MemoryStore) -> Iterator[Check]:
    """Report how many messages of the last week got no memories in time, the most frequent cause, and a remedy."""
    from opencode_memory.context.lateness import DESCRIPTIONS, HINTS, count_late  # noqa: PLC0415  not needed for help

    found = count_late(store.ledger, at=clock.now(), period=_PERIOD)
    if not found.messages:
        return
    messages = f"{format_count(found.messages, 'message')} in {_PERIOD.days} days"
    if not found.late:
        yield Check("lateness", Level.OK, f"{messages}, none without memories because the server was late")
        return
    ranked = sorted(found.late.items(), key=lambda item: -item[1])
    causes = "; ".join(f"{DESCRIPTIONS[cause]} ({number})" for cause, number in ranked)
    text = f"{sum(found.late.values())} of {messages} got no memories: {causes}"
    yield Check("lateness", Level.NOTE, text, HINTS[ranked[0][0]])
