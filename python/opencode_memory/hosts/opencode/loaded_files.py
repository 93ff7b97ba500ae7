"""Finds the files that OpenCode loads into the system prompt by itself, such as ``AGENTS.md``.

OpenCode loads the files of one name: those of the first name that exists in the folder or above it, up to the root of
the repository. It also loads one file of the user, and those that its configuration names in ``instructions``.

The configuration may come with a cloned repository, so the work on it is limited. Addresses, and patterns of more than
one part of a path, are not followed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path, PurePath
from typing import Final

from opencode_memory.errors import ConfigError
from opencode_memory.hosts.opencode.paths import global_folder, own_folder

_OF_CLAUDE: Final = "CLAUDE.md"
NAMES: Final = ("AGENTS.md", _OF_CLAUDE, "CONTEXT.md")
"""In the order in which OpenCode looks for them."""
MOST_FILES: Final = 50
"""Found because the configuration names them."""
MOST_INSTRUCTIONS: Final = 100
"""Followed entries of ``instructions``."""
_MOST_PARTS: Final = 20
"""Of the path of an instruction."""
_MOST_LISTED: Final = 2_000
"""Entries of folders that are compared with patterns, for all patterns."""
_PATTERN: Final = re.compile(r"[*?\[{]")


def find_loaded_files(
    folder: Path | None, environment: Mapping[str, str], instructions: Sequence[str] = ()
) -> Iterator[Path]:
    """Yield the files that OpenCode loads, some of which need not exist.

    Args:
        folder: The folder in which it works; None if it is unknown.
        environment: Environment variables that tell what OpenCode loads, and where the user's file is.
        instructions: Paths and patterns of OpenCode's configuration.
    """
    folders: Sequence[Path] = ()
    with suppress(ConfigError):  # The environment names neither a folder nor a home.
        yield _find_user_file(environment)
        folders = [global_folder(environment)]
    if not environment.get("OPENCODE_DISABLE_PROJECT_CONFIG"):
        folders = [] if folder is None else _find_folders(folder)
        yield from _find_named(folders, environment)
    yield from islice(_find_listed(instructions, folders, _find_home(environment)), MOST_FILES)


def _find_named(folders: Sequence[Path], environment: Mapping[str, str]) -> Iterator[Path]:
    for name in NAMES:
        if name == _OF_CLAUDE and _is_without_claude(environment):
            continue
        if any(_exists(folder / name) for folder in folders):
            yield from (folder / name for folder in folders)
            return


def _find_user_file(environment: Mapping[str, str]) -> Path:
    """Return the file with the user's own instructions, which need not exist. OpenCode loads the first of several."""
    own = own_folder(environment) / "AGENTS.md"
    for file in (global_folder(environment) / "AGENTS.md", own):
        if _exists(file):
            return file
    home = _find_home(environment)
    if home is None or _is_without_claude(environment):
        return own
    return home / ".claude" / _OF_CLAUDE


def _is_without_claude(environment: Mapping[str, str]) -> bool:
    names = ("OPENCODE_DISABLE_CLAUDE_CODE", "OPENCODE_DISABLE_CLAUDE_CODE_PROMPT")
    return any(environment.get(name) for name in names)


def _find_home(environment: Mapping[str, str]) -> Path | None:
    home = environment.get("HOME") or environment.get("USERPROFILE")
    return Path(home) if home else None


def _find_listed(instructions: Sequence[str], folders: Sequence[Path], home: Path | None) -> Iterator[Path]:
    left = _MOST_LISTED
    for listed in instructions[:MOST_INSTRUCTIONS]:
        parts = PurePath(listed).parts if "://" not in listed and "\0" not in listed else ()
        is_short = 0 < len(parts) <= _MOST_PARTS and ".." not in parts
        if not is_short or "**" in listed or sum(map(bool, map(_PATTERN.search, parts))) > 1:
            continue
        for start, names in _find_starts(parts, folders, home):
            place = next((place for place, name in enumerate(names) if _PATTERN.search(name)), None)
            if place is None:
                yield start.joinpath(*names)
                continue
            entries = list(islice(_list(start.joinpath(*names[:place])), left))
            left -= len(entries)
            yield from (
                entry.joinpath(*names[place + 1 :]) for entry in entries if fnmatchcase(entry.name, names[place])
            )


def _find_starts(
    parts: Sequence[str], folders: Sequence[Path], home: Path | None
) -> Iterator[tuple[Path, Sequence[str]]]:
    """Yield each folder in which a listed path may begin, with the rest of the path."""
    if parts[0] == "~":
        if home is not None:
            yield home, parts[1:]
    elif PurePath(parts[0]).is_absolute():
        yield Path(parts[0]), parts[1:]
    else:
        for one in folders:
            yield one, parts


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


def _list(folder: Path) -> Iterator[Path]:
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                yield folder / entry.name
    except (OSError, ValueError):
        return  # The folder is missing, may not be read, or has a name that no folder can have.
