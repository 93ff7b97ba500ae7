"""The file of one memory: a head of a few keys between ``---`` lines, then the text.

The head belongs to the user as much as to us. A line is replaced only if its key is ours and its value changed; other
keys, comments, their order and the line ends stay. Values are read as plain text and never evaluated.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from opencode_memory.errors import ConflictError
from opencode_memory.models import Category, Memory
from opencode_memory.text.front_matter import parse_value, split_labels
from opencode_memory.text.suggest import did_you_mean

MOST_BYTES: Final = 1 << 20
FENCE: Final = "---"
_MOST_HEAD_LINES: Final = 200
_MOST_HEAD_CHARACTERS: Final = 16_384
_KEY: Final = re.compile(r"[A-Za-z][\w-]{0,40}")
_ITEM: Final = re.compile(r"\s*-\s")
_PERSONAL: Final = frozenset({"pinned", "by"})
_OURS: Final = ("id", "category", "tags", "pinned", "date", "by")
_YES: Final = frozenset({"true", "yes", "on", "1"})
_NO: Final = frozenset({"false", "no", "off", "0", ""})
_UNMERGED: Final = ("<<<<<<< ", ">>>>>>> ")
_PLAIN: Final = re.compile(r"[\w./@-][\w ./@-]*")
_ENCODINGS: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fields:
    r"""The fields of a memory that a user may change in its file.

    Attributes:
        content: The text, without blanks around it and with ``\n`` as line end.
        category: The category; None if the file names none.
        tags: The labels.
        pinned: Whether it is pinned.
    """

    content: str
    category: str | None
    tags: tuple[str, ...]
    pinned: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A parsed file.

    Attributes:
        bom: The byte order mark, or nothing.
        head: The lines between the fences, without line ends; None if there is no head.
        body: The text behind the head, verbatim.
        newline: The line end of the head.
        id: The id in the head, as written; empty if there is none.
        fields: The fields.
    """

    bom: str
    head: tuple[str, ...] | None
    body: str
    newline: str
    id: str
    fields: Fields

    def with_memory(self, memory: Memory, *, is_shared: bool = False) -> bytes:
        """Return the file with the fields of a memory; what is the same stays as it is written.

        Args:
            memory: The memory.
            is_shared: Whether to leave out what is only true for the user: the pin, and the origin of the memory.
        """
        head = list(self.head) if self.head is not None else []
        for key, wanted in _values_of(memory).items():
            if not is_shared or key not in _PERSONAL:
                _set(head, key, wanted)
        content = normalize(memory.content)
        is_same = self.fields.content == content
        body = self.body if is_same and self.head is not None else f"{self.newline}{_with(content, self.newline)}"
        if is_same and self.head is None:
            body = self.newline + self.body.lstrip("\r\n")
        lines = [FENCE, *head, FENCE]
        return (self.bom + "".join(f"{line}{self.newline}" for line in lines) + body).encode()


EMPTY: Final = Page(
    bom="",
    head=(),
    body="",
    newline="\n",
    id="",
    fields=Fields(content="", category=None, tags=(), pinned=False),
)
"""A file that is to be created."""


def fields_of(memory: Memory) -> Fields:
    """Return the fields of a memory, as its file shows them."""
    return Fields(
        content=normalize(memory.content), category=memory.category.value, tags=memory.tags, pinned=memory.pinned
    )


def normalize(text: str) -> str:
    r"""Return a text as it is compared: with ``\n`` as line end and without blanks around it."""
    return text.replace("\r\n", "\n").strip()


def read_page(data: bytes) -> Page:
    """Parse a file.

    Raises:
        ConflictError: It is not UTF-8, holds an unresolved merge, or its head is damaged; the message says what to do.
    """
    if b"\0" in data or data.startswith(_ENCODINGS):
        raise ConflictError("it is not text in UTF-8; save it as UTF-8")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ConflictError(f"byte {error.start + 1} is not UTF-8; save the file as UTF-8") from error
    bom = "\ufeff" if text.startswith("\ufeff") else ""
    text = text[len(bom) :]
    newline = "\r\n" if "\r\n" in text.partition("\n")[0] + "\n" else "\n"
    if all(any(line.startswith(mark) for line in text.split("\n")) for mark in _UNMERGED):
        raise ConflictError("it holds a merge that is not resolved; resolve it first")
    head, body = _split(text)
    values = {} if head is None else _read_head(head)
    fields = Fields(
        content=normalize(body),
        category=_category(values.get("category")),
        tags=split_labels(values.get("tags", ())),
        pinned=_flag(values.get("pinned"), "pinned"),
    )
    id_ = values.get("id", "")
    return Page(bom=bom, head=head, body=body, newline=newline, id=id_ if isinstance(id_, str) else "", fields=fields)


