"""Files that OpenCode loads by itself, such as ``AGENTS.md``. A brief does not repeat what they say.

OpenCode loads the files of one name: those of the first name that exists in the folder or above it, up to the root of
the repository. A file of another name is not loaded, so nothing is left out because of it. Only regular files are read,
up to a limit, and a symbolic link is not followed out of its folder.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

NAMES: Final = ("AGENTS.md", "CLAUDE.md", "CONTEXT.md")
"""In the order in which OpenCode looks for them."""
MOST_BYTES: Final = 200_000
"""Read of one file."""
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


@dataclass(frozen=True, slots=True)
class LoadedText:
    """The statements of the files, each as a set of words."""

    statements: tuple[frozenset[str], ...] = ()

    def says(self, content: str) -> bool:
        """Return whether one statement says the same as a memory, word for word or nearly so."""
        words = _words(content)
        if len(words) < _LEAST_WORDS:
            return words in self.statements
        least = _SHARE * len(words)
        limits, numbers = words & _LIMITS, _numbers(words)
        return any(
            len(words & statement) >= least and limits == statement & _LIMITS and numbers <= statement
            for statement in self.statements
        )


def read_loaded_files(folder: Path | None) -> LoadedText:
    """Read the files that OpenCode loads in a folder; without a folder, or if none can be read, the result is empty."""
    if folder is None:
        return LoadedText()
    folders = _find_folders(folder)
    for name in NAMES:
        if any(_exists(one / name) for one in folders):
            return LoadedText(tuple(_statements(_read(one, name) for one in folders)))
    return LoadedText()


def _find_folders(folder: Path) -> list[Path]:
    """Return a folder and those above it, up to the root of its repository; outside of a repository only itself."""
    above = [folder, *folder.parents]
    roots = (number for number, one in enumerate(above) if _exists(one / ".git"))
    return above[: next(roots, 0) + 1]


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        return False  # It is in a folder that may not be read, so the agent does not read it either.


def _statements(texts: Iterable[str]) -> Iterable[frozenset[str]]:
    for text in texts:
        for statement in _STATEMENT.split(text):
            if words := _words(statement):
                yield words


def _read(folder: Path, name: str) -> str:
    try:
        top = folder.resolve(strict=True)
        path = (top / name).resolve(strict=True)
        if not path.is_relative_to(top) or not path.is_file():
            return ""
        with path.open("rb") as file:
            return file.read(MOST_BYTES).decode("utf-8", errors="replace")
    except (OSError, RuntimeError):
        return ""  # The file is missing or unreadable, so the agent does not load it either.


def _words(text: str) -> frozenset[str]:
    return frozenset(word.casefold() for word in _WORD.findall(text))


def _numbers(words: frozenset[str]) -> frozenset[str]:
    return frozenset(word for word in words if any(character.isdigit() for character in word))
