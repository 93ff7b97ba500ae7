"""How distilling fails.

Messages name the server and its status, never what was sent or what came back: both hold texts of memories.
"""

from __future__ import annotations

from opencode_memory.errors import OpencodeMemoryError


class DistillationError(OpencodeMemoryError):
    """The memory model gave nothing that can be used; nothing was changed.

    Attributes:
        is_final: Whether the same request would fail again, until a person changes the configuration.
        retry_after_seconds: How long the server asked to be left alone; None when it did not say.
    """

    def __init__(
        self, message: str, *, is_final: bool, retry_after_seconds: float | None = None, hint: str | None = None
    ) -> None:
        super().__init__(message)
        self.is_final = is_final
        self.retry_after_seconds = retry_after_seconds
        self.hint = hint


class UnreachableError(DistillationError):
    """There was no connection, so nothing was sent and nothing is charged."""
