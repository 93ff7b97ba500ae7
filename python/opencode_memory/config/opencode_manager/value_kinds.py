"""What the value of a key may be. Each kind says what it accepts, and gives None for what it does not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class Kind:
    """A set of values.

    Attributes:
        accepts: Which, in words that follow "must be".
        read: From what was written to the value; None when it is not one of them.
    """

    accepts: str
    read: Callable[[Any], Any]


def whole(least: int, most: int) -> Kind:
    """Return the whole numbers of a range; 5.0 is one."""

    def read(value: Any) -> int | None:
        # NaN and the infinities fall out of every range, and True is no number in JSON.
        if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
            return None
        return int(value) if value == int(value) else None

    return Kind(f"a whole number from {least} to {most}", read)


def number(least: float, most: float) -> Kind:
    """Return the numbers of a range."""

    def read(value: Any) -> float | None:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return value if is_number and least <= value <= most else None

    return Kind(f"a number from {least} to {most}", read)


def one_of(*texts: str) -> Kind:
    """Return a few texts."""
    *first, last = (f'"{text}"' for text in texts)
    return Kind(
        f"{', '.join(first)} or {last}", lambda value: value if isinstance(value, str) and value in texts else None
    )


def _text(value: Any) -> str | None:
    # Half a surrogate pair can be written in JSON, but neither printed nor be part of a path.
    return value.strip() if isinstance(value, str) and value.isprintable() else None


def _model(value: Any) -> str | None:
    text = _text(value)
    provider, _, model = (text or "").partition("/")
    return text if text == "" or (provider and model and " " not in provider) else None


def _path(value: Any) -> str | None:
    text = _text(value)
    # Relative to which folder? Each program that reads the file runs in another one.
    return text if text is not None and (text == "" or text.startswith(("/", "~/"))) else None


FLAG: Final = Kind("true or false", lambda value: value if isinstance(value, bool) else None)
TEXT: Final = Kind("a text on one line", _text)
MODEL: Final = Kind('"provider/model", or ""', _model)
PATH: Final = Kind('a path that begins with / or ~/, or ""', _path)
