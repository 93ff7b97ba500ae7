"""Documents: JSON with a version, written several at a time or not at all. Plans and loops are made of them.

A writer names the version that it has read. If another writer was faster, nothing is written, and the writer reads
again. So two processes never both carry out the same step.
"""

from __future__ import annotations

import builtins
import json
import shlex
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from opencode_memory.errors import CorruptStoreError, NotFoundError
from opencode_memory.store import arguments
from opencode_memory.text.problems import describe_first

if TYPE_CHECKING:
    from opencode_memory._core import Engine

_SHOWN: Final = 64
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A document.

    Attributes:
        kind: Its kind, for example ``plan``.
        name: Its name, unique in its kind.
        project: Its project; None if it has none.
        version: 1 when it is created, and one more with each change.
        created_at: The time it was created.
        updated_at: The time it was last changed.
        text: Its JSON. It is parsed when it is used, so that a damaged document hides no others of its kind.
    """

    kind: str
    name: str
    project: str | None
    version: int
    created_at: datetime
    updated_at: datetime
    text: str

    @property
    def body(self) -> Any:
        """Its JSON value.

        Raises:
            CorruptStoreError: Its text is no JSON, or is nested too deeply.
        """
        try:
            return json.loads(self.text)
        except (ValueError, RecursionError) as error:
            raise CorruptStoreError(f"the {self.kind} {self.name} is damaged: its record is no JSON") from error

    @property
    def project_option(self) -> str:
        """The option of commands that names its project, after a space; empty if it has none."""
        return "" if self.project is None else f" -p {shlex.quote(self.project)}"

    def read(self, convert: Callable[[Document], _T]) -> _T:
        """Convert the document to what it describes.

        Args:
            convert: Its conversion.

        Raises:
            CorruptStoreError: The record is damaged, or a newer version has written it.
        """
        from pydantic import ValidationError  # noqa: PLC0415  only plans and loops need it

        try:
            return convert(self)
        except ValidationError as error:
            _, problem = describe_first(error, "body")
        except (ValueError, TypeError, LookupError) as error:
            problem = str(error)
        raise CorruptStoreError(f"the {self.kind} {self.name} is damaged: {problem}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Damaged:
    """A document that cannot be read.

    Attributes:
        document: The document.
        problem: A sentence that names it and says why.
    """

    document: Document
    problem: str


def sort_out(
    documents: Iterable[Document], convert: Callable[[Document], _T]
) -> tuple[builtins.list[_T], builtins.list[Damaged]]:
    """Return what documents describe, and those that cannot be read."""
    readable, damaged = [], []
    for document in documents:
        try:
            readable.append(document.read(convert))
        except CorruptStoreError as error:
            damaged.append(Damaged(document=document, problem=str(error)))
    return readable, damaged


@dataclass(frozen=True, slots=True, kw_only=True)
class Matches(Generic[_T]):
    """The documents of a kind that a text of the user may mean.

    Attributes:
        readable: What those describe that can be read.
        damaged: The others.
    """

    readable: builtins.list[_T]
    damaged: builtins.list[Damaged]

    @property
    def only_damaged(self) -> Damaged | None:
        """The damaged document, if the text means it and no other."""
        return self.damaged[0] if len(self.damaged) == 1 and not self.readable else None

    def get_only(self, text: str, *, kind: str, repair: Callable[[Document], str], hint: str) -> _T:
        """Return what the only document describes.

        Args:
            text: The text of the user.
            kind: The kind of the documents, for messages.
            repair: Returns what the user can do about a damaged document.
            hint: How the user finds the names.

        Raises:
            NotFoundError: The text means no document, or several.
            CorruptStoreError: The only document is damaged.
        """
        if len(self.readable) == 1 and not self.damaged:
            return self.readable[0]
        if (damaged := self.only_damaged) is not None:
            unreadable = CorruptStoreError(damaged.problem)
            unreadable.hint = repair(damaged.document)
            raise unreadable
        problem = f"are several {kind}s" if self.readable or self.damaged else f"is no {kind}"
        error = NotFoundError(f"there {problem} {text[:_SHOWN]!r} in this project", id=text.strip().lower()[:_SHOWN])
        error.hint = hint
        raise error


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A change of a document.

    Attributes:
        kind: The kind of the document.
        name: Its name.
        expected: The version that the writer has read; 0 if there was no document.
        body: Its new JSON value; None to write none.
        project: Its project; only a new document takes it.
        deletes: Whether to delete it. Without this and without a body, the change only requires the version.
    """

    kind: str
    name: str
    expected: int
    body: Any = None
    project: str | None = None
    deletes: bool = False


class Documents:
    """The documents of a store; ``MemoryStore.documents`` is one."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def write(self, changes: Iterable[Change]) -> builtins.list[int]:
        """Write several documents or none, and return their new versions; 0 for a deleted one.

        Raises:
            ConflictError: A document has another version than its change expects. Nothing was written.
            InvalidInputError: A name or a body is invalid, or a body has more than 1 MiB.
        """
        rows = []
        for change in changes:
            body = None if change.body is None else arguments.json_text(change.body, field="body")
            rows.append((change.kind, change.name, change.project, change.expected, change.deletes, body))
        return self._engine.write_documents(rows)

    def get(self, kind: str, name: str) -> Document | None:
        """Return a document; None if there is none."""
        found = self._engine.document(kind, name)
        return None if found is None else _to_document(found)

    def list(self, kind: str, *, prefix: str = "", project: str | None = None) -> builtins.list[Document]:
        """Return the documents of a kind whose name starts with ``prefix``, ordered by name.

        Args:
            kind: Their kind.
            prefix: Start of their names.
            project: Their project; None for all.
        """
        return [_to_document(found) for found in self._engine.documents(kind, prefix, project)]


def _to_document(found: dict[str, Any]) -> Document:
    return Document(
        kind=found["kind"],
        name=found["name"],
        project=found["project"],
        version=found["version"],
        created_at=arguments.moment(found["created_at"]),
        updated_at=arguments.moment(found["updated_at"]),
        text=found["body"],
    )