def _split(text: str) -> tuple[tuple[str, ...] | None, str]:
    """Return the lines of the head and the text behind it.

    Raises:
        ConflictError: The head does not end, or is too large.
    """
    first, _, rest = text.partition("\n")
    if first.rstrip() != FENCE:
        return None, text
    head: list[str] = []
    size = 0
    while rest:
        line, found, rest = rest.partition("\n")
        line = line.removesuffix("\r")
        if line.rstrip() == FENCE:
            return tuple(head), rest
        head.append(line)
        size += len(line)
        if len(head) > _MOST_HEAD_LINES or size > _MOST_HEAD_CHARACTERS or not found:
            break
    raise ConflictError(
        f"its head has no end within {_MOST_HEAD_LINES} lines; end it with a line of ---, or remove its first line"
    )


def _read_head(head: Sequence[str]) -> dict[str, str | list[str]]:
    """Return the values of our keys; of a key that is given twice, the first."""
    values: dict[str, str | list[str]] = {}
    for at, line in enumerate(head):
        key = _key_of(line)
        if key not in _OURS or key in values:
            continue
        written = line.partition(":")[2].strip()
        items = [parse_value(item.strip()[1:]) for item in head[at + 1 : _end(head, at)]]
        is_list = bool(items) and not written
        values[key] = [item for item in items if isinstance(item, str)] if is_list else parse_value(written)
    return values


def _key_of(line: str) -> str:
    """Return the key of a line; empty if the line has none."""
    key, colon, _ = line.partition(":")
    return key.rstrip().lower() if colon and _KEY.fullmatch(key.rstrip()) else ""


def _end(head: Sequence[str], at: int) -> int:
    """Return the end of a key's lines: behind the items of its list."""
    end = at + 1
    while end < len(head) and _ITEM.match(head[end]):
        end += 1
    return end


def _set(head: list[str], key: str, wanted: str | tuple[str, ...] | None) -> None:
    """Set the value of a key, or remove the key."""
    at = next((place for place, line in enumerate(head) if _key_of(line) == key), None)
    if at is not None:
        written = _read_head(head[at : _end(head, at)]).get(key, "")
        same = split_labels(written) == (wanted or ()) if key == "tags" else written == (wanted or "")
        if key == "pinned":
            same = (str(written).lower() in _YES) == (wanted is not None)
        if not same:
            head[at : _end(head, at)] = [] if wanted is None else [_line(key, wanted)]
    elif wanted is not None:
        before = [place for place, line in enumerate(head) if _key_of(line) in _OURS[: _OURS.index(key)]]
        head.insert(_end(head, before[-1]) if before else 0, _line(key, wanted))


def _line(key: str, value: str | tuple[str, ...]) -> str:
    return f"{key}: {value}" if isinstance(value, str) else f"{key}: [{', '.join(map(_quote, value))}]"


def _quote(label: str) -> str:
    """Quote a label if it would be read as something else."""
    if _PLAIN.fullmatch(label) and label == label.strip():
        return label
    return '"' + " ".join(label.replace('"', "'").replace(",", " ").split()) + '"'


def _values_of(memory: Memory) -> Mapping[str, str | tuple[str, ...] | None]:
    return {
        "id": memory.id,
        "category": memory.category.value,
        "tags": memory.tags or None,
        "pinned": "true" if memory.pinned else None,
        "date": memory.time.date().isoformat(),
        "by": memory.trust.value,
    }


def _with(content: str, newline: str) -> str:
    return f"{content}\n".replace("\n", newline)


def _category(value: str | list[str] | None) -> str | None:
    if value is None or value == "":
        return None
    name = value.lower() if isinstance(value, str) else ""
    names = [category.value for category in Category]
    if name not in names:
        raise ConflictError(f"category {str(value)[:40]!r} does not exist; {did_you_mean(str(value)[:40], names)}")
    return name


def _flag(value: str | list[str] | None, key: str) -> bool:
    name = value.lower() if isinstance(value, str) else "" if value is None else "?"
    if name not in _YES | _NO:
        raise ConflictError(f"{key} is {str(value)[:40]!r}; write true or false")
    return name in _YES
