"""What a loop needs from a process of OpenCode."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from opencode_memory.errors import OpencodeMemoryError


class HostError(OpencodeMemoryError):
    """OpenCode answered with an error, or not in time."""


class HostNotFoundError(HostError):
    """OpenCode does not have the requested object."""


class HostGoneError(HostError):
    """The connection to OpenCode has ended."""


class Host(Protocol):
    """A process of OpenCode. One connection reaches all of its folders."""

    @property
    def pid(self) -> int:
        """Its process id."""
        ...

    @property
    def started(self) -> int | None:
        """Start time of the process, in clock ticks; None if this system does not tell it."""
        ...

    @property
    def folder(self) -> Path:
        """The folder of the connection."""
        ...

    @property
    def is_connected(self) -> bool:
        """Whether the connection holds."""
        ...

    async def wait_closed(self) -> None:
        """Wait until the connection has ended."""
        ...

    async def request(
        self,
        method: str,
        path: str,
        *,
        directory: str,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        seconds: float = 10.0,
    ) -> Any:
        """Call a route of OpenCode's API for a folder, and return the answer.

        Raises:
            HostNotFoundError: OpenCode does not have the object.
            HostGoneError: The connection has ended.
            HostError: OpenCode answered with another error, or not in time.
        """
        ...
