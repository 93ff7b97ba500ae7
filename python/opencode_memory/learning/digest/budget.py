"""What may be spent on the memory model in one day of UTC: calls and tokens.

A request is charged before it is sent, by an estimate, and corrected when the server has said what it took. So whoever
is killed in between has paid too much, never too little. Processes share a ledger without a lock: of two that read it
in the same moment one charge may be lost, so a budget can be overrun by one call for each such coincidence.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Literal, Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What was spent on one day."""

    calls: int = 0
    tokens: int = 0


class UsageLedger(Protocol):
    """Where it is kept; shared by all processes that ask the model, and kept for at least a day."""

    def load(self, day: date) -> Usage:
        """Return what was spent on a day of UTC; nothing for a day that was never saved."""

    def save(self, day: date, spent: Usage) -> None:
        """Remember what was spent on a day of UTC."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetExceeded:
    """Nothing more is sent today.

    Attributes:
        budget: Which budget is spent.
        until: When the next one begins, in UTC.
    """

    budget: Literal["calls", "tokens"]
    until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """What was charged for a request that may still be under way."""

    day: date
    tokens: int


class DailyBudget:
    """Charges requests to the day on which they begin."""

    def __init__(
        self, ledger: UsageLedger, *, calls_per_day: int, tokens_per_day: int, clock: Callable[[], datetime]
    ) -> None:
        self._ledger = ledger
        self._calls_per_day = calls_per_day
        self._tokens_per_day = tokens_per_day
        self._clock = clock

    def charge(self, tokens: int) -> Charge | BudgetExceeded:
        """Charge one call and an estimate of its tokens, if today's budget has room for them."""
        day = self._clock().astimezone(UTC).date()
        spent = self._ledger.load(day)
        until = datetime.combine(day + timedelta(days=1), time(), UTC)
        if spent.calls >= self._calls_per_day:
            return BudgetExceeded(budget="calls", until=until)
        if spent.tokens + tokens > self._tokens_per_day:
            return BudgetExceeded(budget="tokens", until=until)
        self._ledger.save(day, Usage(calls=spent.calls + 1, tokens=spent.tokens + tokens))
        return Charge(day=day, tokens=tokens)

    def correct(self, charge: Charge, *, tokens: int) -> None:
        """Replace the estimate of a charge by what the request took."""
        self._add(charge.day, calls=0, tokens=tokens - charge.tokens)

    def refund(self, charge: Charge) -> None:
        """Undo the charge of a request that was never sent."""
        self._add(charge.day, calls=-1, tokens=-charge.tokens)

    def _add(self, day: date, *, calls: int, tokens: int) -> None:
        spent = self._ledger.load(day)
        self._ledger.save(day, Usage(calls=max(0, spent.calls + calls), tokens=max(0, spent.tokens + tokens)))
