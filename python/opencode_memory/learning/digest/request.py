"""One request to the LLM server: the errors of the HTTP client, in the words of the digest."""

from __future__ import annotations

from typing import Final

from opencode_memory.http_client.request import Failure, HttpAnswer, Request, RequestError, send
from opencode_memory.learning.digest.errors import DigestError, UnreachableError
from opencode_memory.learning.digest.settings import Endpoint

LARGEST_ANSWER: Final = 256 * 1024
"""Bytes."""
_FINAL: Final = frozenset({Failure.COMPRESSED, Failure.INVALID})
_HINTS: Final = {
    Failure.UNREACHABLE: "start the server, or check its address",
    Failure.LATE: "raise the timeout, or use a smaller model",
}


def post(endpoint: Endpoint, body: str, *, key: str | None, timeout_seconds: float) -> HttpAnswer:
    """Send JSON and return the response, whatever its status. Redirects are returned and not followed.

    Args:
        endpoint: Where to send the request.
        body: The JSON text.
        key: API key for the ``Authorization`` header, if any.
        timeout_seconds: Limit for the whole request.

    Raises:
        UnreachableError: No connection could be made.
        DigestError: The response did not arrive in time, is too large, or is not HTTP.
    """
    request = Request(
        method="POST",
        url=endpoint.url,
        server=f"the LLM server at {endpoint.origin}",
        is_loopback=endpoint.is_loopback,
        headers={} if key is None else {"Authorization": f"Bearer {key}"},
        body=body,
        timeout_seconds=timeout_seconds,
        largest=LARGEST_ANSWER,
    )
    try:
        return send(request)
    except RequestError as error:
        kind = UnreachableError if error.failure is Failure.UNREACHABLE else DigestError
        raise kind(str(error), is_final=error.failure in _FINAL, hint=_HINTS.get(error.failure)) from error
