"""Digest call: sends statements to the LLM within the daily budget and reports its verdicts."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
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
from opencode_memory.learning.digest.prompt import build_messages
from opencode_memory.learning.digest.report import Completed, DigestReport
from opencode_memory.learning.digest.settings import DigestSettings, parse_endpoint
from opencode_memory.learning.digest.statements import Statement, prepare
from opencode_memory.learning.digest.verdicts import parse_verdicts

if TYPE_CHECKING:
    from opencode_memory.learning.digest.request import HttpAnswer

_CHARACTERS_PER_TOKEN: Final = 4
_SHOWN_OF_REFUSAL: Final = 500

_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Exchange:
    body: bytes
    charge: Charge
    requests: int


class Digester:
    """Client of one LLM. It remembers the dialect that the server accepted, and no other state."""

    def __init__(self, settings: DigestSettings, ledger: UsageLedger, *, clock: Callable[[], datetime]) -> None:
        self._settings = settings
        self._endpoint = parse_endpoint(settings.url)
        self._budget = DailyBudget(
            ledger, calls_per_day=settings.calls_per_day, tokens_per_day=settings.tokens_per_day, clock=clock
        )
        self._clock = clock
        self._dialect = Dialect()

    def digest(self, statements: Sequence[Statement]) -> DigestReport:
        """Ask the LLM for verdicts about statements. The call blocks, so do not call it on an event loop.

        Args:
            statements: At most ``MAX_STATEMENTS`` statements, without ``<private>`` parts.

        Returns:
            The usable verdicts; if a budget is used up, no verdicts and the time when it is renewed.

        Raises:
            InvalidInputError: The statements are invalid; no request was sent.
            DigestError: The LLM gave no usable answer.
        """
        statements = prepare(statements)
        if not statements:
            return DigestReport(verdicts=(), dropped={}, tokens=0, outcome=Completed(0))
        exchange = self._ask(build_messages(statements))
        if isinstance(exchange, BudgetExceeded):
            return DigestReport(verdicts=(), dropped={}, tokens=0, outcome=exchange)
        text, tokens = self._read_text(exchange)
        try:
            verdicts, dropped = parse_verdicts(text, statements)
        except ValueError as error:
            message = f"the LLM {self._settings.model} did not answer with the requested JSON"
            raise DigestError(message, is_final=False, hint="use a larger model if this happens often") from error
        return DigestReport(verdicts=verdicts, dropped=dropped, tokens=tokens, outcome=Completed(exchange.requests))

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
        estimate = -(-len(body) // _CHARACTERS_PER_TOKEN) + settings.max_answer_tokens
        if estimate > settings.tokens_per_day:
            # This request would not fit on any day, so it must not look like a budget that is used up for today.
            message = (
                f"an LLM request may use {estimate:,} tokens, but the limit per day is {settings.tokens_per_day:,}"
            )
            hint = "raise the tokens per day, or lower the tokens of an answer"
            raise DigestError(message, is_final=True, hint=hint)
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
            "the LLM server refused with status %s, trying %s: %s",
            answer.status,
            following,
            self._redact_refusal(refusal),
        )
        return following

    def _read_text(self, exchange: _Exchange) -> tuple[str, int]:
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
            message = f"the LLM {model} did not finish within {self._settings.max_answer_tokens:,} tokens"
            raise DigestError(message, is_final=True, hint="allow longer answers, or use a model that reasons less")
        if completion.text is None:
            raise DigestError(f"the LLM {model} answered without a text", is_final=False)
        return completion.text, tokens

    def _redact_refusal(self, refusal: str) -> str:
        # Servers quote the key that they refuse.
        without_key = refusal.replace(self._settings.key, "[key]") if self._settings.key else refusal
        return redact(without_key)[0][:_SHOWN_OF_REFUSAL]
