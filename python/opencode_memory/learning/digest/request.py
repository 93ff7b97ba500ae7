"""One HTTP request to the LLM server, limited in time and size.

The request runs in its own event loop, because the timeouts of a blocking client apply to each read. A server that
sends one byte now and then (some send blanks while the model thinks) would hold such a client for ever. Do not call
``post`` from a running event loop.
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
    """Response of the server; ``retry_after`` is the unparsed header."""

    status: int
    retry_after: str | None
    body: bytes


def post(endpoint: Endpoint, body: str, *, key: str | None, timeout_seconds: float) -> HttpAnswer:
    """Send JSON and return the response, whatever its status. Redirects are returned and not followed.

    Args:
        endpoint: Where to send the request.
        body: The JSON text.
        key: API key for the ``Authorization`` header, if any.
        timeout_seconds: Limit for the whole request, from connecting to the last byte. Only the system's name lookup
            cannot be interrupted; it has its own limits.

    Raises:
        UnreachableError: No connection could be made.
        DigestError: The response did not arrive in time, is too large, or is not HTTP.
    """
    return asyncio.run(_post(endpoint, body, key=key, timeout_seconds=timeout_seconds))


async def _post(endpoint: Endpoint, body: str, *, key: str | None, timeout_seconds: float) -> HttpAnswer:
    # Without compression a response cannot become larger than the bytes that were read.
    headers = {"Content-Type": "application/json", "Accept": "application/json", "Accept-Encoding": "identity"}
    if key is not None:
        headers["Authorization"] = f"Bearer {key}"
    timeout = httpx2.Timeout(None, connect=CONNECT_SECONDS)
    try:
        async with (
            asyncio.timeout(timeout_seconds),
            # Proxies of the environment are meant for other machines. They could not reach the loopback interface of
            # this machine, or they would read unencrypted requests.
            httpx2.AsyncClient(timeout=timeout, trust_env=not endpoint.is_loopback, follow_redirects=False) as client,
            client.stream("POST", endpoint.url, content=body.encode(), headers=headers) as response,
        ):
            return HttpAnswer(
                response.status_code, response.headers.get("retry-after"), await _read(response, endpoint)
            )
    except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.ProxyError) as error:
        message = f"cannot connect to the LLM server at {endpoint.origin}: {_describe_cause(error)}"
        raise UnreachableError(message, is_final=False, hint="start the server, or check its address") from error
    except TimeoutError as error:
        message = f"the LLM server at {endpoint.origin} did not answer within {timeout_seconds:g} s"
        raise DigestError(message, is_final=False, hint="raise the timeout, or use a smaller model") from error
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        message = f"the request to the LLM server at {endpoint.origin} failed: {_describe_cause(error)}"
        raise DigestError(message, is_final=isinstance(error, httpx2.InvalidURL)) from error


async def _read(response: httpx2.Response, endpoint: Endpoint) -> bytes:
    if response.headers.get("content-encoding", "identity") != "identity":
        message = f"the LLM server at {endpoint.origin} sent a compressed response, which was not requested"
        raise DigestError(message, is_final=True)
    body = bytearray()
    async for piece in response.aiter_raw():
        body += piece
        if len(body) > LARGEST_ANSWER:
            message = f"the LLM server at {endpoint.origin} sent more than {LARGEST_ANSWER // 1024} KB"
            raise DigestError(message, is_final=False)
    return bytes(body)


def _describe_cause(error: Exception) -> str:
    return str(error) or type(error).__name__
