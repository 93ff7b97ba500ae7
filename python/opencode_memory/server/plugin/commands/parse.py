"""Parser of the arguments of /remember: scope, category and text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from opencode_memory.models import Category

_FLAGS: Final = re.IGNORECASE | re.DOTALL
_FOR_ALL: Final = re.compile(r"(?:--global|-g)(?:\s+|\Z)")
_NAMED: Final = re.compile(r"(?P<name>[A-Za-z]+)\s*:(?!/)\s*(?P<rest>.*)", re.DOTALL)
# Never guess a directive, because agents follow it forever. The user has to write "directive: …".
_GUESSES: Final = (
    (
        Category.PREFERENCE,
        re.compile(r".*\bi(?:'d| would)? (?:prefer|like|want|hate|love|dislike)\b", _FLAGS),
    ),
    (Category.DECISION, re.compile(r".*\b(?:we|i)(?:'ve| have)? (?:decided|chose|agreed|settled)\b", _FLAGS)),
    (Category.CONVENTION, re.compile(r"(?:we )?(?:always|never)\b", _FLAGS)),
)


@dataclass(frozen=True, slots=True)
class TypedMemory:
    """A memory as the user typed it.

    Attributes:
        content: The text.
        category: The named category, or a guess.
        is_global: Whether the memory is about the user, in every project.
    """

    content: str
    category: Category
    is_global: bool


def parse_memory(arguments: str) -> TypedMemory | None:
    """Parse the arguments; None if they contain no text.

    ``--global`` is an option only at the start. Later it may be part of the text.

    >>> parse_memory("--global preference: dark mode")
    TypedMemory(content='dark mode', category=<Category.PREFERENCE: 'preference'>, is_global=True)
    """
    text = arguments.strip()
    is_global = False
    if match := _FOR_ALL.match(text):
        is_global, text = True, text[match.end() :]
    match = _NAMED.fullmatch(text)
    named = None if match is None else _parse_category(match["name"])
    if match is not None and named is not None:
        text = match["rest"]
    text = text.strip()
    return TypedMemory(text, named or _guess_category(text), is_global) if text else None


def _parse_category(name: str) -> Category | None:
    try:
        return Category(name.lower())
    except ValueError:
        return None


def _guess_category(text: str) -> Category:
    return next((category for category, pattern in _GUESSES if pattern.match(text)), Category.FACT)
