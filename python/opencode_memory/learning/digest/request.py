"""One request to the memory model's server and its answer, within limits of time and size.

It runs in an event loop of its own: the limits of a blocking client are per read, and a server that sends a byte now
and then (some send blanks while the model thinks) would hold it for ever. It must not be called on a running loop.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Final

import httpx2

from opencode_memory.learning.digest.errors import DigestError, UnreachableError
from opencode_memory.learning.digest.settings import Endpoint

CONNECT_SECONDS: Final = 5.0
LARGEST_ANSWER: Final = 256 * 1024
"""Bytes."""


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """What a server answered; ``retry_after`` as it wrote it."""

    status: int
    retry_after: str | None
    body: bytes


def post(endpoint: Endpoint, body: str, *, key: str | None, timeout_seconds: float) -> HttpAnswer:
    """Send JSON and return what is answered, whatever its status. Redirects are answers too: none is followed.

    Args:
        endpoint: Where to.
        body: JSON.
        key: For the ``Authorization`` header.
        timeout_seconds: For everything, from connecting to the last byte. Only the system's look-up of a name cannot be
            interrupted, and has limits of its own.

    Raises:
        UnreachableError: There was no connection.
        DigestError: The answer did not come in time, is too large, or is no HTTP.
    """
    return asyncio.run(_post(endpoint, body, key=key, timeout_seconds=timeout_seconds))


async def _post(endpoint: Endpoint, body: str, *, key: str | None, timeout_seconds: float) -> HttpAnswer:
    # An answer that is not compressed cannot be larger than what was read.
    headers = {"Content-Type": "application/json", "Accept": "application/json", "Accept-Encoding": "identity"}
    if key is not None:
        headers["Authorization"] = f"Bearer {key}"
    timeout = httpx2.Timeout(None, connect=CONNECT_SECONDS)
    try:
        async with (
            asyncio.timeout(timeout_seconds),
            # The environment's proxies are for other machines: they could not reach this one's loopback, or would read
            # what is not encrypted there.
            httpx2.AsyncClient(timeout=timeout, trust_env=not endpoint.is_loopback, follow_redirects=False) as client,
            client.stream("POST", endpoint.url, content=body.encode(), headers=headers) as response,
        ):
            return HttpAnswer(
                response.status_code, response.headers.get("retry-after"), await _read(response, endpoint)
            )
    except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.ProxyError) as error:
        message = f"cannot connect to the memory model at {endpoint.origin}: {_cause(error)}"
        raise UnreachableError(message, is_final=False, hint="is its server running?") from error
    except TimeoutError as error:
        message = f"the memory model at {endpoint.origin} did not answer within {timeout_seconds:g} s"
        raise DigestError(message, is_final=False, hint="give it more time, or take a smaller model") from error
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        message = f"asking the memory model at {endpoint.origin} failed: {_cause(error)}"
        raise DigestError(message, is_final=isinstance(error, httpx2.InvalidURL)) from error


async def _read(response: httpx2.Response, endpoint: Endpoint) -> bytes:
    if response.headers.get("content-encoding", "identity") != "identity":
        message = f"the memory model at {endpoint.origin} answers compressed, which it was not asked for"
        raise DigestError(message, is_final=True)
    body = bytearray()
    async for piece in response.aiter_raw():
        body += piece
        if len(body) > LARGEST_ANSWER:
            message = f"the memory model at {endpoint.origin} answers with more than {LARGEST_ANSWER // 1024} KB"
            raise DigestError(message, is_final=False)
    return bytes(body)


def _cause(error: Exception) -> str:
    return str(error) or type(error).__name__
