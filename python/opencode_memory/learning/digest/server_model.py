"""Model behind an OpenAI-compatible server, within the daily budget."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Final

from opencode_memory._core import redact
from opencode_memory.learning.digest.budget import BudgetExceeded, Charge, DailyBudget, UsageLedger
from opencode_memory.learning.digest.chat_completions import Dialect, parse_completion
from opencode_memory.learning.digest.errors import (
    DigestError,
    UnreachableError,
    error_for_status,
    is_about_form,
    is_success,
)
from opencode_memory.learning.digest.prompt import estimate_tokens
from opencode_memory.learning.digest.settings import DigestSettings, parse_endpoint

if TYPE_CHECKING:
    from opencode_memory.http_client.request import HttpAnswer

_SHOWN_OF_REFUSAL: Final = 500

_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAnswer:
    """Answer of the model.

    Attributes:
        text: The text; it is left out of ``repr``, because it quotes the session.
        tokens: Input and output tokens; the estimate if the server does not report them.
        requests: Number of requests; more than one if the server refused the first dialect.
    """

    text: str = field(repr=False)
    tokens: int
    requests: int


@dataclass(frozen=True, slots=True)
class _Exchange:
    body: bytes
    charge: Charge
    requests: int


class ServerModel:
    """Client of one model. It remembers the dialect that the server accepted, and no other state."""

    def __init__(self, settings: DigestSettings, ledger: UsageLedger, *, clock: Callable[[], datetime]) -> None:
        self._settings = settings
        self._endpoint = parse_endpoint(settings.url)
        self._budget = DailyBudget(
            ledger, calls_per_day=settings.calls_per_day, tokens_per_day=settings.tokens_per_day, clock=clock
        )
        self._clock = clock
        self._dialect = Dialect()

    def ask(self, system: str, text: str) -> ModelAnswer | BudgetExceeded:
        """Ask the model. The call blocks, so do not call it on an event loop.

        Args:
            system: The instructions.
            text: The user's message.

        Raises:
            DigestError: The model gave no answer.
        """
        exchange = self._ask([{"role": "system", "content": system}, {"role": "user", "content": text}])
        return exchange if isinstance(exchange, BudgetExceeded) else self._read_answer(exchange)

    def _ask(self, conversation: Sequence[Mapping[str, str]]) -> _Exchange | BudgetExceeded:
        settings = self._settings
        dialect = self._dialect
        requests = 0
        while True:
            body = dialect.render(model=settings.model, messages=conversation, max_tokens=settings.max_answer_tokens)
            charge = self._charge(body)
            if isinstance(charge, BudgetExceeded):
                return charge
            answer = self._send(body, charge)
            requests += 1
            if is_success(answer.status):
                self._dialect = dialect
                return _Exchange(answer.body, charge, requests)
            # A refused request uses no tokens, but counts as a call.
            self._budget.correct(charge, tokens=0)
            dialect = self._fall_back(dialect, answer)

    def _charge(self, body: str) -> Charge | BudgetExceeded:
        settings = self._settings
        estimate = estimate_tokens(body) + settings.max_answer_tokens
        if estimate > settings.tokens_per_day:
            # This request would not fit on any day, so it must not look like a budget that is used up for today.
            message = f"a digest may use {estimate:,} tokens, but the limit per day is {settings.tokens_per_day:,}"
            raise DigestError(message, is_final=True, hint="raise learning.digest_tokens_per_day")
        return self._budget.charge(estimate)

    def _send(self, body: str, charge: Charge) -> HttpAnswer:
        from opencode_memory.learning.digest.request import post  # noqa: PLC0415  few users need the HTTP client

        settings = self._settings
        try:
            return post(self._endpoint, body, key=settings.key, timeout_seconds=settings.timeout_seconds)
        except UnreachableError:
            self._budget.refund(charge)
            raise

    def _fall_back(self, dialect: Dialect, answer: HttpAnswer) -> Dialect:
        refusal = answer.body.decode(errors="replace")
        following = dialect.fallback(refusal) if is_about_form(answer.status) else None
        if following is None:
            raise error_for_status(answer.status, answer.retry_after, self._endpoint.origin, at=self._clock())
        _log.debug(
            "the model's server refused with status %s, trying %s: %s",
            answer.status,
            following,
            self._redact_refusal(refusal),
        )
        return following

    def _read_answer(self, exchange: _Exchange) -> ModelAnswer:
        try:
            completion = parse_completion(exchange.body)
        except ValueError as error:
            message = f"{self._endpoint.origin} is not a chat-completions server: its response is not JSON"
            raise DigestError(message, is_final=False, hint="check the address, which usually ends in /v1") from error
        # Charge the tokens even if the text turns out to be unusable, because the server has done the work.
        tokens = exchange.charge.tokens if completion.tokens is None else completion.tokens
        self._budget.correct(exchange.charge, tokens=tokens)
        model = self._settings.model
        if completion.is_cut:
            message = f"the model {model} did not finish within {self._settings.max_answer_tokens:,} tokens"
            raise DigestError(message, is_final=True, hint="use a model that reasons less")
        if completion.text is None:
            raise DigestError(f"the model {model} answered without a text", is_final=False)
        return ModelAnswer(text=completion.text, tokens=tokens, requests=exchange.requests)

    def _redact_refusal(self, refusal: str) -> str:
        # Servers quote the key that they refuse.
        without_key = refusal.replace(self._settings.key, "[key]") if self._settings.key else refusal
        return redact(without_key)[0][:_SHOWN_OF_REFUSAL]
