"""Errors of the digest step, and their classification by HTTP status.

Messages name the server and the status, never the request or the response, because both contain texts of memories.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from http import HTTPStatus
from typing import Final

from opencode_memory.errors import OpencodeMemoryError
from opencode_memory.http_client.retry_after import parse_retry_after

_PASSING: Final = frozenset(
    {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.CONFLICT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS}
)
_HINTS: Final[Mapping[int, str]] = {
    HTTPStatus.UNAUTHORIZED: "check the API key in the environment",
    HTTPStatus.FORBIDDEN: "check the API key in the environment and its permissions",
    HTTPStatus.NOT_FOUND: "check the model name, and the address, which usually ends in /v1",
    HTTPStatus.TOO_MANY_REQUESTS: "the server limits requests; the worker tries again later",
}


class DigestError(OpencodeMemoryError):
    """The LLM gave no usable answer; no memory was changed.

    Attributes:
        is_final: Whether the same request would fail again until the user changes the configuration.
        retry_after_seconds: Delay that the server asked for; None if it did not ask for one.
    """

    def __init__(
        self, message: str, *, is_final: bool, retry_after_seconds: float | None = None, hint: str | None = None
    ) -> None:
        super().__init__(message)
        self.is_final = is_final
        self.retry_after_seconds = retry_after_seconds
        self.hint = hint


class UnreachableError(DigestError):
    """No connection could be made, so the request was not sent and is not charged."""


def is_success(status: int) -> bool:
    """Return whether a status means success."""
    return HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES


def is_about_form(status: int) -> bool:
    """Return whether a status means that the server rejects the request format, so that another dialect may work."""
    return status in {HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY}


def error_for_status(status: int, retry_after: str | None, origin: str, *, at: datetime) -> DigestError:
    """Build the error for a status that is not a success."""
    if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
        message = f"the LLM server at {origin} redirects to another address (status {status}), which is not followed"
        return DigestError(message, is_final=True, hint="configure the address to which the server redirects")
    return DigestError(
        f"the LLM server at {origin} refused the request with status {status}",
        is_final=status < HTTPStatus.INTERNAL_SERVER_ERROR and status not in _PASSING,
        retry_after_seconds=parse_retry_after(retry_after, at=at),
        hint=_HINTS.get(status),
    )
