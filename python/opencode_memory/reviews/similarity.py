"""Decides when two wordings are the same finding, because reviews word a finding differently each time and lines move.

Case, punctuation and line numbers do not matter; words, numbers and signs do. A finding that is listed twice is better
than one that is lost.
"""

from __future__ import annotations

import posixpath
import re
import unicodedata
from typing import Final

from opencode_memory.errors import InvalidInputError
from opencode_memory.store import arguments

_FILE_CHARACTERS: Final = 512
_FILE_AND_LINE: Final = re.compile(r"(?P<path>.*[^:\d]):(?P<line>\d{1,9})(?::\d+)?(?:-\d+)?", re.DOTALL)
_LINES: Final = re.compile(
    r"\b(?:(?:at|in|on|near|around|from)\s+)?\b(?:lines?|ln\.?)\s*#?\d+(?:\s*(?:-|to|and)\s*\d+)*"
    r"|(?<=[#(])l\d+(?:-l?\d+)?\b"
)
_LINE_BEHIND: Final = r"(?::\d+){1,2}(?:-\d+)?\b"
# Signs change the meaning of the same words: -1 and 1, a != b and a == b, !ok and ok.
_WORDS: Final = re.compile(r"(?<![\w)])-\d+|\w+|(?<!\S)\*+(?!\S)|[+/=<>&|^%~]+|!(?=[\w=])")


def same_words(text: str, *, file: str = "") -> str:
    """Return the words and signs of a finding, without case, punctuation and lines.

    >>> same_words("Line 12: `total` is never reset!") == same_words("total is never reset (line 40)")
    True

    Args:
        text: A wording.
        file: The file of the finding; a line number behind its name is removed, too.
    """
    plain = unicodedata.normalize("NFKC", text).casefold()
    if name := posixpath.basename(file):
        plain = re.sub(rf"({re.escape(name.casefold())}){_LINE_BEHIND}", r"\1", plain)
    return " ".join(_WORDS.findall(_LINES.sub(" ", plain))) or " ".join(plain.split())


def file_and_line(file: object) -> tuple[str, int | None]:
    """Return the path of a file in its canonical form, and the line number behind it."""
    given = arguments.text(file, field="file").strip().strip("`").replace("\\", "/")
    if "\0" in given or len(given) > _FILE_CHARACTERS:
        raise InvalidInputError(
            f"file: must be a path of at most {_FILE_CHARACTERS} characters", field="file", limit=str(_FILE_CHARACTERS)
        )
    match = _FILE_AND_LINE.fullmatch(given)
    path, line = (given, None) if match is None else (match["path"], int(match["line"]))
    normal = posixpath.normpath(path) if path else ""
    return ("" if normal == "." else normal), line or None
