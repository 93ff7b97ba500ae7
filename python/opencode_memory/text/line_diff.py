"""Compares two texts line by line, for people."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher


def compare_lines(before: str, after: str) -> Iterator[tuple[str, str]]:
    r"""Yield each line of two texts with its sign: ``-`` if it was removed, ``+`` if it was added, else a blank.

    >>> list(compare_lines("a\n--b", "a\n++b"))
    [(' ', 'a'), ('-', '--b'), ('+', '++b')]
    """
    old, new = before.splitlines(), after.splitlines()
    # Not `ndiff`, which compares similar lines with each other, and takes minutes for some thousand lines.
    for kind, start, end, new_start, new_end in SequenceMatcher(None, old, new).get_opcodes():
        if kind == "equal":
            yield from ((" ", line) for line in old[start:end])
            continue
        yield from (("-", line) for line in old[start:end])
        yield from (("+", line) for line in new[new_start:new_end])
