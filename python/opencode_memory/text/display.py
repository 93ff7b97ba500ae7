"""Prepares texts of memories for display: removes control and invisible characters, folds to one line, truncates.

Lengths are in bytes of UTF-8, because context is limited in bytes.
"""

from __future__ import annotations

import re
from typing import Final

LINE_BYTES: Final = 160
_MORE: Final = " […]"
_CONTROLS: Final = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    r"\U000e0000-\U000e007f\U000e0100-\U000e01ef]"
)
"""Control characters, and what is invisible: directions, tags and variations that can carry hidden words."""

_REWRITES: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_UNINDENTED: Final = re.compile(r"\n(?!  )")
_NOT_IN_NAMES: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def clean(text: str) -> str:
    """Remove characters that could rewrite a screen or hide text from a reader."""
    return _CONTROLS.sub("\N{REPLACEMENT CHARACTER}", text.replace("\r\n", "\n").replace("\r", "\n"))


def replace_controls(text: str) -> str:
    """Replace the characters that could rewrite a screen. Invisible ones stay, because some languages need them."""
    return _REWRITES.sub("\N{REPLACEMENT CHARACTER}", text.replace("\r\n", "\n"))


def indent_breaks(text: str) -> str:
    """Replace controls, and indent each line but the first, so that a name in a text cannot begin a line of its own."""
    return _UNINDENTED.sub("\n  ", replace_controls(text))


def has_controls(text: str) -> bool:
    """Return whether a name has a control character, for example a line break, or one that changes the direction."""
    return _NOT_IN_NAMES.search(text) is not None


def cut(text: str, most_bytes: int) -> tuple[str, bool]:
    """Return the beginning of a text that fits into so many bytes, and whether the text was cut."""
    encoded = text.encode("utf-8", errors="replace")
    if len(encoded) <= most_bytes:
        return text, False
    kept = encoded[: most_bytes - len(_MORE.encode())].decode("utf-8", errors="ignore")
    end = max(kept.rfind(" "), kept.rfind("\n"))
    return (kept[:end] if end > len(kept) // 2 else kept).rstrip() + _MORE, True


def one_line(text: str, most_bytes: int = LINE_BYTES) -> str:
    """Put the beginning of a text on one line."""
    return cut(" ".join(clean(text).split()), most_bytes)[0]
