"""The block of metadata at the top of a note: YAML between ``---`` lines, or TOML between ``+++`` lines.

Only the part of YAML that notes use is parsed: ``key: value``, ``[a, b]`` and ``- a`` lists, quotes and comments. Other
lines are kept, because the block is copied verbatim.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

_BLOCK: Final = re.compile(
    r"(?P<fence>---|\+\+\+)[ \t]*\r?\n(?P<inside>.*?)^(?:(?P=fence)|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE
)
_LINE: Final = re.compile(r"(?P<key>[A-Za-z_][\w .-]*?)[ \t]*:(?:[ \t]+(?P<value>.*))?")
_COMMENT: Final = re.compile(r"(?:^|[ \t])#.*$")


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontMatter:
    """The metadata of a note.

    Attributes:
        raw: The block with its fences, verbatim; empty if there is none.
        title: Title of the note.
        tags: Labels.
        category: Name of a category, as written.
        date: Date of the note, as written.
    """

    raw: str = ""
    title: str | None = None
    tags: tuple[str, ...] = ()
    category: str | None = None
    date: str | None = None


def read_front_matter(text: str) -> tuple[FrontMatter, str]:
    """Split a text into its front matter and the rest.

    A thematic break at the top is not front matter: the block must close, and its first line must be a key or a
    comment.
    """
    match = _BLOCK.match(text)
    if match is None:
        return FrontMatter(), text
    values = _toml(match["inside"]) if match["fence"] == "+++" else _yaml(match["inside"])
    if values is None:
        return FrontMatter(), text
    found = FrontMatter(
        raw=match[0],
        title=_scalar(values, "title"),
        tags=split_labels(values.get("tags", values.get("tag"))),
        category=_scalar(values, "category"),
        date=_scalar(values, "date"),
    )
    return found, text[match.end() :]


def _toml(inside: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(inside.replace("\r\n", "\n"))
    except tomllib.TOMLDecodeError:
        return None


def _yaml(inside: str) -> dict[str, Any] | None:
    values: dict[str, Any] = {}
    key: str | None = None
    for line in inside.splitlines():
        content = line.strip()
        if not content or content.startswith("#"):
            continue
        if match := _LINE.fullmatch(line.rstrip()):
            key = match["key"].strip().lower()
            values[key] = parse_value(match["value"] or "")
        elif key is None:
            return None
        elif content.startswith("- ") and isinstance(values[key], list | str) and not values[key]:
            values[key] = [_unquote(content[2:])]
        elif content.startswith("- ") and isinstance(values[key], list):
            values[key].append(_unquote(content[2:]))
    return values if key is not None else None


def parse_value(text: str) -> str | list[str]:
    """Parse a value: a text, quoted or not, or a list in brackets."""
    text = text.strip()
    if text.startswith("[") and (end := text.rfind("]")) > 0:
        return [label for part in text[1:end].split(",") if (label := _unquote(part))]
    return _unquote(text)


def _unquote(text: str) -> str:
    text = text.strip()
    if text[:1] in {'"', "'"} and (end := text.find(text[0], 1)) > 0:
        return text[1:end]
    return _COMMENT.sub("", text).strip()


def _scalar(values: Mapping[str, Any], key: str) -> str | None:
    value = values.get(key)
    return str(value).strip() or None if value is not None and not isinstance(value, list | dict) else None


def split_labels(value: Any) -> tuple[str, ...]:
    """Return labels that are given as a list, or as one text with commas."""
    labels = value.split(",") if isinstance(value, str) else value if isinstance(value, list) else []
    return tuple(dict.fromkeys(text for label in labels if (text := str(label).strip().removeprefix("#"))))
