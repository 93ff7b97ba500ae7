"""Parses JSONC files with a parser for JSON5, a superset of JSON with comments and trailing commas.

Duplicate names are kept, so that the caller can report them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

_MOST_DIGITS: Final = 20


class Member(NamedTuple):
    """A name and its value."""

    name: str
    value: Any


class Members(tuple[Member, ...]):
    """The members of an object, in order."""

    __slots__ = ()


def parse(content: bytes) -> Members:
    """Return the members of the object in a file; an empty file has no members.

    Raises:
        ValueError: If the content is not UTF-8, not JSONC, or not an object.
    """
    import json5  # noqa: PLC0415  most users have no such file

    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"it is not UTF-8 (byte {error.start})") from error
    if not text.strip():
        return Members()
    try:
        value = json5.loads(text, object_pairs_hook=_members, parse_int=_integer, parse_float=_number)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    except ValueError as error:
        raise ValueError(str(error).replace("<string>:", "line ")) from error
    if not isinstance(value, Members):
        raise ValueError("it is not an object in braces { }")  # noqa: TRY004  an error of the content
    return value


def _members(pairs: Iterable[tuple[str, Any]]) -> Members:
    return Members(Member(*pair) for pair in pairs)


def _integer(text: str, base: int = 10) -> float:
    # Python refuses to parse thousands of digits, and no key accepts a number of more than twenty.
    return int(text, base) if len(text) <= _MOST_DIGITS else math.inf


def _number(text: str) -> float:
    # JSON has one type of number, so 5.0 is a whole number.
    value = float(text)
    return int(value) if value.is_integer() else value
