"""Statements that a model sees anyway, so that a brief and a quotation do not repeat them.

They stand in files that the agent loads by itself, such as ``AGENTS.md``, or in memories that the same block shows.
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
_STATEMENT: Final = re.compile(r"\n\s*\n|\n\s*(?:[-*+]|\d+[.)]|#{1,6})\s+|(?<=[.!?])\s+")
_WORD: Final = re.compile(r"[^\W_]+(?:[-'.][^\W_]+)*|[,;:()]")
_MARKS: Final = frozenset(",;:()")
_MARK: Final = ","
_FILLERS: Final = frozenset(
    {
        "the",
        "a",
        "an",
        "please",
        "always",
        "we",
        "our",
        "you",
        "your",
        "is",
        "are",
        "be",
        "it",
        "that",
        "this",
        "must",
        "should",
    }
)
"""Words that a statement may lack and still say the same."""
_LIMITS: Final = frozenset(
    {"not", "never", "no", "don't", "without", "cannot", "can't", "avoid", "instead", "or", "either", "unless"}
    | {"except", "if", "when", "where", "while", "until", "only", "but", "may", "might", "optional", "sometimes"}
    | {"stop", "removed", "forbidden", "deprecated", "formerly", "rarely", "mostly"}
)
"""Words that negate or limit a statement. A memory without them says something else."""


class LoadedText:
    """The statements of texts.

    Args:
        statements: The statements, each as its words in order. A comma or another mark between clauses is a word.
    """

    def __init__(self, statements: Iterable[Sequence[str]] = ()) -> None:
        self.statements = tuple(tuple(statement) for statement in statements)
        self._sets = [frozenset(statement) for statement in self.statements]

    def with_texts(self, texts: Iterable[str]) -> LoadedText:
        """Return these statements together with those of further texts."""
        return LoadedText((*self.statements, *_statements(texts)))

    def says(self, content: str) -> bool:
        """Return whether one statement says the same as a memory, word for word or nearly so.

        The words of the memory stand in the statement in the same order, without another clause between them.
        """
        words = _split_words(content)
        limits = _LIMITS.intersection(words)
        told = [word for word in words if word not in _FILLERS and word != _MARK]
        if not told:
            return False
        most_marks = words.count(_MARK)
        longest = len(words) + max(1, len(words) // 3)
        return any(
            _LIMITS & self._sets[place] == limits and _is_inside(told, self.statements[place], longest, most_marks)
            for place in self._find_near(told)
        )

    def _find_near(self, told: Sequence[str]) -> Iterator[int]:
        """Yield the places of the statements that have all of these words."""
        rarest = min(told, key=lambda word: len(self._places.get(word, ())))
        return (place for place in self._places.get(rarest, ()) if self._sets[place].issuperset(told))

    @cached_property
    def _places(self) -> Mapping[str, Sequence[int]]:
        found: defaultdict[str, list[int]] = defaultdict(list)
        for place, statement in enumerate(self._sets):
            for word in statement:
                found[word].append(place)
        return found


def _is_inside(told: Sequence[str], statement: Sequence[str], longest: int, most_marks: int) -> bool:
    """Return whether words stand in a statement in order, within so many words and with so few marks between them."""
    for start in (place for place, word in enumerate(statement) if word == told[0]):
        end = start
        try:
            for word in told[1:]:
                end = statement.index(word, end + 1, start + longest)
        except ValueError:
            continue
        if statement[start : end + 1].count(_MARK) <= most_marks:
            return True
    return False


def read_statements(files: Iterable[Path]) -> LoadedText:
    """Read the statements of files; those that are missing or cannot be read have none."""
    return LoadedText(islice(_statements(map(_read, dict.fromkeys(files))), MOST_STATEMENTS))


def _statements(texts: Iterable[str]) -> Iterator[tuple[str, ...]]:
    for text in texts:
        for statement in _STATEMENT.split(text):
            if words := _split_words(statement):
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


def _split_words(text: str) -> tuple[str, ...]:
    return tuple(_MARK if word in _MARKS else word.casefold() for word in _WORD.findall(text))
