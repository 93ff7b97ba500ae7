"""Statements of files that the agent loads by itself, such as ``AGENTS.md``. A brief does not repeat them.

Only regular files are read, up to a limit, and a symbolic link is not followed out of its folder.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Final

MOST_BYTES: Final = 200_000
"""Read of one file."""
MOST_STATEMENTS: Final = 5_000
_SHARE: Final = 0.85
"""Share of a memory's words that one statement of a file has to contain."""
_LEAST_WORDS: Final = 3
_STATEMENT: Final = re.compile(r"\n\s*\n|\n\s*(?:[-*+]|\d+[.)]|#{1,6})\s+|(?<=[.!?])\s+")
_WORD: Final = re.compile(r"[^\W_]+(?:[-'.][^\W_]+)*")
_LIMITS: Final = frozenset(
    {"not", "never", "no", "don't", "without", "cannot", "can't", "avoid", "instead", "or", "either", "unless"}
    | {"except", "if", "when", "where", "while", "until", "only", "but", "may", "might", "optional", "sometimes"}
)
"""Words that negate or limit a statement. A memory without them says something else."""


class LoadedText:
    """The statements of files.

    Args:
        statements: The statements, each as a set of words.
    """

    def __init__(self, statements: Iterable[frozenset[str]] = ()) -> None:
        self.statements = tuple(statements)

    def says(self, content: str) -> bool:
        """Return whether one statement says the same as a memory, word for word or nearly so."""
        words = _words(content)
        if len(words) < _LEAST_WORDS:
            return words in self.statements
        least = _SHARE * len(words)
        limits, numbers = words & _LIMITS, _numbers(words)
        return any(
            len(words & statement) >= least and limits == statement & _LIMITS and numbers <= statement
            for statement in self._find_near(words)
        )

    def _find_near(self, words: frozenset[str]) -> Iterator[frozenset[str]]:
        """Yield the statements that may contain enough of these words: each has one of the rarest of them."""
        by_rarity = sorted(words, key=lambda word: len(self._places.get(word, ())))
        rarest = by_rarity[: int((1 - _SHARE) * len(words)) + 1]
        places = {place for word in rarest for place in self._places.get(word, ())}
        return (self.statements[place] for place in places)

    @cached_property
    def _places(self) -> Mapping[str, Sequence[int]]:
        found: defaultdict[str, list[int]] = defaultdict(list)
        for place, statement in enumerate(self.statements):
            for word in statement:
                found[word].append(place)
        return found


def read_statements(files: Iterable[Path]) -> LoadedText:
    """Read the statements of files; those that are missing or cannot be read have none."""
    return LoadedText(islice(_statements(map(_read, dict.fromkeys(files))), MOST_STATEMENTS))


def _statements(texts: Iterable[str]) -> Iterator[frozenset[str]]:
    for text in texts:
        for statement in _STATEMENT.split(text):
            if words := _words(statement):
                yield words


def _read(path: Path) -> str:
    try:
        top = path.parent.resolve(strict=True)
        real = (top / path.name).resolve(strict=True)
        if not real.is_relative_to(top) or not real.is_file():
            return ""
        with real.open("rb") as file:
            return file.read(MOST_BYTES).decode("utf-8", errors="replace")
    except (OSError, RuntimeError, ValueError):
        return ""  # The file is missing or unreadable, so the agent does not load it either.


def _words(text: str) -> frozenset[str]:
    return frozenset(word.casefold() for word in _WORD.findall(text))


def _numbers(words: frozenset[str]) -> frozenset[str]:
    return frozenset(word for word in words if any(character.isdigit() for character in word))
