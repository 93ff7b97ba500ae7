"""Count of the tokens that embedding servers get, in the store, so that all its processes share the budget."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opencode_memory._core import Engine


class StoredTokens:
    """The tokens of today; satisfies ``TokenLedger``."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def charge(self, tokens: int, *, limit: int) -> int | None:
        """Add tokens unless that exceeds the limit; return the day, or None."""
        return self._engine.charge_tokens(tokens, limit)

    def correct(self, day: int, *, by: int) -> None:
        """Add tokens to a day, or take some off."""
        self._engine.correct_tokens(day, by)

    def spent(self) -> tuple[int, int, int | None]:
        """Return the day, its tokens, and the tokens of the smallest request that waits for the next."""
        return self._engine.spent_tokens()
