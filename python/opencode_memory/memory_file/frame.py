"""The file around the managed part.

All text before the begin mark and after the end mark belongs to the user and stays byte for byte: byte order mark, line
ends, and a missing end of the last line. A file with invalid marks, or that is not UTF-8, is refused with the reason
and a way to repair it.
"""

from __future__ import annotations

import codecs
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from opencode_memory.errors import ConflictError

VERSION: Final = 2
TITLE: Final = "# Project memory"
END: Final = "<!-- opencode-memory:end -->"
_FINGERPRINT_CHARACTERS: Final = 16
_NOTE: Final = (
    "kept up to date by opencode-memory; bullets that you add, edit, move or delete down to the end mark change your "
    "memories, and what stands outside is left alone"
)
_ANY_MARK: Final = re.compile(r"\ufeff?\s*<!--\s*opencode-memory:(?P<which>begin|end)\b")
_BEGIN: Final = re.compile(
    r"(?P<bom>\ufeff?) {0,3}<!--\s*opencode-memory:begin\s+v(?P<version>\d{1,6})"
    rf"(?:\s+(?P<fingerprint>[0-9a-f]{{{_FINGERPRINT_CHARACTERS}}}))?(?:\s[^<>]*)?-->\s*"
)
_END: Final = re.compile(r" {0,3}<!--\s*opencode-memory:end\s*-->\s*")
_UNMERGED: Final = ("<<<<<<< ", ">>>>>>> ")
_ENCODINGS: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_MEND: Final = "restore the two marks, or delete both and what is between them to have the part written anew"


@dataclass(frozen=True, slots=True)
class Frame:
    """A file, split at the marks.

    Attributes:
        before: The text before the managed part.
        after: The text after it, with the end of its last line.
        body: The lines between the marks; None if the file has no managed part.
        fingerprint: The fingerprint in the begin mark; empty if there is none.
        newline: The line end.
    """

    before: str
    after: str
    body: tuple[str, ...] | None
    fingerprint: str
    newline: str

    def with_body(self, body: Sequence[str], foreign: Sequence[str] = ()) -> bytes:
        """Return the file with another managed part.

        Args:
            body: The lines between the marks.
            foreign: Other lines found there; they move behind the part.
        """
        lines = [begin(body), *body, END]
        moved = "".join(f"{self.newline}{line}" for line in ["", *foreign]) if foreign else ""
        return (self.before + self.newline.join(lines) + moved + self.after).encode()

    def with_edited_body(self, body: Sequence[str]) -> bytes:
        """Return the file with an edited part. The begin mark still names the version that was written last."""
        opening = begin(body, version=self.fingerprint)
        return (self.before + self.newline.join([opening, *body, END]) + self.after).encode()


NEW: Final = Frame(before=f"{TITLE}\n\n", after="\n", body=None, fingerprint="", newline="\n")
"""A file that is to be created."""


def fingerprint(body: Sequence[str]) -> str:
    """Return the fingerprint of a version of the managed part; it does not depend on the line ends."""
    return hashlib.sha256("\n".join(body).encode()).hexdigest()[:_FINGERPRINT_CHARACTERS]


def begin(body: Sequence[str], *, version: str = "") -> str:
    """Render the begin mark of a managed part, with the fingerprint of another version if one is given."""
    return f"<!-- opencode-memory:begin v{VERSION} {version or fingerprint(body)} {_NOTE} -->"


def read_frame(data: bytes) -> Frame:
    """Split a file at its marks.

    Raises:
        ConflictError: It is not UTF-8, its marks are invalid, or it contains an unresolved merge.
    """
    text = _decode(data)
    lines = text.split("\n")
    newline = "\r\n" if 2 * text.count("\r\n") > text.count("\n") else "\n"
    marks = [(at, match["which"]) for at, line in enumerate(lines) if (match := _ANY_MARK.match(line))]
    if not marks:
        gap = "" if not text.strip("\ufeff") else newline if text.endswith("\n") else 2 * newline
        return Frame(text + gap, newline, None, "", newline)
    first, last = _find_part(marks)
    opening = _BEGIN.fullmatch(lines[first])
    if opening is None or not _END.fullmatch(lines[last]):
        at = first if opening is None else last
        raise ConflictError(f"line {at + 1}, one of the marks of the managed part, is damaged; {_MEND}")
    if int(opening["version"]) > VERSION:
        raise ConflictError("the managed part was written by a newer version of opencode-memory; upgrade this one")
    for at in range(first + 1, last):
        if lines[at].startswith(_UNMERGED):
            raise ConflictError(f"line {at + 1} belongs to a merge that is not resolved; resolve it first")
    behind = lines[last + 1 :]
    carriage_return = "\r" if lines[last].endswith("\r") else ""
    return Frame(
        before="".join(f"{line}\n" for line in lines[:first]) + opening["bom"],
        after=carriage_return + "".join(f"\n{line}" for line in behind),
        body=tuple(line.removesuffix("\r") for line in lines[first + 1 : last]),
        fingerprint=opening["fingerprint"] or "",
        newline="\r\n" if lines[first].endswith("\r") else "\n",
    )


def _decode(data: bytes) -> str:
    if b"\0" in data or data.startswith(_ENCODINGS):
        raise ConflictError("it is not text in UTF-8; save it as UTF-8 to have it kept up to date")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ConflictError(
            f"byte {error.start + 1} is not UTF-8; save the file as UTF-8 to have it kept up to date"
        ) from error


def _find_part(marks: Sequence[tuple[int, str]]) -> tuple[int, int]:
    """Return the lines of the begin mark and of the end mark.

    Raises:
        ConflictError: One is missing, there are several, or they are in the wrong order.
    """
    for which in ("begin", "end"):
        lines = [at + 1 for at, found in marks if found == which]
        if not lines:
            raise ConflictError(f"the {which} mark of the managed part is missing; {_MEND}")
        if len(lines) > 1:
            where = ", ".join(str(line) for line in lines)
            raise ConflictError(f"the {which} mark of the managed part stands on several lines ({where}); {_MEND}")
    (first, which), (last, _) = marks
    if which == "end":
        raise ConflictError(f"the end mark (line {first + 1}) stands before the begin mark (line {last + 1}); {_MEND}")
    return first, last
