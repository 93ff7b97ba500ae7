"""Facts of one ecosystem of a project, and readers for its files."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from opencode_memory._core import redact
from opencode_memory.notes.files import read_note
from opencode_memory.projects.identity import real

ROLES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "build": ("build", "compile"),
        "test": ("test", "tests", "check"),
        "lint": ("lint",),
        "format": ("format", "fmt"),
        "type check": ("typecheck", "type-check", "types", "check-types"),
        "run": ("start", "run", "serve"),
    }
)
"""Roles of commands, each with the usual names of its script or target, best first."""
_ORDINARY_NAME: Final = re.compile(r"[@\w][\w .@/:+-]{0,79}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Facts of one ecosystem, for example of its ``package.json``.

    Attributes:
        language: Name of the ecosystem, for example "Python 3.11 or newer".
        name: Name of the project; empty if the manifest names none.
        purpose: Description of the project; empty if the manifest has none.
        manager: Package manager or build tool; empty if it is not known.
        commands: A command for each role that is known.
    """

    language: str = ""
    name: str = ""
    purpose: str = ""
    manager: str = ""
    commands: Mapping[str, str] = field(default_factory=dict)


class ProjectFiles:
    """Files at the top of a project's folder. Symbolic links are not followed, because they may lead anywhere."""

    def __init__(self, folder: Path) -> None:
        self._folder = real(folder)

    def has(self, *names: str) -> bool:
        """Return whether one of these files exists."""
        return any(self._find(name) is not None for name in names)

    def text(self, name: str) -> str:
        """Return the content of a file; empty if there is none or if it is not readable text."""
        path = self._find(name)
        try:
            return "" if path is None else read_note(path)
        except (OSError, ValueError):
            return ""

    def toml(self, name: str) -> Mapping[str, Any]:
        """Return the content of a TOML file; empty if there is none or if it is invalid."""
        try:
            return tomllib.loads(self.text(name))
        except (ValueError, RecursionError):
            return {}

    def json(self, name: str) -> Mapping[str, Any]:
        """Return the content of a JSON file; empty if there is none or if it is not a JSON object."""
        try:
            return to_mapping(json.loads(self.text(name) or "{}"))
        except (ValueError, RecursionError):
            return {}

    def _find(self, name: str) -> Path | None:
        path = self._folder / name
        return path if path.is_file() and real(path) == path else None


def to_mapping(value: Any) -> Mapping[str, Any]:
    """Return a mapping as it is; empty for any other value."""
    return value if isinstance(value, dict) else {}


def to_line(value: Any, *, most: int = 200) -> str:
    """Return a text in one line of at most ``most`` characters; empty for any other value."""
    if not isinstance(value, str):
        return ""
    # Redact before cutting, because half a secret is no longer recognised.
    line = redact(" ".join(value.split()))[0]
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def to_name(value: Any) -> str:
    """Return an ordinary name; empty for any other value, for example for a sentence."""
    return value if isinstance(value, str) and _ORDINARY_NAME.fullmatch(value) else ""


def pick_commands(names: Collection[str], prefix: str) -> Iterator[tuple[str, str]]:
    """Yield for each role the command of the first usual name that a project defines."""
    for role, usual in ROLES.items():
        name = next((name for name in usual if name in names), None)
        if name is not None:
            yield role, f"{prefix} {name}"
