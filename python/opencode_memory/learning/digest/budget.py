"""Daily budget of the digest: calls and tokens per day of UTC.

A request is charged with an estimate before it is sent, and corrected by the usage that the server reports. A process
that is killed in between has therefore charged too much, never too little. Processes share the stored usage without a
lock: if two of them charge at the same time, one charge may be lost. Each such case exceeds the budget by one call.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING, Final, Literal, Protocol

from opencode_memory.store import reserved_keys

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore

KEPT_DAYS: Final = 31
_LEDGER: Final = f"{reserved_keys.PROGRAM}digest:"
_DAY_SECONDS: Final = 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Calls and tokens used on one day."""

    calls: int = 0
    tokens: int = 0


class UsageLedger(Protocol):
    """Storage for the usage; shared by all processes that call the LLM, and kept for at least one day."""

    def load(self, day: date) -> Usage:
        """Return the usage of a day of UTC; zero if the day was never saved."""

    def save(self, day: date, spent: Usage) -> None:
        """Store the usage of a day of UTC."""


class StoredUsage:
    """Usage per day, in the key-value pairs of a store, for ``KEPT_DAYS`` days."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store.for_project(None)

    def load(self, day: date) -> Usage:
        """Return the usage of a day."""
        found = self._store.kv.get(_LEDGER + day.isoformat())
        return Usage(calls=found["calls"], tokens=found["tokens"]) if isinstance(found, dict) else Usage()

    def save(self, day: date, spent: Usage) -> None:
        """Store the usage of a day."""
        value = {"calls": spent.calls, "tokens": spent.tokens}
        self._store.kv.set(_LEDGER + day.isoformat(), value, ttl_seconds=(KEPT_DAYS + 1) * _DAY_SECONDS)

    def by_day(self) -> dict[date, Usage]:
        """Return the usage of all kept days with any, the oldest first."""
        days = [entry.key.removeprefix(_LEDGER) for entry in self._store.kv.list(_LEDGER)]
        return {day: self.load(day) for day in sorted(map(date.fromisoformat, days))}


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetExceeded:
    """The budget of today is used up, so no request is sent.

    Attributes:
        budget: The budget that is used up.
        until: Start of the next day, in UTC.
    """

    budget: Literal["calls", "tokens"]
    until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """Charge of a request that may still be running."""

    day: date
    tokens: int


class DailyBudget:
    """Charges each request to the day on which it begins."""

    def __init__(
        self, ledger: UsageLedger, *, calls_per_day: int, tokens_per_day: int, clock: Callable[[], datetime]
    ) -> None:
        self._ledger = ledger
        self._calls_per_day = calls_per_day
        self._tokens_per_day = tokens_per_day
        self._clock = clock

    def charge(self, tokens: int) -> Charge | BudgetExceeded:
        """Charge one call and an estimate of its tokens, unless that exceeds today's budget."""
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
        """Replace the estimate of a charge by the tokens that the request used."""
        self._add(charge.day, calls=0, tokens=tokens - charge.tokens)

    def refund(self, charge: Charge) -> None:
        """Undo the charge of a request that was never sent."""
        self._add(charge.day, calls=-1, tokens=-charge.tokens)

    def _add(self, day: date, *, calls: int, tokens: int) -> None:
        spent = self._ledger.load(day)
        self._ledger.save(day, Usage(calls=max(0, spent.calls + calls), tokens=max(0, spent.tokens + tokens)))
