"""A memory's text on one line, and back.

What is shown is plain: one line, nothing invisible, no longer than a person reads. It is escaped so that nothing in it
can start or end a comment, which is what our marks are, nor begin a block or a tag of HTML. Escaping is undone exactly:
``unescaped(escaped(text)) == text`` for every line.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from dataclasses import dataclass
from typing import Final

LONGEST: Final = 240
"""Characters of a text that are shown; a longer one is shortened at a word."""

ELLIPSIS: Final = "…"
_DIGEST_CHARACTERS: Final = 6

_HIDDEN: Final = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    r"\U000e0000-\U000e007f\U000e0100-\U000e01ef]"
)
"""Control characters, and what is invisible: directions, tags and variations that can carry hidden words."""

_CODE: Final = re.compile(r"(?<!`)(`+)(?!`)(?:.+?)(?<!`)\1(?!`)")
_OPENS_TAG: Final = re.compile(r"<(?=[A-Za-z/!?])")
_REFERENCE: Final = re.compile(r"&(?=(?:amp|lt|gt);)")
_REFERENCES: Final = re.compile(r"&(amp|lt|gt);")
_CHARACTERS: Final = {"amp": "&", "lt": "<", "gt": ">"}
# A heading, a fence, or the definition of a link, which is not displayed at all.
_BLOCK: Final = r"\\*(?:#|`{3}|~{3}|\[[^\]]*\]:)"
_BEGINS_BLOCK: Final = re.compile(_BLOCK)
_ESCAPED_BLOCK: Final = re.compile(r"\\" + _BLOCK)


@dataclass(frozen=True, slots=True)
class Shown:
    """How a memory's text is shown.

    Attributes:
        text: The text of its bullet, escaped, on one line; empty when nothing of it can be seen.
        is_shortened: Whether something is missing at its end.
    """

    text: str
    is_shortened: bool


def shown(content: str) -> Shown:
    r"""Put a text on one line.

    >>> shown("Use pnpm,\nnot npm <!-- why? -->")
    Shown(text='Use pnpm, not npm &lt;!-- why? --&gt;', is_shortened=False)
    """
    plain = plain_line(content)
    if len(plain) <= LONGEST:
        return Shown(escaped(plain), is_shortened=False)
    return Shown(escaped(f"{plain[: _end(plain)].rstrip()} {ELLIPSIS}"), is_shortened=True)


def plain_line(text: str) -> str:
    """Put a text on one line, blanks folded, without what nobody sees."""
    return " ".join(_HIDDEN.sub("", one_line(text)).split())


def one_line(text: str) -> str:
    """Fold all blanks of a text, line ends included."""
    return " ".join(text.split())


def escaped(line: str) -> str:
    """Escape a line of text so that it stays within its bullet."""
    text = _REFERENCE.sub("&amp;", line).replace("<!--", "&lt;!--").replace("-->", "--&gt;")
    text = _outside_code(text)
    return f"\\{text}" if _BEGINS_BLOCK.match(text) else text


def unescaped(text: str) -> str:
    """Return the text that was escaped."""
    text = text[1:] if _ESCAPED_BLOCK.match(text) else text
    return _REFERENCES.sub(lambda match: _CHARACTERS[match[1]], text)


def digest(text: str) -> str:
    """Return a few characters by which an edit of a bullet's text is noticed."""
    return hashlib.sha256(one_line(text).encode()).hexdigest()[:_DIGEST_CHARACTERS]


def ends_shortened(text: str) -> bool:
    """Say whether a text still ends as shortened ones do."""
    return text.rstrip().endswith((ELLIPSIS, "..."))


def _outside_code(text: str) -> str:
    """Escape what would open a tag. In a code span it opens none, and would not be readable escaped."""
    if "\\`" in text:  # What is code then depends on more than we look at.
        return _OPENS_TAG.sub("&lt;", text)
    parts: list[str] = []
    end = 0
    for code in _CODE.finditer(text):
        parts += [_OPENS_TAG.sub("&lt;", text[end : code.start()]), code[0]]
        end = code.end()
    return "".join(parts) + _OPENS_TAG.sub("&lt;", text[end:])


def _end(plain: str) -> int:
    """Return where to cut a text that is too long: before a word, or else not within a character."""
    most = LONGEST - 2  # A blank and the ellipsis follow.
    word = plain.rfind(" ", 0, most + 1)
    if word > most // 2:
        return word
    end = most
    while end > 1 and unicodedata.combining(plain[end]):
        end -= 1
    return end
