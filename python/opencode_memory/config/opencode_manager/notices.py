"""What a person should know about their ``memory-config.jsonc``; nothing of it ever stops a program."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Notice:
    """One thing that is wrong with the file, or that has no effect.

    Attributes:
        level: ``error`` for what cannot be right, ``note`` for what is right and does nothing here.
        key: Dotted name of the key; empty when it is about the whole file.
        text: What was found. It holds no secret and nothing that a terminal or a log could trip over.
        hint: What to do about it.
    """

    level: Literal["error", "note"]
    key: str
    text: str
    hint: str | None = None


def log_notices(notices: Iterable[Notice]) -> None:
    """Log them as warnings: a server that starts has nobody in front of it who would read them elsewhere."""
    import logging  # noqa: PLC0415  few commands load it

    for notice in notices:
        logging.getLogger(__name__).warning("%s%s", notice.text, f" ({notice.hint})" if notice.hint else "")
