"""What the status of an answer means that is no success."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Final

from opencode_memory.learning.digest.errors import DistillationError
from opencode_memory.learning.digest.model_url import Endpoint

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


def is_success(status: int) -> bool:
    """Whether an answer holds what was asked for."""
    return HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES


def is_about_form(status: int) -> bool:
    """Whether a server refuses the form of a request, so that another may do."""
    return status in {HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY}


def refusal(status: int, retry_after: str | None, endpoint: Endpoint, *, at: datetime) -> DistillationError:
    """Return the error for a status that is no success."""
    if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
        message = f"the memory model's server at {endpoint.origin} redirects elsewhere (status {status}); not followed"
        return DistillationError(message, is_final=True, hint="give the address where it answers itself")
    return DistillationError(
        f"the memory model's server at {endpoint.origin} refuses with status {status}",
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
