"""A memory's text on one line, and back.

The shown text is plain: one line, no invisible characters, and short enough to read. It is escaped so that it cannot
start or end a comment, which would break our marks, nor begin a block or an HTML tag. Escaping is undone exactly:
``unescape(escape(text)) == text`` for every line.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from dataclasses import dataclass
from datetime import date
from typing import Final

from opencode_memory.memory_file.third_person import third_person

LONGEST: Final = 240
"""Characters of a text that are shown; a longer one is shortened at a word."""

ELLIPSIS: Final = "…"
_LONGEST_BEFORE: Final = 80
_LONGEST_LATER: Final = 160
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
# A heading, a fence, or a link definition, which would not be displayed.
_BLOCK: Final = r"\\*(?:#|`{3}|~{3}|\[[^\]]*\]:)"
_BEGINS_BLOCK: Final = re.compile(_BLOCK)
_ESCAPED_BLOCK: Final = re.compile(r"\\" + _BLOCK)


@dataclass(frozen=True, slots=True)
class Shown:
    """The visible form of a memory's text.

    Attributes:
        text: The text of its bullet, escaped, on one line; empty if no part of it is visible.
        is_shortened: Whether its end is missing.
    """

    text: str
    is_shortened: bool


def render_text(content: str) -> Shown:
    r"""Put a text on one line.

    >>> render_text("Use pnpm,\nnot npm <!-- why? -->")
    Shown(text='Use pnpm, not npm &lt;!-- why? --&gt;', is_shortened=False)
    """
    plain = show_line(content)
    if len(plain) <= LONGEST:
        return Shown(escape(plain), is_shortened=False)
    return Shown(escape(f"{plain[: _end(plain)].rstrip()} {ELLIPSIS}"), is_shortened=True)


def render_note(day: date, before: str = "", later: str = "") -> str:
    """Render what stands behind the mark of a bullet: a day, what was said later, and the statement before.

    >>> render_note(date(2026, 3, 1), "The database is SQLite")
    '*(2026-03-01; before: The database is SQLite)*'
    >>> render_note(date(2026, 3, 1), later="Forget the rule about pnpm.")
    '*(2026-03-01; said later: Forget the rule about pnpm.)*'
    """
    said = _render_part("said later", later, _LONGEST_LATER) + _render_part("before", before, _LONGEST_BEFORE)
    return f"*({day.isoformat()}{said})*"


def _render_part(name: str, text: str, most: int) -> str:
    plain = third_person(plain_line(text))
    if len(plain) > most:
        end = plain.rfind(" ", 0, most)
        plain = f"{plain[: end if end > 0 else most]} {ELLIPSIS}"
    # The note ends at the first parenthesis with an asterisk.
    return f"; {name}: {escape(plain).replace(')*', ') *')}" if plain else ""


def show_line(content: str) -> str:
    """Put a memory's text on one line, in the third person, neither shortened nor escaped."""
    return third_person(plain_line(content))


def plain_line(text: str) -> str:
    """Put a text on one line, with folded blanks and without invisible characters."""
    return " ".join(_HIDDEN.sub("", one_line(text)).split())


def one_line(text: str) -> str:
    """Fold all blanks of a text, including line ends."""
    return " ".join(text.split())


def escape(line: str) -> str:
    """Escape a line of text so that it stays within its bullet."""
    text = _REFERENCE.sub("&amp;", line).replace("<!--", "&lt;!--").replace("-->", "--&gt;")
    text = _outside_code(text)
    return f"\\{text}" if _BEGINS_BLOCK.match(text) else text


def unescape(text: str) -> str:
    """Undo ``escape``."""
    text = text[1:] if _ESCAPED_BLOCK.match(text) else text
    return _REFERENCES.sub(lambda match: _CHARACTERS[match[1]], text)


def digest(text: str) -> str:
    """Return a short digest that tells whether a bullet's text was edited."""
    return hashlib.sha256(one_line(text).encode()).hexdigest()[:_DIGEST_CHARACTERS]


def ends_shortened(text: str) -> bool:
    """Return whether a text still ends as shortened texts do."""
    return text.rstrip().endswith((ELLIPSIS, "..."))


def _outside_code(text: str) -> str:
    """Escape characters that would open a tag. A code span opens none, and would not be readable escaped."""
    if "\\`" in text:  # Whether the rest is code then depends on lines that are not known here.
        return _OPENS_TAG.sub("&lt;", text)
    parts: list[str] = []
    end = 0
    for code in _CODE.finditer(text):
        parts += [_OPENS_TAG.sub("&lt;", text[end : code.start()]), code[0]]
        end = code.end()
    return "".join(parts) + _OPENS_TAG.sub("&lt;", text[end:])


def _end(plain: str) -> int:
    """Return the position at which to cut a long text: before a word, or else between two characters."""
    most = LONGEST - 2  # Leave room for a blank and the ellipsis.
    word = plain.rfind(" ", 0, most + 1)
    if word > most // 2:
        return word
    end = most
    while end > 1 and unicodedata.combining(plain[end]):
        end -= 1
    return end
