"""Formats ids and counts, the same for users and for models."""

from __future__ import annotations

from typing import Final

ID_CHARACTERS: Final = 8
"""Characters by which an id is shown; that many tell the memories of a large store apart."""

_MINUTE: Final = 60


def short_id(id: str) -> str:
    """Return the end of an id. Its beginning is a time, which memories written together share."""
    return id[-ID_CHARACTERS:]


def format_count(number: int, noun: str) -> str:
    """Format a number of things.

    >>> format_count(1, "memory"), format_count(2, "memory"), format_count(0, "text"), format_count(2, "key")
    ('1 memory', '2 memories', '0 texts', '2 keys')
    """
    plural = f"{noun.removesuffix('y')}ies" if noun.endswith("y") and noun[-2] not in "aeiou" else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural}"


def format_graph(vectors: int) -> str:
    """Format the vectors of a graph behind other counts; nothing without a graph, which small stores do not need.

    >>> format_graph(0), format_graph(20_001)
    ('', ', 20,001 graph vectors')
    """
    return f", {format_count(vectors, 'graph vector')}" if vectors else ""


def format_duration(seconds: float) -> str:
    """Format a duration for people.

    >>> format_duration(3.4), format_duration(75), format_duration(7_500)
    ('3 s', '1 min 15 s', '2 h 5 min')
    """
    whole = round(seconds)
    if whole < _MINUTE:
        return f"{whole} s"
    minutes, rest = divmod(whole, _MINUTE)
    if minutes < _MINUTE:
        return f"{minutes} min {rest} s"
    return f"{minutes // _MINUTE} h {minutes % _MINUTE} min"
