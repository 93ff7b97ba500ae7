"""Requests to a forge: one item each, conditional on its ETag.

A token is sent to the API of its forge only. A redirect within that origin is followed, because a renamed repository
answers with one; a redirect to any other origin is an error.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from typing import Final
from urllib.parse import urljoin, urlsplit

from opencode_memory.forges.errors import ForgeError
from opencode_memory.forges.hosts import Forge
from opencode_memory.forges.item import Item, Reference
from opencode_memory.forges.wire import ACCEPT, find_path, parse_answer
from opencode_memory.http_client.retry_after import limit_delay, parse_retry_after

LARGEST_ANSWER: Final = 2 * 1024 * 1024
"""Bytes. A description of GitLab has up to a million characters."""
TIMEOUT_SECONDS: Final = 15.0
_MOST_REDIRECTS: Final = 2
_LONGEST_ETAG: Final = 200
_REFUSED_SECONDS: Final = 6 * 3600.0
_LIMITED_SECONDS: Final = 60.0
_MISSING: Final = frozenset({HTTPStatus.NOT_FOUND, HTTPStatus.GONE})
_REDIRECTS: Final = frozenset(
    {
        HTTPStatus.MOVED_PERMANENTLY,
        HTTPStatus.FOUND,
        HTTPStatus.TEMPORARY_REDIRECT,
        HTTPStatus.PERMANENT_REDIRECT,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """What a forge says about an item.

    Attributes:
        item: The item; None if there is none, or if it did not change.
        etag: Its ETag, for the next request.
        is_unchanged: Whether it did not change since the ETag of the request.
        pause_seconds: Seconds until the forge answers again, if this was the last permitted request.
    """

    item: Item | None = None
    etag: str | None = None
    is_unchanged: bool = False
    pause_seconds: float | None = None


def fetch(
    forge: Forge, reference: Reference, *, etag: str | None, at: datetime, timeout_seconds: float = TIMEOUT_SECONDS
) -> Response:
    """Ask a forge about an item.

    Args:
        forge: The forge.
        reference: The item; its host is that of the forge.
        etag: ETag of the last answer.
        at: The current time.
        timeout_seconds: Limit for the request.

    Raises:
        ForgeError: The forge gave no usable answer.
    """
    from opencode_memory.http_client.request import Request, RequestError, send  # noqa: PLC0415  loads httpx2

    path = find_path(forge.kind, reference)
    if path is None:
        raise ForgeError(f"{forge.host} has no items like {reference.name}")
    headers = {
        "Accept": ACCEPT[forge.kind],
        "Authorization": f"Bearer {forge.token}",
        "User-Agent": "opencode-memory",
    }
    if etag is not None:
        headers["If-None-Match"] = etag
    url = forge.api + path
    for _ in range(_MOST_REDIRECTS + 1):
        request = Request(
            url=url,
            server=forge.host,
            is_loopback=forge.is_loopback,
            headers=headers,
            timeout_seconds=timeout_seconds,
            largest=LARGEST_ANSWER,
        )
        try:
            answer = send(request)
        except RequestError as error:
            raise ForgeError(str(error), is_of_host=True) from error
        if answer.status not in _REDIRECTS:
            return _read(forge, reference, answer.status, answer.headers, answer.body, at)
        url = _follow(forge, url, answer.headers.get("location", ""))
    raise ForgeError(f"{forge.host} redirects {reference.name} more than {_MOST_REDIRECTS} times")


def is_etag(value: object) -> bool:
    """Return whether a value can be sent as an ETag."""
    return isinstance(value, str) and 0 < len(value) <= _LONGEST_ETAG and value.isascii() and value.isprintable()


def _follow(forge: Forge, url: str, location: str) -> str:
    try:
        target = urljoin(url, location)
        is_same = urlsplit(target)[:2] == urlsplit(forge.api)[:2] and target.isascii() and target.isprintable()
    except ValueError:
        is_same = False
    if not is_same or not location:
        message = f"{forge.host} redirects to another host, which is not followed, because it must not get the token"
        raise ForgeError(message, hint="if the forge has moved, change forge.hosts")
    return target


def _read(
    forge: Forge, reference: Reference, status: int, headers: Mapping[str, str], body: bytes, at: datetime
) -> Response:
    pause = _find_pause(headers, at)
    if status == HTTPStatus.NOT_MODIFIED:
        return Response(is_unchanged=True, pause_seconds=pause)
    if status in _MISSING:
        return Response(pause_seconds=pause)
    if status != HTTPStatus.OK:
        raise _refusal(forge, status, headers, pause, at)
    try:
        item = parse_answer(forge.kind, reference, json.loads(body))
    except (ValueError, RecursionError):
        item = None
    if item is None:
        message = f"{forge.host} answered about {reference.name} in a form that is not the API of {forge.kind}"
        raise ForgeError(message, hint="check the kind of the forge in forge.hosts")
    etag = headers.get("etag")
    return Response(item=item, etag=etag if is_etag(etag) else None, pause_seconds=pause)


def _refusal(forge: Forge, status: int, headers: Mapping[str, str], pause: float | None, at: datetime) -> ForgeError:
    asked = parse_retry_after(headers.get("retry-after"), at=at)
    if status == HTTPStatus.TOO_MANY_REQUESTS or (
        status == HTTPStatus.FORBIDDEN and (asked is not None or pause is not None)
    ):
        seconds = asked if asked is not None else pause if pause is not None else _LIMITED_SECONDS
        message = f"{forge.host} limits the number of requests for {seconds:,.0f} s (status {status})"
        return ForgeError(message, is_of_host=True, wait_seconds=seconds)
    if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        message = f"{forge.host} refused the token of {forge.token_source} (status {status})"
        hint = "check that the token is valid and may read issues"
        # GitHub forbids single repositories, but refuses an invalid token everywhere.
        is_of_host = status == HTTPStatus.UNAUTHORIZED
        return ForgeError(
            message, is_of_host=is_of_host, is_of_token=is_of_host, wait_seconds=_REFUSED_SECONDS, hint=hint
        )
    message = f"{forge.host} answered with status {status}"
    is_of_host = status >= HTTPStatus.INTERNAL_SERVER_ERROR
    return ForgeError(message, is_of_host=is_of_host, wait_seconds=asked)


def _find_pause(headers: Mapping[str, str], at: datetime) -> float | None:
    """Return the seconds until requests are permitted again; None if some are left."""
    for prefix in ("x-ratelimit", "ratelimit"):
        if headers.get(f"{prefix}-remaining", "").strip() == "0":
            reset = headers.get(f"{prefix}-reset", "").strip()
            is_time = reset.isascii() and reset.isdecimal() and len(reset) <= 12  # noqa: PLR2004  seconds since 1970
            return limit_delay(int(reset) - at.timestamp()) if is_time else _LIMITED_SECONDS
    return None
