"""Messages that got no memories because the server did not answer in time: causes, counts and hints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from opencode_memory.store.ledger import Decision, State

if TYPE_CHECKING:
    from opencode_memory.store.ledger import Ledger

_SESSIONS: Final = 200


class Cause(StrEnum):
    """Cause of a late answer, as the plugin saw it."""

    STARTING = "starting"
    LOST = "lost"
    SLOW = "slow"


DESCRIPTIONS: Final[Mapping[Cause, str]] = {
    Cause.STARTING: "the server was not ready yet",
    Cause.LOST: "the connection to the server was lost",
    Cause.SLOW: "the server answered too late",
}
HINTS: Final[Mapping[Cause, str]] = {
    Cause.STARTING: "`opencode-memory service install` keeps the server running; or raise opencode.first_deadline_ms",
    Cause.LOST: "see why the server ended: server.log in the folder of the store",
    Cause.SLOW: "the machine was busy; raise opencode.deadline_ms",
}


@dataclass(frozen=True, slots=True)
class Lateness:
    """Late messages of a period.

    Attributes:
        messages: Number of messages with a decision.
        late: Number of late ones by cause; causes without any are left out.
    """

    messages: int
    late: Mapping[Cause, int]


def cause_of(decision: Decision) -> Cause | None:
    """Return the cause of a late decision; None if it is not late."""
    if decision.state is not State.LATE:
        return None
    # A decision that the server had offered has no cause: the server ran and was too slow.
    known = str(decision.about.get("cause", ""))
    return Cause(known) if known in set(Cause) else Cause.SLOW


def count_late(ledger: Ledger, *, at: datetime, period: timedelta) -> Lateness:
    """Count the late messages of a period, in the last 200 sessions.

    Args:
        ledger: The decisions.
        at: The end of the period.
        period: Its length.
    """
    since = at - period
    sessions = [found.session for found in ledger.sessions(limit=_SESSIONS) if found.last_at >= since]
    decisions = [
        decision
        for session in sessions
        for decision in ledger.decisions(session)
        if decision.at >= since and decision.about.get("kind") == "message"
    ]
    causes = Counter(cause for decision in decisions if (cause := cause_of(decision)) is not None)
    return Lateness(len(decisions), dict(causes))
