"""Formats ids and counts, the same for users and for models."""

from __future__ import annotations

from typing import Final

ID_CHARACTERS: Final = 8
"""Characters by which an id is shown; that many tell the memories of a large store apart."""


def short_id(id: str) -> str:
    """Return the end of an id. Its beginning is a time, which memories written together share."""
    return id[-ID_CHARACTERS:]


def format_count(number: int, noun: str) -> str:
    """Format a number of things.

    >>> format_count(1, "memory"), format_count(2, "memory"), format_count(0, "text")
    ('1 memory', '2 memories', '0 texts')
    """
    plural = f"{noun.removesuffix('y')}ies" if noun.endswith("y") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural}"
