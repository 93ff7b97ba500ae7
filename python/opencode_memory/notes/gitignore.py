"""Ignore rules of gitignore(5), evaluated without running git."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

_SIZE_LIMIT: Final = 1 << 20
_TRAILING_BLANKS: Final = re.compile(r"(?<!\\) +$")


@dataclass(frozen=True, slots=True)
class _Rule:
    """One line of an ignore file; ``pattern`` matches paths relative to that file's folder."""

    pattern: re.Pattern[str]
    ignores: bool
    folders_only: bool


@dataclass(frozen=True, slots=True)
class IgnoreRules:
    """Ignore rules of a folder: those of its own ignore file and of the folders above, outermost first."""

    layers: tuple[tuple[PurePosixPath, tuple[_Rule, ...]], ...] = ()

    def extend(self, folder: PurePosixPath, file: Path) -> IgnoreRules:
        """Return the rules for a subfolder, including its ignore file if there is one.

        Args:
            folder: The subfolder, relative to the top of the work tree.
            file: Its ignore file; it need not exist.
        """
        rules = read_rules(file)
        return IgnoreRules((*self.layers, (folder, rules))) if rules else self

    def ignores(self, path: PurePosixPath, *, is_folder: bool) -> bool:
        """Return whether a path is ignored, provided that no folder above it is ignored.

        Args:
            path: Relative to the top of the work tree.
            is_folder: Whether it is a folder.
        """
        # The last rule that matches decides, and the innermost file comes last.
        for folder, rules in reversed(self.layers):
            below = path.relative_to(folder).as_posix()
            for rule in reversed(rules):
                if (is_folder or not rule.folders_only) and rule.pattern.fullmatch(below):
                    return rule.ignores
        return False


def read_rules(file: Path) -> tuple[_Rule, ...]:
    """Read an ignore file; empty if it is missing or a symbolic link, which git does not follow either."""
    if file.is_symlink() or not file.is_file() or file.stat().st_size > _SIZE_LIMIT:
        return ()
    text = file.read_bytes().decode("utf-8", errors="replace").removeprefix("\ufeff")
    return tuple(rule for line in text.split("\n") if (rule := _parse_rule(line.removesuffix("\r"))) is not None)


def _parse_rule(line: str) -> _Rule | None:
    line = _TRAILING_BLANKS.sub("", line)
    if not line or line.startswith("#"):
        return None
    ignores = not line.startswith("!")
    line = line.removeprefix("!")
    folders_only = line.endswith("/")
    line = line.removesuffix("/")
    anchored = "/" in line
    pattern = _translate(line.removeprefix("/"))
    if not line or pattern is None:
        return None
    try:
        compiled = re.compile(pattern if anchored else f"(?:.*/)?{pattern}", re.DOTALL)
    except re.error:
        # For example the range [z-a], which matches nothing in git either.
        return None
    return _Rule(compiled, ignores, folders_only)


def _translate(glob: str) -> str | None:
    """Translate a glob into a regular expression; None if git would not match any path with it."""
    parts: list[str] = []
    position = 0
    while position < len(glob):
        rest = glob[position:]
        # Git treats more than two stars as two.
        stars = len(rest) - len(rest.lstrip("*"))
        if stars > 1 and rest[stars:].startswith("/") and (position == 0 or glob[position - 1] == "/"):
            parts.append("(?:[^/]+/)*")
            position += stars + 1
        elif stars > 1 and stars == len(rest) and position > 0 and glob[position - 1] == "/":
            parts.append(".+")
            position += stars
        elif stars:
            parts.append("[^/]*")
            position += stars
        elif rest.startswith("?"):
            parts.append("[^/]")
            position += 1
        elif rest.startswith("["):
            matched = re.match(r"\[(?P<not>[!^]?)(?P<set>\]?(?:\\.|[^\]\\])*)\]", rest)
            if matched is None:
                return None
            # These characters have a special meaning inside of a set in Python, but not in git.
            inside = re.sub(r"[\[&|~]", r"\\\g<0>", matched["set"])
            parts.append(f"(?!/)[{'^' * bool(matched['not'])}{inside}]")
            position += matched.end()
        elif rest.startswith("\\"):
            if len(rest) == 1:
                return None
            parts.append(re.escape(rest[1]))
            position += 2
        else:
            parts.append(re.escape(rest[0]))
            position += 1
    return "".join(parts)
