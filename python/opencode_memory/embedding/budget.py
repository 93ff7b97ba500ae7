"""Daily budget of tokens for embedding servers.

A request is charged with an upper bound before it is sent, and corrected by the usage that the server reports. A
process that is killed in between has therefore charged too much, never too little.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final, Protocol, Self, runtime_checkable

from opencode_memory.errors import EmbeddingBudgetError, EmbeddingError, OpencodeMemoryError

if TYPE_CHECKING:
    from opencode_memory.embedding.base import Embedder

_log: Final = logging.getLogger(__name__)

_PER_TEXT: Final = 8
"""Tokens that a model may add to a text, for example to mark its beginning and end."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class TokenLedger(Protocol):
    """Count of the tokens of a day, shared by all processes of a store. Days are counted from 1970, in UTC."""

    def charge(self, tokens: int, *, limit: int) -> int | None:
        """Add tokens unless that exceeds the limit; return the day, or None."""

    def correct(self, day: int, *, by: int) -> None:
        """Add tokens to a day, or take some off."""

    def spent(self) -> tuple[int, int, int | None]:
        """Return the day, its tokens, and the tokens of the smallest request that waits for the next."""


@runtime_checkable
class CountedEmbedder(Protocol):
    """An embedder that sends texts to a server, which counts their tokens."""

    @property
    def budget(self) -> TokenBudget | None:
        """The budget; None without a limit."""

    def counted_by(self, ledger: TokenLedger) -> Self:
        """Return the same embedder whose tokens a ledger counts."""


def count_tokens(embedder: Embedder, ledger: TokenLedger) -> Embedder:
    """Let a ledger count the tokens of an embedder, if it has a limit."""
    if isinstance(embedder, CountedEmbedder) and embedder.budget is not None:
        counted: Embedder = embedder.counted_by(ledger)
        return counted
    return embedder


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """Charge of a request that may still be running."""

    day: int
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetStatus:
    """State of a budget.

    Attributes:
        limit: Tokens in a day of UTC.
        tokens: Tokens of today.
        until: Start of the next budget if a request waits for it; None if none does.
    """

    limit: int
    tokens: int
    until: datetime | None


class TokenBudget:
    """Limit of the tokens in a day of UTC.

    Args:
        limit: Most tokens in a day.
        ledger: Counts the tokens; None allows no request, because its tokens could not be counted.
    """

    def __init__(self, limit: int, ledger: TokenLedger | None) -> None:
        self._limit = limit
        self._ledger = ledger

    def check(self, texts: Iterable[str]) -> None:
        """Check whether all these texts may be sent today.

        Raises:
            EmbeddingBudgetError: They may not.
            EmbeddingError: The tokens cannot be counted.
        """
        tokens = most_tokens(texts)
        try:
            is_allowed = self._require_ledger().spent()[1] + tokens <= self._limit
        except OpencodeMemoryError as error:
            raise _explain_uncounted(error) from error
        if not is_allowed:
            raise self._refuse(tokens)

    def charge(self, texts: Iterable[str]) -> Charge:
        """Charge the upper bound of a request, before it is sent.

        Raises:
            EmbeddingBudgetError: It may not be sent.
            EmbeddingError: The tokens cannot be counted.
        """
        tokens = most_tokens(texts)
        try:
            day = self._require_ledger().charge(tokens, limit=self._limit)
        except OpencodeMemoryError as error:
            raise _explain_uncounted(error) from error
        if day is None:
            raise self._refuse(tokens)
        return Charge(day=day, tokens=tokens)

    def settle(self, charge: Charge, *, tokens: int) -> None:
        """Replace the upper bound of a request by the tokens that it took; 0 if it was not sent or was refused."""
        try:
            self._require_ledger().correct(charge.day, by=tokens - charge.tokens)
        except OpencodeMemoryError as error:
            # The vectors are paid for, so they must not be lost. The count stays too high until the next day.
            _log.warning("the tokens of a request to the embedding server could not be corrected: %s", error)

    def status(self) -> BudgetStatus:
        """Return how much of the budget is used."""
        day, tokens, refused = self._require_ledger().spent()
        is_spent = refused is not None and refused <= self._limit < tokens + refused
        return BudgetStatus(limit=self._limit, tokens=tokens, until=_end_of(day) if is_spent else None)

    def _require_ledger(self) -> TokenLedger:
        if self._ledger is None:
            raise EmbeddingError("embedding.tokens_per_day is set, but there is no store that counts the tokens")
        return self._ledger

    def _refuse(self, tokens: int) -> EmbeddingBudgetError:
        if tokens > self._limit:
            message = (
                f"a request may need {tokens:,} tokens, but embedding.tokens_per_day allows {self._limit:,}; "
                "it is never sent"
            )
            error = EmbeddingBudgetError(message, tokens=tokens, until=None)
        else:
            until = _end_of(self._require_ledger().spent()[0])
            error = EmbeddingBudgetError(describe_wait(self._limit, until), tokens=tokens, until=until)
        error.hint = "raise embedding.tokens_per_day; 0 is no limit"
        return error


def most_tokens(texts: Iterable[str]) -> int:
    """Return an upper bound of the tokens of texts: no tokenizer makes more tokens than there are bytes."""
    return sum(len(text.encode(errors="surrogatepass")) + _PER_TEXT for text in texts)


def describe_wait(limit: int, until: datetime) -> str:
    """Describe a budget that is used up."""
    return (
        f"the {limit:,} tokens that embedding.tokens_per_day allows are used up; embedding goes on at "
        f"{until:%Y-%m-%d %H:%M} UTC"
    )


def _end_of(day: int) -> datetime:
    return _EPOCH + timedelta(days=day + 1)


def _explain_uncounted(error: OpencodeMemoryError) -> EmbeddingError:
    if isinstance(error, EmbeddingError):
        return error
    return EmbeddingError(f"nothing is sent to the embedding server, because its tokens cannot be counted: {error}")
