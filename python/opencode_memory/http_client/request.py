"""One HTTP request, limited in time and size.

The request runs in its own event loop, because the timeouts of a blocking client apply to each read. A server that
sends one byte now and then (some send blanks while a model thinks) would hold such a client for ever. Do not call
``send`` from a running event loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final

import httpx2

from opencode_memory.errors import OpencodeMemoryError

CONNECT_SECONDS: Final = 5.0


class Failure(Enum):
    """Why a request has no response."""

    UNREACHABLE = auto()
    LATE = auto()
    TOO_LARGE = auto()
    COMPRESSED = auto()
    BROKEN = auto()
    INVALID = auto()


class RequestError(OpencodeMemoryError):
    """A request has no usable response.

    Attributes:
        failure: The reason. Only with ``UNREACHABLE`` it is sure that the request was not sent.
    """

    def __init__(self, message: str, *, failure: Failure) -> None:
        super().__init__(message)
        self.failure = failure


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request to a server.

    Attributes:
        url: Where to send it.
        server: The server in words with its origin, for messages: ``the LLM server at http://127.0.0.1:11434``.
        is_loopback: Whether the host is this machine.
        method: The HTTP method.
        headers: Headers beside those that every request has.
        body: The JSON text; None for none.
        timeout_seconds: Limit for the whole request, from connecting to the last byte. Only the system's name lookup
            cannot be interrupted; it has its own limits.
        largest: Maximum number of bytes of the response.
    """

    url: str
    server: str
    is_loopback: bool
    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str | None = None
    timeout_seconds: float
    largest: int


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """Response of a server; the names of the headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def retry_after(self) -> str | None:
        """The unparsed header."""
        return self.headers.get("retry-after")


def send(request: Request) -> HttpAnswer:
    """Send a request and return the response, whatever its status. Redirects are returned and not followed.

    Raises:
        RequestError: No connection could be made, or the response did not arrive in time, is too large, or is not HTTP.
    """
    return asyncio.run(_send(request))


async def _send(request: Request) -> HttpAnswer:
    # Without compression a response cannot become larger than the bytes that were read.
    headers = {"Accept": "application/json", "Accept-Encoding": "identity", **request.headers}
    if request.body is not None:
        headers["Content-Type"] = "application/json"
    content = None if request.body is None else request.body.encode()
    timeout = httpx2.Timeout(None, connect=CONNECT_SECONDS)
    try:
        async with (
            asyncio.timeout(request.timeout_seconds),
            # Proxies of the environment are meant for other machines. They could not reach the loopback interface of
            # this machine, or they would read unencrypted requests.
            httpx2.AsyncClient(timeout=timeout, trust_env=not request.is_loopback, follow_redirects=False) as client,
            client.stream(request.method, request.url, content=content, headers=headers) as response,
        ):
            found = {name.lower(): value for name, value in response.headers.items()}
            return HttpAnswer(response.status_code, found, await _read(response, request))
    except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.ProxyError) as error:
        message = f"cannot connect to {request.server}: {_describe_cause(error)}"
        raise RequestError(message, failure=Failure.UNREACHABLE) from error
    except TimeoutError as error:
        message = f"{request.server} did not answer within {request.timeout_seconds:g} s"
        raise RequestError(message, failure=Failure.LATE) from error
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        failure = Failure.INVALID if isinstance(error, httpx2.InvalidURL) else Failure.BROKEN
        message = f"the request to {request.server} failed: {_describe_cause(error)}"
        raise RequestError(message, failure=failure) from error


async def _read(response: httpx2.Response, request: Request) -> bytes:
    if response.headers.get("content-encoding", "identity") != "identity":
        message = f"{request.server} sent a compressed response, which was not requested"
        raise RequestError(message, failure=Failure.COMPRESSED)
    body = bytearray()
    async for piece in response.aiter_raw():
        body += piece
        if len(body) > request.largest:
            message = f"{request.server} sent more than {request.largest // 1024} KB"
            raise RequestError(message, failure=Failure.TOO_LARGE)
    return bytes(body)


def _describe_cause(error: Exception) -> str:
    return str(error) or type(error).__name__
