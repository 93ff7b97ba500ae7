"""An issue, a merge request or an epic: the parts that are kept of it, and the fact that states them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from opencode_memory._core import redact
from opencode_memory.entities.forge import are_parts
from opencode_memory.text.display import one_line
from opencode_memory.text.unicode import replace_surrogates

_TITLE_BYTES: Final = 300
_NAME_BYTES: Final = 80
_MOST_LABELS: Final = 20
_NAME: Final = re.compile(r"(?P<host>[^/!#&@]+)/(?P<path>[^!#&@]+)(?P<sign>[!#&])(?P<number>[1-9][0-9]{0,9})")
_LONGEST_NAME: Final = 400


class ItemKind(StrEnum):
    """Kind of an item."""

    ISSUE = "issue"
    PULL_REQUEST = "pull request"
    MERGE_REQUEST = "merge request"
    EPIC = "epic"


class ItemState(StrEnum):
    """State of an item."""

    OPEN = "open"
    CLOSED = "closed"
    MERGED = "merged"


@dataclass(frozen=True, slots=True)
class Reference:
    """The place of an item.

    Attributes:
        host: ``gitlab.com``.
        path: ``group/project``; of an epic the group.
        sign: ``#``, ``!`` or ``&``.
        number: Its number.
    """

    host: str
    path: str
    sign: str
    number: int

    @property
    def name(self) -> str:
        """The canonical name: ``gitlab.com/group/project#12``."""
        return f"{self.host}/{self.path}{self.sign}{self.number}"


def parse_reference(name: str) -> Reference | None:
    """Read the canonical name of an entity; None if it names no item of a forge.

    >>> parse_reference("gitlab.com/acme/shop!12")
    Reference(host='gitlab.com', path='acme/shop', sign='!', number=12)
    """
    match = _NAME.fullmatch(name) if len(name) <= _LONGEST_NAME else None
    if match is None or not are_parts(match["path"].split("/")):
        return None
    return Reference(match["host"], match["path"], match["sign"], int(match["number"]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """The parts of an item that are kept.

    Attributes:
        kind: Its kind.
        title: Its title on one line, with secrets redacted.
        state: Its state.
        labels: Its labels, at most 20.
        author: Name of the user who wrote it; None if the account is gone.
    """

    kind: ItemKind
    title: str
    state: ItemState
    labels: tuple[str, ...] = ()
    author: str | None = None

    @property
    def is_done(self) -> bool:
        """Whether it is closed or merged."""
        return self.state is not ItemState.OPEN

    def describe(self, name: str) -> str:
        """State the item in one sentence."""
        about = [f"labels: {', '.join(self.labels)}"] if self.labels else []
        about += [f"author: @{self.author}"] if self.author else []
        return f'{self.kind.capitalize()} {name} is {self.state}: "{self.title}"' + (
            f" ({'; '.join(about)})" if about else ""
        )

    def to_json(self) -> dict[str, Any]:
        """Return the item as JSON values."""
        return {
            "kind": self.kind.value,
            "title": self.title,
            "state": self.state.value,
            "labels": list(self.labels),
            "author": self.author,
        }


def make_item(kind: ItemKind, title: str, state: ItemState, labels: Iterable[object], author: object) -> Item:
    """Build an item from the texts of a forge, which anyone may have written."""
    names = [_clean(label, _NAME_BYTES) for label in labels if isinstance(label, str) and label.strip()]
    return Item(
        kind=kind,
        title=_clean(title, _TITLE_BYTES),
        state=state,
        labels=tuple(names[:_MOST_LABELS]),
        author=_clean(author, _NAME_BYTES) if isinstance(author, str) and author.strip() else None,
    )


def parse_item(value: object) -> Item | None:
    """Read what ``Item.to_json`` returned; None for any other value."""
    match value:
        case {"kind": str(kind), "title": str(title), "state": str(state), "labels": list(labels), "author": author}:
            try:
                return make_item(ItemKind(kind), title, ItemState(state), labels, author)
            except ValueError:
                return None
    return None


def _clean(text: str, most_bytes: int) -> str:
    # Redact before cutting, because half a secret is no longer recognised.
    return one_line(redact(replace_surrogates(text))[0], most_bytes).replace('"', "'")
