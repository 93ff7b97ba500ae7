"""The requests of one client that are not answered yet, found in the lines from and to it."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import anyio

from opencode_memory.server.in_flight import MOST_REQUESTS


class Unanswered:
    """The ids of requests that were read and not answered. Belongs to one event loop.

    The SDK answers each of several requests with the same id. For a cancellation, it takes "7" for 7.
    """

    def __init__(self) -> None:
        self._ids: Counter[str] = Counter()
        self._changed = anyio.Event()

    @property
    def is_full(self) -> bool:
        """Whether the client must not have more requests, so that the next one is refused."""
        return self._ids.total() >= MOST_REQUESTS

    def note_read(self, line: str) -> None:
        """Note a message of the client. A request that it cancels gets no answer."""
        match _parse(line):
            case {"method": "notifications/cancelled", "params": {"requestId": int() | str() as id_}}:
                self._end(id_)
            case {"method": str(), "id": int() | str() as id_}:
                self._ids[str(id_)] += 1

    def note_written(self, line: str) -> None:
        """Note a message to the client."""
        if not self._ids:
            return
        match _parse(line):
            case {"id": int() | str() as id_, **rest} if "method" not in rest:
                self._end(id_)

    async def wait(self) -> None:
        """Wait until each request is answered."""
        while self._ids:
            await self._changed.wait()

    def _end(self, id_: int | str) -> None:
        key = str(id_)
        if key not in self._ids:
            return
        self._ids[key] -= 1
        if not self._ids[key]:
            del self._ids[key]
        self._changed.set()
        self._changed = anyio.Event()


def request_id(line: str) -> int | str | None:
    """Return the id of a request; None for any other message."""
    match _parse(line):
        case {"method": str(), "id": int() | str() as id_}:
            return id_
    return None


def _parse(line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None
