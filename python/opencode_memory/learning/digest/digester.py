"""Asking the memory model for better wordings of what the rules marked: one call, its budget, and its report."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final

from opencode_memory._core import redact
from opencode_memory.learning.digest.budget import BudgetSpent, Charge, DailyBudget, Ledger
from opencode_memory.learning.digest.completion import read_completion
from opencode_memory.learning.digest.dialect import Dialect
from opencode_memory.learning.digest.errors import DistillationError, UnreachableError
from opencode_memory.learning.digest.http_errors import is_about_form, is_success, refusal
from opencode_memory.learning.digest.model_settings import DistillerSettings
from opencode_memory.learning.digest.model_url import endpoint_of
from opencode_memory.learning.digest.outcome import Completed, DistilReport
from opencode_memory.learning.digest.prompt import messages
from opencode_memory.learning.digest.statements import Marked, fit_to_send
from opencode_memory.learning.digest.verdicts import read_verdicts

if TYPE_CHECKING:
    from opencode_memory.learning.digest.request import HttpAnswer

_CHARACTERS_PER_TOKEN: Final = 4
_SHOWN_OF_REFUSAL: Final = 500

_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Asked:
    body: bytes
    charge: Charge
    requests: int


class Distiller:
    """Asks one memory model. It remembers the form of request that its server took, and nothing else."""

    def __init__(self, settings: DistillerSettings, ledger: Ledger, *, clock: Callable[[], datetime]) -> None:
        self._settings = settings
        self._endpoint = endpoint_of(settings.url)
        self._budget = DailyBudget(
            ledger, calls_per_day=settings.calls_per_day, tokens_per_day=settings.tokens_per_day, clock=clock
        )
        self._clock = clock
        self._dialect = Dialect()

    def distil(self, marked: Sequence[Marked]) -> DistilReport:
        """Ask for a judgement of marked statements. It blocks, and must not be called on an event loop.

        Args:
            marked: At most ``MOST_MARKED`` statements, none with ``<private>`` parts.

        Returns:
            What can be used of the answer; or, when a budget is spent, nothing and until when.

        Raises:
            InvalidInputError: What was given is not acceptable; nothing was sent.
            DistillationError: The model gave no answer that can be used.
        """
        statements = fit_to_send(marked)
        if not statements:
            return DistilReport(distilled=(), dropped={}, tokens=0, outcome=Completed(0))
        asked = self._ask(messages(statements))
        if isinstance(asked, BudgetSpent):
            return DistilReport(distilled=(), dropped={}, tokens=0, outcome=asked)
        text, tokens = self._text(asked)
        try:
            distilled, dropped = read_verdicts(text, statements)
        except ValueError as error:
            message = f"the memory model {self._settings.model} answers something else than the JSON that was asked for"
            raise DistillationError(message, is_final=False, hint="take a larger model if this lasts") from error
        return DistilReport(distilled=distilled, dropped=dropped, tokens=tokens, outcome=Completed(asked.requests))

    def _ask(self, conversation: Sequence[Mapping[str, str]]) -> _Asked | BudgetSpent:
        settings = self._settings
        dialect = self._dialect
        requests = 0
        while True:
            body = dialect.body(model=settings.model, messages=conversation, max_tokens=settings.max_answer_tokens)
            charge = self._charge(body)
            if isinstance(charge, BudgetSpent):
                return charge
            answer = self._send(body, charge)
            requests += 1
            if is_success(answer.status):
                self._dialect = dialect
                return _Asked(answer.body, charge, requests)
            # What is refused takes no tokens, but counts as a call.
            self._budget.correct(charge, tokens=0)
            dialect = self._dialect_after(dialect, answer)

    def _charge(self, body: str) -> Charge | BudgetSpent:
        settings = self._settings
        estimate = -(-len(body) // _CHARACTERS_PER_TOKEN) + settings.max_answer_tokens
        if estimate > settings.tokens_per_day:
            # Tomorrow would be no better: a budget that is merely spent must not hide this.
            message = (
                f"a request to the memory model may take {estimate:,} tokens, and a day has {settings.tokens_per_day:,}"
            )
            hint = "raise the tokens per day, or lower those of an answer"
            raise DistillationError(message, is_final=True, hint=hint)
        return self._budget.charge(estimate)

    def _send(self, body: str, charge: Charge) -> HttpAnswer:
        from opencode_memory.learning.digest.request import post  # noqa: PLC0415  few people need the HTTP client

        settings = self._settings
        try:
            return post(self._endpoint, body, key=settings.key, timeout_seconds=settings.timeout_seconds)
        except UnreachableError:
            self._budget.take_back(charge)
            raise

    def _dialect_after(self, dialect: Dialect, answer: HttpAnswer) -> Dialect:
        said = answer.body.decode(errors="replace")
        following = dialect.after(said) if is_about_form(answer.status) else None
        if following is None:
            raise refusal(answer.status, answer.retry_after, self._endpoint, at=self._clock())
        _log.debug(
            "the memory model's server refuses with %s, trying %s: %s", answer.status, following, self._shown(said)
        )
        return following

    def _text(self, asked: _Asked) -> tuple[str, int]:
        try:
            completion = read_completion(asked.body)
        except ValueError as error:
            message = f"what answers at {self._endpoint.origin} is no server of chat completions: it gives no JSON"
            raise DistillationError(
                message, is_final=False, hint="check the address, which mostly ends in /v1"
            ) from error
        # Charged also when the text turns out to be useless: the server has done its work.
        tokens = asked.charge.tokens if completion.tokens is None else completion.tokens
        self._budget.correct(asked.charge, tokens=tokens)
        model = self._settings.model
        if completion.is_cut:
            message = f"the memory model {model} did not finish within {self._settings.max_answer_tokens:,} tokens"
            raise DistillationError(
                message, is_final=True, hint="allow longer answers, or take a model that thinks less"
            )
        if completion.text is None:
            raise DistillationError(f"the memory model {model} answers without a text", is_final=False)
        return completion.text, tokens

    def _shown(self, said: str) -> str:
        # Servers quote the key that they refuse.
        without_key = said.replace(self._settings.key, "[key]") if self._settings.key else said
        return redact(without_key)[0][:_SHOWN_OF_REFUSAL]
