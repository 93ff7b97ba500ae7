"""Parser of the model's answer: strict JSON, and each item validated on its own.

An invalid item does not affect the others. An answer that is not JSON of the agreed form is rejected as a whole.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from opencode_memory.http_client.strict_json import parse_json
from opencode_memory.learning.digest.prompt import (
    KINDS,
    MOST_ITEMS,
    MOST_QUOTE,
    MOST_SUMMARY_LINE,
    MOST_TEXT,
    SUMMARY_KEYS,
)
from opencode_memory.learning.digest.report import DroppedItem, DropReason
from opencode_memory.learning.extraction.candidate import shorten
from opencode_memory.models import Category

_FENCE: Final = re.compile(r"```[a-z]*[ \t]*\n(?P<inside>.*)\n[ \t]*```", re.DOTALL | re.IGNORECASE)
_THOUGHT: Final = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL | re.IGNORECASE)
_OBJECT: Final = re.compile(r"\{.*\}", re.DOTALL)
_SHOWN: Final = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One statement of the model.

    Attributes:
        kind: Category that the model gave it; ``directive`` is checked later.
        text: The statement, on one line.
        quote: The words that the model quotes as its proof.
        message: Number of the message with the quote, from 1, or its id; None if the model named none.
        supersedes: Short ids of the memories that it replaces.
    """

    kind: Category
    text: str
    quote: str
    message: int | str | None
    supersedes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DigestAnswer:
    """A parsed answer.

    Attributes:
        items: Valid items, in order.
        dropped: Invalid items.
        summary: What was done, decided and left open; parts without text are missing.
    """

    items: tuple[Item, ...]
    dropped: tuple[DroppedItem, ...]
    summary: dict[str, str]


def parse_answer(text: str) -> DigestAnswer:
    """Parse an answer.

    Args:
        text: JSON; a code fence, a sentence around it, or a thought before it are allowed.

    Raises:
        ValueError: The text has no JSON object of the agreed form.
    """
    match _find_object(_THOUGHT.sub("", text)):
        case {"items": list(written_items), **rest}:
            pass
        case _:
            raise ValueError("not an object with a list of items")
    items: list[Item] = []
    dropped: list[DroppedItem] = []
    for number, written in enumerate(written_items):
        read = DropReason.TOO_MANY if number >= MOST_ITEMS else _read_item(written)
        if isinstance(read, Item):
            items.append(read)
        else:
            dropped.append(DroppedItem(text=_show(written), reason=read))
    return DigestAnswer(items=tuple(items), dropped=tuple(dropped), summary=_read_summary(rest.get("summary")))


def _find_object(text: str) -> Any:
    fenced = _FENCE.search(text)
    for attempt in (text, fenced["inside"] if fenced else "", *_OBJECT.findall(text)):
        try:
            return parse_json(attempt)
        except ValueError:
            continue
    raise ValueError("not JSON")


def _read_item(written: Any) -> Item | DropReason:
    match written:
        case {"kind": str(kind), "text": str(text), "quote": str(quote)}:
            pass
        case _:
            return DropReason.MALFORMED
    message, supersedes = written.get("message"), written.get("supersedes")
    if isinstance(supersedes, str):
        supersedes = [supersedes]
    if (
        isinstance(message, bool)
        or not isinstance(message, int | str | None)
        or not isinstance(supersedes, list | None)
        or not all(isinstance(name, str) for name in supersedes or ())
    ):
        return DropReason.MALFORMED
    kind = kind.strip().lower()
    if kind not in KINDS:
        return DropReason.KIND
    text, quote = " ".join(text.split()), " ".join(quote.split())
    # Control characters, lone surrogates and marks that change the direction of text are not printable.
    if not text or not quote or not text.isprintable():
        return DropReason.MALFORMED
    if len(text) > MOST_TEXT or len(quote) > MOST_QUOTE:
        return DropReason.TOO_LONG
    return Item(
        kind=Category(kind), text=text, quote=quote, message=message, supersedes=tuple(dict.fromkeys(supersedes or ()))
    )


def _read_summary(written: Any) -> dict[str, str]:
    parts = written if isinstance(written, dict) else {}
    lines = {key: _join(parts.get(key)) for key in SUMMARY_KEYS}
    return {key: shorten(line, MOST_SUMMARY_LINE) for key, line in lines.items() if line}


def _join(written: Any) -> str:
    if isinstance(written, list):
        written = "; ".join(part for part in written if isinstance(part, str))
    if not isinstance(written, str):
        return ""
    return "".join(letter if letter.isprintable() else " " for letter in written).strip()


def _show(written: Any) -> str:
    text = written.get("text") if isinstance(written, dict) else None
    return shorten(text, _SHOWN) if isinstance(text, str) else ""
