"""Notices to the user about errors in ``memory-config.jsonc``. A notice never stops a command."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Notice:
    """An error in the file, or a key without effect.

    Attributes:
        level: ``error`` for an error, ``note`` for a valid key that has no effect here.
        key: Dotted name of the key; empty if the notice is about the whole file.
        text: The message. It contains no secrets and no control characters.
        hint: The next step for the user, if any.
    """

    level: Literal["error", "note"]
    key: str
    text: str
    hint: str | None = None


def log_notices(notices: Iterable[Notice]) -> None:
    """Log notices as warnings, because a server has no terminal to print them on."""
    import logging  # noqa: PLC0415  few commands load it

    for notice in notices:
        logging.getLogger(__name__).warning("%s%s", notice.text, f" ({notice.hint})" if notice.hint else "")
