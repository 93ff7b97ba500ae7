"""Files that OpenCode loads by itself, such as ``AGENTS.md``. A brief does not repeat what they say.

OpenCode loads the files of one name: those of the first name that exists in the folder or above it, up to the root of
the repository. A file of another name is not loaded, so nothing is left out because of it. It also loads one file of
the user, and those that its configuration names in ``instructions``. Only regular files are read, up to a limit, and a
symbolic link is not followed out of its folder. Addresses and patterns with ``**`` are not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Final

from opencode_memory.config.paths import find_base
from opencode_memory.errors import ConfigError

NAMES: Final = ("AGENTS.md", "CLAUDE.md", "CONTEXT.md")
"""In the order in which OpenCode looks for them."""
MOST_BYTES: Final = 200_000
"""Read of one file."""
MOST_FILES: Final = 100
"""Read because the configuration names them."""
_MOST_PATTERNS: Final = 2
"""Parts of a path that are patterns. More of them may list a large tree."""
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


@dataclass(frozen=True, slots=True)
class LoadedFiles:
    """Which files OpenCode loads.

    Attributes:
        folder: The folder in which it works; None if it is unknown.
        environment: Environment variables that tell where the user's file is; without them it is not read.
        instructions: Paths and patterns of OpenCode's configuration.
    """

    folder: Path | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    instructions: Sequence[str] = ()

    def read(self) -> LoadedText:
        """Read the files; those that cannot be read are left out."""
        found = dict.fromkeys([*self._find_named(), *self._find_of_user(), *islice(self._find_listed(), MOST_FILES)])
        return LoadedText(tuple(_statements(map(_read, found))))

    def _find_named(self) -> Iterator[Path]:
        folders = [] if self.folder is None else _find_folders(self.folder)
        for name in NAMES:
            if any(_exists(one / name) for one in folders):
                yield from (one / name for one in folders)
                return

    def _find_of_user(self) -> Iterator[Path]:
        try:
            own = find_base(self.environment, "XDG_CONFIG_HOME", ".config") / "opencode" / "AGENTS.md"
        except ConfigError:
            return  # The user has no home.
        if _exists(own) or self._home is None:
            yield own
        else:
            yield self._home / ".claude" / "CLAUDE.md"

    def _find_listed(self) -> Iterator[Path]:
        for listed in self.instructions:
            if "**" in listed or "://" in listed or _count_patterns(listed) > _MOST_PATTERNS:
                continue
            path = self._home / listed[2:] if listed.startswith("~/") and self._home is not None else Path(listed)
            if path.is_absolute():
                yield from _match(path.parent, path.name)
            elif self.folder is not None:
                for folder in _find_folders(self.folder):
                    yield from _match(folder, listed)

    @property
    def _home(self) -> Path | None:
        home = self.environment.get("HOME") or self.environment.get("USERPROFILE")
        return Path(home) if home else None


def _count_patterns(path: str) -> int:
    return sum(any(mark in part for mark in "*?[") for part in path.split("/"))


def _match(folder: Path, pattern: str) -> list[Path]:
    try:
        return list(islice(folder.glob(pattern), MOST_FILES))
    except (OSError, ValueError, NotImplementedError):
        return []  # The folder cannot be read, or the pattern is none, such as an empty one.


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


def _read(path: Path) -> str:
    try:
        top = path.parent.resolve(strict=True)
        real = (top / path.name).resolve(strict=True)
        if not real.is_relative_to(top) or not real.is_file():
            return ""
        with real.open("rb") as file:
            return file.read(MOST_BYTES).decode("utf-8", errors="replace")
    except (OSError, RuntimeError):
        return ""  # The file is missing or unreadable, so the agent does not load it either.


def _words(text: str) -> frozenset[str]:
    return frozenset(word.casefold() for word in _WORD.findall(text))


def _numbers(words: frozenset[str]) -> frozenset[str]:
    return frozenset(word for word in words if any(character.isdigit() for character in word))
