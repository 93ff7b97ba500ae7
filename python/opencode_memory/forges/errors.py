"""Errors of requests to a forge. Messages name the host and the status, and never a token."""

from __future__ import annotations

from opencode_memory.errors import OpencodeMemoryError


class ForgeError(OpencodeMemoryError):
    """A forge gave no usable answer; no memory was changed.

    Attributes:
        is_of_host: Whether other requests to the host would fail as well, so that it is left alone for a while.
        is_of_token: Whether the host refused the token, so that a request with another token may succeed.
        wait_seconds: Delay that the host asked for, or that its refusal needs; None for a growing one.
    """

    def __init__(
        self,
        message: str,
        *,
        is_of_host: bool = False,
        is_of_token: bool = False,
        wait_seconds: float | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message)
        self.is_of_host = is_of_host
        self.is_of_token = is_of_token
        self.wait_seconds = wait_seconds
        self.hint = hint


class NotAskedError(ForgeError):
    """No request was made: the host is not a forge of the user, has no token, or is left alone for a while."""
