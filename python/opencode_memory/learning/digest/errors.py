"""How distilling fails.

Messages name the server and its status, never what was sent or what came back: both hold texts of memories.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Final

from opencode_memory.errors import OpencodeMemoryError

_LONGEST_RETRY_SECONDS: Final = 86_400.0
_SECONDS: Final = re.compile(r"\d{1,9}")
_PASSING: Final = frozenset(
    {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.CONFLICT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS}
)
_HINTS: Final[Mapping[int, str]] = {
    HTTPStatus.UNAUTHORIZED: "check the key in the environment",
    HTTPStatus.FORBIDDEN: "check the key in the environment, and what it may use",
    HTTPStatus.NOT_FOUND: "check the name of the model, and the address, which mostly ends in /v1",
    HTTPStatus.TOO_MANY_REQUESTS: "the server limits requests; they are tried again later",
}


class DigestError(OpencodeMemoryError):
    """The memory model gave nothing that can be used; nothing was changed.

    Attributes:
        is_final: Whether the same request would fail again, until a person changes the configuration.
        retry_after_seconds: How long the server asked to be left alone; None when it did not say.
    """

    def __init__(
        self, message: str, *, is_final: bool, retry_after_seconds: float | None = None, hint: str | None = None
    ) -> None:
        super().__init__(message)
        self.is_final = is_final
        self.retry_after_seconds = retry_after_seconds
        self.hint = hint


class UnreachableError(DigestError):
    """There was no connection, so nothing was sent and nothing is charged."""


def is_success(status: int) -> bool:
    """Whether an answer holds what was asked for."""
    return HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES


def is_about_form(status: int) -> bool:
    """Whether a server refuses the form of a request, so that another may do."""
    return status in {HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY}


def error_for_status(status: int, retry_after: str | None, origin: str, *, at: datetime) -> DigestError:
    """Return the error for a status that is no success."""
    if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
        message = f"the memory model's server at {origin} redirects elsewhere (status {status}); not followed"
        return DigestError(message, is_final=True, hint="give the address where it answers itself")
    return DigestError(
        f"the memory model's server at {origin} refuses with status {status}",
        is_final=status < HTTPStatus.INTERNAL_SERVER_ERROR and status not in _PASSING,
        retry_after_seconds=_retry_after_seconds(retry_after, at),
        hint=_HINTS.get(status),
    )


def _retry_after_seconds(written: str | None, at: datetime) -> float | None:
    if written is None:
        return None
    if _SECONDS.fullmatch(written.strip()):
        seconds = float(written)
    else:
        try:
            moment = parsedate_to_datetime(written)
        except (ValueError, OverflowError):
            return None
        # A date of HTTP is in GMT, also when the zone was left out.
        seconds = ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - at).total_seconds()
    return min(max(seconds, 0.0), _LONGEST_RETRY_SECONDS)
