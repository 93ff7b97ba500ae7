"""People by their name on a forge: ``@user``.

Decorators, annotations, at-rules and packages look the same. They are told apart by what touches them, by the line that
they stand on, and, for those that people write about most, by name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from opencode_memory.entities.around import is_word
from opencode_memory.entities.vocabulary import NOBODY

_MENTION: Final = re.compile(r"@[A-Za-z0-9_][A-Za-z0-9_-]*")
_NAME: Final = re.compile(r"@[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_-])?")
_LETTER: Final = re.compile(r"[A-Za-z]")
_LONGEST: Final = 64
_NEVER_BEFORE: Final = frozenset("@.!#&$%\\/<=?)]}^`+-")
_NEVER_AFTER: Final = frozenset("@({=\\%<$")
_DECORATOR: Final = re.compile(r"\s*@[A-Za-z_][\w.]*\s*(?:\(.*)?", re.DOTALL)
_INDENTED: Final = re.compile(r"(?: {4}|\t)\s*@")
_CODE: Final = re.compile(
    r"""\s*(?:abstract|async|class|const|def|enum|export|final|fun|func|function|int|interface|internal|let|override
    |private|protected|public|readonly|record|static|struct|val|var|void)\b.*[({=;:]""",
    re.VERBOSE,
)


def find(text: str) -> Iterator[tuple[int, str]]:
    """Find the people that a text mentions.

    Args:
        text: Prose, without addresses and code.
    """
    lines = text.split("\n")
    decorated = _decorators(lines)
    position = 0
    for number, line in enumerate(lines):
        margin = len(line) - len(line.lstrip())
        known = -2  # Where the last person on this line ended; nowhere yet.
        for match in _MENTION.finditer(line):
            start, end = match.span()
            if start == margin and (decorated[number] or _INDENTED.match(line)):
                continue
            name = match[0].lower().rstrip("-")
            # Of people with slashes between them, all are meant.
            follows_person = start == known + 1 and line[known] == "/"
            if _is_person(name) and _is_free_after(line, end) and (follows_person or _is_free_before(line, start)):
                known = end
                yield position + start, name
        position += len(line) + 1


def parse(reference: str) -> str | None:
    """Return the person of one reference; None for other texts."""
    return reference.lower() if _NAME.fullmatch(reference) else None


def _is_person(name: str) -> bool:
    known = name[1:]
    return (
        len(name) <= _LONGEST
        and _LETTER.search(known) is not None
        and known not in NOBODY
        and not known.startswith("ts-")
    )


def _is_free_before(line: str, start: int) -> bool:
    preceding = line[start - 1 : start]
    return not is_word(preceding) and preceding not in _NEVER_BEFORE


def _is_free_after(line: str, end: int) -> bool:
    """Return whether the text behind a name does not make it a package, a call, a path or an address."""
    following, beyond = line[end : end + 1], line[end + 1 : end + 2]
    if following == "/":
        return beyond == "@"
    if following in {".", ":"}:
        return not is_word(beyond)
    return not is_word(following) and following not in _NEVER_AFTER


def _decorators(lines: list[str]) -> list[bool]:
    """Return for each line whether it holds only a decorator, with the decorated code below it."""
    found = [False] * len(lines)
    code_below = False
    for number in range(len(lines) - 1, -1, -1):
        found[number] = code_below and _DECORATOR.fullmatch(lines[number]) is not None
        code_below = found[number] or _CODE.match(lines[number]) is not None
    return found
