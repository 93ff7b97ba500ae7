"""Commits by their hash, where the text says that a number is one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from opencode_memory.entities.around import before
from opencode_memory.entities.forge import Home

_MENTION: Final = re.compile(r"(?<![\w#@./\\$%&=+-])[0-9a-fA-F]{7,40}(?![\w@/\\-]|\.\w)")
_HASH: Final = re.compile(r"[0-9a-f]{7,40}")
_PREFIX: Final = "commit:"
_SAID: Final = re.compile(r"\b(?:commits?|sha1?|revision|rev|changeset)[\s:(\"'#`]{1,4}$", re.IGNORECASE)
_SAID_OF_CODE: Final = re.compile(r"\b(?:fix(?:es|ed)|in|by|since|reverts)\s+$", re.IGNORECASE)
_WHOLE: Final = 40


def find(text: str, quoted: Mapping[int, str], home: Home | None) -> Iterator[tuple[int, str]]:
    """Find the commits of a text.

    Args:
        text: Prose, without addresses.
        quoted: Code in lines, by place.
        home: The project of the text.
    """
    for match in _MENTION.finditer(text):
        place, mention = match.start(), match[0]
        said = before(text, place)
        if _is_mixed(mention) and (
            len(mention) == _WHOLE
            or _SAID.search(said)
            or (quoted.get(place) == mention and _SAID_OF_CODE.search(said))
        ):
            yield place, _name(mention.lower(), home)


def parse(reference: str, home: Home | None) -> str | None:
    """Return the commit of a hash, alone or with ``commit:`` before it; None for other texts."""
    commit = reference.lower().removeprefix(_PREFIX)
    if not _HASH.fullmatch(commit) or not (_is_mixed(commit) or len(commit) < len(reference)):
        return None
    return _name(commit, home)


def shorter(name: str, home: Home) -> Iterator[str]:
    """Yield a shorter way to write the name of a commit of the own project."""
    if name.startswith(f"{home.project}@"):
        commit = name.removeprefix(f"{home.project}@")
        yield commit
        yield f"{_PREFIX}{commit}"


def _name(commit: str, home: Home | None) -> str:
    return f"{_PREFIX}{commit}" if home is None else f"{home.project}@{commit}"


def _is_mixed(text: str) -> bool:
    """Whether there is a letter as well as a digit, as in nearly every hash and few words or numbers."""
    return not text.isdigit() and not text.isalpha()
