"""Sends requests to an embedding server: waits, tries again, and leaves a failed server alone for a while.

Error messages hold the address and the status, but nothing of an answer, because servers repeat texts and keys in their
errors.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from opencode_memory.embedding.served.wire import parse_usage, parse_vectors, render_request
from opencode_memory.errors import EmbeddingError
from opencode_memory.http_client.request import Failure, HttpAnswer, Request, RequestError, send
from opencode_memory.http_client.retry_after import parse_retry_after
from opencode_memory.text import clock

if TYPE_CHECKING:
    from opencode_memory.embedding.base import Vectors
    from opencode_memory.embedding.budget import Charge, TokenBudget
    from opencode_memory.embedding.served.settings import ServedModel

PAUSES: Final = (1.0, 2.0, 4.0)
"""Seconds before each further attempt, if the server asks for no other delay."""
LONGEST_PAUSE: Final = 5.0
"""Seconds. A server that asks for more is left alone, and the texts keep waiting."""
REST_SECONDS: Final = 30.0
"""Time for which a failed server gets no request, so that queries are answered by words without delay."""
TEXT_SECONDS: Final = 60.0
QUERY_SECONDS: Final = 5.0
_BYTES_PER_NUMBER: Final = 32
_BYTES_AROUND: Final = 65_536
_OK: Final = 200
_TOO_MANY: Final = 429
_SERVER_ERROR: Final = 500
_HINTS: Final = {
    401: "the server needs another key: set embedding.api_key_env or embedding.api_key_file",
    403: "the server needs another key: set embedding.api_key_env or embedding.api_key_file",
    404: "check embedding.base_url and embedding.model, and that the server has the model",
}
_TRANSIENT: Final = frozenset({Failure.UNREACHABLE, Failure.LATE, Failure.BROKEN})
_GIVE_UP: Final = float("inf")


class _Rest(NamedTuple):
    """Time until which the server gets no request, and the reason. An exception would keep the texts in memory."""

    until: float
    text: str
    hint: str | None


class Client:
    """Client of one embedding server; may be called from several threads.

    Args:
        model: The model to ask.
        budget: Budget of the tokens; None for no limit.
        pause: Waits for a number of seconds.
        now: Returns the seconds of a monotonic clock.
    """

    def __init__(
        self,
        model: ServedModel,
        *,
        budget: TokenBudget | None = None,
        pause: Callable[[float], None] = time.sleep,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._model = model
        self._budget = budget
        self._pause = pause
        self._now = now
        self._lock = threading.Lock()
        self._failure: _Rest | None = None

    def with_budget(self, budget: TokenBudget) -> Client:
        """Return a client of the same server that keeps a budget."""
        return Client(self._model, budget=budget, pause=self._pause, now=self._now)

    def check_budget(self, texts: Sequence[str]) -> None:
        """Check whether all these texts may be sent, before the first of several requests.

        Raises:
            EmbeddingBudgetError: The budget of the day does not suffice.
            EmbeddingError: The tokens cannot be counted.
        """
        if self._budget is not None:
            self._budget.check(texts)

    def embed_texts(self, texts: Sequence[str]) -> Vectors:
        """Embed the texts of one request; try again if the server is busy or does not answer.

        Raises:
            EmbeddingError: The server failed, or its answer cannot be used.
        """
        return self._embed(texts, is_query=False)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Embed queries in one attempt, because the caller waits for the answer.

        Raises:
            EmbeddingError: As for ``embed_texts``.
        """
        return self._embed(texts, is_query=True)

    def _embed(self, texts: Sequence[str], *, is_query: bool) -> Vectors:
        self._check_rest()
        request = self._request(texts, is_query=is_query)
        for pause in (None,) if is_query else (*PAUSES, None):
            # Each attempt is charged, because a server that answers too late may have done the work.
            charge = None if self._budget is None else self._budget.charge(texts)
            answer, problem, delay = self._try(request, charge)
            if answer is not None:
                with self._lock:
                    self._failure = None
                self._settle(charge, parse_usage(answer.body) if charge is not None else None)
                return parse_vectors(self._model, answer.body, count=len(texts))
            wait = delay if delay is not None else pause
            if pause is None or wait is None or wait > LONGEST_PAUSE:
                break
            self._pause(wait)
        with self._lock:
            self._failure = _Rest(self._now() + REST_SECONDS, str(problem), problem.hint)
        raise problem

    def _check_rest(self) -> None:
        with self._lock:
            failure = self._failure
        if failure is not None and self._now() < failure.until:
            raise _fail(f"{failure.text}; it gets no request for {REST_SECONDS:g} s after a failure", failure.hint)

    def _settle(self, charge: Charge | None, tokens: int | None) -> None:
        """Correct a charge. If the number of tokens is not known, the upper bound stays."""
        if self._budget is not None and charge is not None and tokens is not None:
            self._budget.settle(charge, tokens=tokens)

    def _try(self, request: Request, charge: Charge | None) -> tuple[HttpAnswer | None, EmbeddingError, float | None]:
        """Send the request once.

        Returns:
            The answer; None if the server may succeed later. Then the problem, and the delay that the server asks for.

        Raises:
            EmbeddingError: The server refused the request itself.
        """
        try:
            answer = send(request)
        except RequestError as error:
            problem = _fail(str(error), "start the server, or check embedding.base_url")
            self._settle(charge, 0 if error.failure is Failure.UNREACHABLE else None)
            if error.failure not in _TRANSIENT:
                raise problem from error
            # A command waits for its last texts. A broken connection may be the restart of a server, but a server that
            # does not run, or takes longer than a minute, would only delay the command again.
            return None, problem, None if error.failure is Failure.BROKEN else _GIVE_UP
        problem = _fail(
            f"the embedding server at {self._model.origin} answered with status {answer.status}",
            _HINTS.get(answer.status),
        )
        if answer.status == _OK:
            return answer, problem, None
        self._settle(charge, 0)  # Servers charge nothing for an error that they report.
        if answer.status != _TOO_MANY and answer.status < _SERVER_ERROR:
            raise problem
        return None, problem, parse_retry_after(answer.retry_after, at=clock.now())

    def _request(self, texts: Sequence[str], *, is_query: bool) -> Request:
        key = self._model.key
        return Request(
            method="POST",
            url=self._model.url,
            server=f"the embedding server at {self._model.origin}",
            is_loopback=self._model.is_loopback,
            headers={} if key is None else {"Authorization": f"Bearer {key}"},
            body=render_request(self._model, texts, is_query=is_query),
            timeout_seconds=QUERY_SECONDS if is_query else TEXT_SECONDS,
            largest=len(texts) * self._model.dimension * _BYTES_PER_NUMBER + _BYTES_AROUND,
        )


def _fail(message: str, hint: str | None) -> EmbeddingError:
    error = EmbeddingError(message)
    if hint is not None:
        error.hint = hint
    return error
