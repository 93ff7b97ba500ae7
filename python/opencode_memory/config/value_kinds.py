"""Kinds of values that a configuration key may hold, for our own settings and for ``memory-config.jsonc``.

A value of TOML or JSON has a type already and is only validated. A value of an environment variable or an option is
text and is parsed first.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from opencode_memory.text.display import has_controls

_LONGEST_PREFIX: Final = 1000
_ADDRESS: Final = re.compile(r"\[[0-9A-Fa-f:.]+\](?::\d+)?")
_FLAGS: Final = {
    "true": True,
    "yes": True,
    "on": True,
    "1": True,
    "false": False,
    "no": False,
    "off": False,
    "0": False,
}


def _keep(text: str) -> str:
    return text


@dataclass(frozen=True, slots=True)
class ValueKind:
    """A set of valid values.

    Attributes:
        accepts: Description of the valid values, in words that follow "must be".
        validate: Converts a typed value to its normal form; returns None if it is invalid.
        parse: Converts text to a typed value for ``validate``.
    """

    accepts: str
    validate: Callable[[Any], Any]
    parse: Callable[[str], Any] = _keep

    def read(self, written: Any) -> Any:
        """Return the value of text or of a typed value; None if it is invalid."""
        return self.validate(self.parse(written) if isinstance(written, str) else written)


def whole_number(least: int, most: int) -> ValueKind:
    """Return the kind of the whole numbers of a range."""

    def parse(text: str) -> int | None:
        try:
            return int(text)
        except ValueError:
            return None

    def validate(value: Any) -> int | None:
        # True is an int in Python, but not a number in a configuration file.
        is_whole = isinstance(value, int) and not isinstance(value, bool)
        return value if is_whole and least <= value <= most else None

    return ValueKind(f"a whole number from {least} to {most}", validate, parse)


def number(least: float, most: float) -> ValueKind:
    """Return the kind of the numbers of a range."""

    def validate(value: Any) -> float | None:
        # NaN and the infinities are outside of every range.
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return value if is_number and least <= value <= most else None

    return ValueKind(f"a number from {least} to {most}", validate)


def one_of(*choices: str) -> ValueKind:
    """Return the kind of a few texts; of members of a ``StrEnum``, the value is the member."""
    *first, last = choices
    return ValueKind(
        f"{', '.join(first)} or {last}",
        lambda value: next((choice for choice in choices if choice == value), None),
    )


def some_of(*choices: str) -> ValueKind:
    """Return the kind of the lists of a few texts."""

    def validate(value: Any) -> tuple[str, ...] | None:
        texts = _validate_texts(value)
        return texts if texts is not None and all(text in choices for text in texts) else None

    return ValueKind(f'some of {", ".join(choices)}, as "a, b" or ["a", "b"]', validate, _split)


def _split(text: str) -> Any:
    """Parse a JSON list, or split a text at its commas. Return None for a list in brackets that is not valid JSON."""
    parts = text.split(",")
    whole = text.strip()
    # Addresses of IPv6 and patterns of file names may begin with a bracket too.
    if not whole.startswith("[") or all(_ADDRESS.fullmatch(part.strip()) for part in parts):
        return parts
    try:
        return json.loads(whole)
    except (ValueError, RecursionError):
        return None if whole.endswith("]") or '"' in whole or "'" in whole else parts


def _validate_texts(value: Any) -> tuple[str, ...] | None:
    if not isinstance(value, list | tuple) or not all(isinstance(text, str) for text in value):
        return None
    return tuple(text.strip() for text in value if text.strip())


def _validate_text(value: Any) -> str | None:
    return value.strip() or None if isinstance(value, str) else None


def _validate_line(value: Any) -> str | None:
    # JSON can hold lone surrogates, which can be neither printed nor part of a path.
    return value.strip() if isinstance(value, str) and value.isprintable() else None


def _validate_project(value: Any) -> str | None:
    text = _validate_text(value)
    return text if text is not None and not has_controls(text) else None


def _validate_model(value: Any) -> str | None:
    text = _validate_line(value)
    provider, _, model = (text or "").partition("/")
    return text if text == "" or (provider and model and " " not in provider) else None


def _validate_path(value: Any) -> str | None:
    text = _validate_line(value)
    # Programs that read the same file run in different folders, so a relative path has no defined meaning.
    return text if text is not None and (text == "" or text.startswith(("/", "~/"))) else None


def _validate_key(value: Any) -> str | None:
    text = _validate_text(value)
    # A header carries the key. Other characters would be altered on the way or refused.
    is_visible = text is not None and text.isascii() and text.isprintable() and " " not in text
    return text if is_visible else None


def _validate_flag(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


FLAG: Final = ValueKind("true or false", _validate_flag, lambda text: _FLAGS.get(text.strip().lower()))


def _validate_url(value: Any) -> str | None:
    if not isinstance(value, str) or value != value.strip():
        return None
    try:
        parts = urlsplit(value)
        _ = parts.port  # A port that is no number is found only here.
    except ValueError:
        return None
    return value if parts.scheme in {"http", "https"} and parts.hostname else None


def _validate_prefix(value: Any) -> str | None:
    # Blanks at the end count, for example in "query: ". Some models expect a line break in their instruction.
    is_short = isinstance(value, str) and len(value) <= _LONGEST_PREFIX
    return value if is_short and value.replace("\n", "").isprintable() else None


TEXT: Final = ValueKind("a text that is not empty", _validate_text)
TEXTS: Final = ValueKind('a list of texts: "a, b" or ["a", "b"]', _validate_texts, _split)
PROJECT: Final = ValueKind("a text that is not empty and has no control characters", _validate_project)
URL: Final = ValueKind("a URL that begins with http:// or https://", _validate_url)
LINE: Final = ValueKind("a text on one line", _validate_line)
MODEL: Final = ValueKind('"provider/model", or ""', _validate_model)
PATH: Final = ValueKind('a path that begins with / or ~/, or ""', _validate_path)
FOLDER: Final = ValueKind("a path that is not empty", _validate_text)
"""A path that may begin with ``~``; ``setting.resolve_folder`` makes it absolute."""
PREFIX: Final = ValueKind(f"a text of at most {_LONGEST_PREFIX:,} characters", _validate_prefix)
KEY: Final = ValueKind("visible ASCII characters without spaces", _validate_key)
