"""Suggests the nearest known word, for error messages."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the known word closest to a typed word; None if none is close.

    >>> nearest("descision", ["decision", "directive"])
    'decision'
    """
    import difflib  # noqa: PLC0415  only errors need it, and it would cost every start

    typed, choices = word.lower(), [str(name) for name in known]
    begun = [name for name in choices if typed and name.startswith(typed)]
    matches = begun if len(begun) == 1 else difflib.get_close_matches(typed, choices, n=1, cutoff=0.6)
    return matches[0] if matches else None


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return a hint that names the nearest known word, or all of them."""
    choices = list(known)
    match = nearest(word, choices)
    return f"did you mean {match!r}?" if match else f"known are: {', '.join(choices)}"
