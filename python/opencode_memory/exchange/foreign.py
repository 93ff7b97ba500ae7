"""Common parts of imports from other systems: checked fields, stable ids, and writing to the store.

The id of an imported memory is derived from its source, so importing the same file again finds the memory instead of
storing it twice. Imports have the lowest trust, and imported directives and procedures wait for review.
"""

from __future__ import annotations

import hashlib
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from opencode_memory.exchange.source import TextSource
from opencode_memory.models import Category, NewMemory, Status, Trust
from opencode_memory.text.markdown import pieces

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore

CONTENT_LIMIT: Final = 100_000
UNTRUSTED: Final[Mapping[str, Any]] = MappingProxyType(
    {"trust": Trust.IMPORTED, "pinned": False, "verified_at": None}
    | dict.fromkeys(("remind_at", "remind_every", "review_after", "review_every"))
)
"""Fields of a memory from elsewhere. Only the store's own past may carry trust, pins, confirmations and reminders."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignLink:
    """A link between two memories, by their new ids."""

    source: str
    target: str
    kind: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignExport:
    """The content of another system's export, converted.

    Attributes:
        memories: With new ids; their ``project`` is the name that the other system used.
        links: Between these memories.
        skipped: Parts without an equivalent, and why.
    """

    memories: Sequence[NewMemory]
    links: Sequence[ForeignLink] = ()
    skipped: Sequence[str] = ()

    def as_untrusted(self) -> ForeignExport:
        """Return the export with the fields of ``UNTRUSTED``."""
        return replace(self, memories=[replace(memory, **UNTRUSTED) for memory in self.memories])


@dataclass(frozen=True, slots=True)
class Fields:
    """One object of an export; errors name a field by its path, such as ``memories[3].content``."""

    source: TextSource
    place: str
    values: Mapping[str, Any]

    @classmethod
    def of(cls, source: TextSource, place: str, value: Any) -> Fields:
        """Require an object."""
        if not isinstance(value, dict):
            raise source.wrong(f"{place} is not a JSON object", field=place)
        return cls(source, place, value)

    def text(self, name: str) -> str | None:
        """Return a text, or None if it is missing or empty."""
        value = self.values.get(name)
        if value is not None and not isinstance(value, str):
            raise self._wrong(name, "a text")
        return value if value and value.strip() else None

    def number(self, name: str) -> int | None:
        """Return a whole number, or None if it is missing."""
        value = self.values.get(name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
            raise self._wrong(name, "a whole number")
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a list of texts."""
        value = self.values.get(name) or []
        if not isinstance(value, list) or not all(isinstance(member, str) for member in value):
            raise self._wrong(name, "a list of texts")
        return tuple(member.strip() for member in value if member.strip())

    def moment(self, name: str) -> datetime | None:
        """Return a time given in ISO 8601 (without a zone: UTC) or in milliseconds since 1970."""
        value = self.values.get(name)
        if value is None or value == "":
            return None
        try:
            if isinstance(value, int | float) and not isinstance(value, bool):
                return datetime.fromtimestamp(value / 1000, UTC)
            moment = datetime.fromisoformat(value)
            # A time in the year 1 or 9999 may have no equivalent in UTC.
            return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
        except (TypeError, ValueError, OverflowError, OSError) as error:
            raise self._wrong(name, "a time") from error

    def _wrong(self, name: str, wanted: str) -> Exception:
        field = f"{self.place}.{name}"
        return self.source.wrong(f"{field} is {self.values.get(name)!r:.60}, not {wanted}", field=field)


def stable_id(created_at: datetime | None, *parts: object) -> str:
    """Make a UUIDv7 from a time and parts; the parts replace the random bits."""
    # Not clock.to_ms: the float's rounding is part of the ids of memories that are imported already.
    milliseconds = max(0, int(created_at.timestamp() * 1000)) if created_at is not None else 0
    digest = hashlib.sha256("\0".join(str(part) for part in parts).encode("utf-8", errors="surrogatepass")).digest()
    tail = int.from_bytes(digest[:10], "big")
    number = (milliseconds & ((1 << 48) - 1)) << 80 | tail
    number = number & ~(0xF << 76) | 0x7 << 76  # version
    number = number & ~(0x3 << 62) | 0x2 << 62  # variant
    return str(uuid.UUID(int=number))


def foreign_memory(system: str, memory: NewMemory) -> Iterator[NewMemory]:
    """Mark a memory as an import of another system; cut a text that is too long between paragraphs.

    Args:
        system: Name of the other system.
        memory: Converted, with its id.
    """
    is_directive = memory.category == Category.DIRECTIVE and memory.status == Status.ACTIVE
    marked = replace(
        memory,
        trust=Trust.IMPORTED,
        status=Status.CANDIDATE if is_directive else memory.status,
        metadata={**memory.metadata, "imported_from": system},
    )
    for part, text in enumerate(pieces(memory.content, CONTENT_LIMIT)):
        id_of_part = marked.id if part == 0 else stable_id(_moment(marked.created_at), marked.id, part)
        yield replace(marked, content=text, id=id_of_part)


def write_foreign(
    store: MemoryStore,
    export: ForeignExport,
    *,
    projects: Callable[[str | None], str | None],
    progress: Callable[[int, int], None] | None,
) -> dict[str, Mapping[str, int]]:
    """Write the content of another system's export.

    Args:
        store: The store to write to.
        export: Read completely, so that an error in it occurs before any row is written.
        projects: Maps a project's name there to the name here; None is global.
        progress: Called with the number of memories done, and of all.

    Returns:
        Outcomes and their numbers, by kind.
    """
    total = len(export.memories)
    memories = (_in_project(memory, projects(memory.project)) for memory in export.memories)
    report = None if progress is None else lambda done: progress(done, total)
    results = store.remember_many(memories, progress=report)
    for link in export.links:
        store.link(link.source, link.target, link.kind, link.reason)
    return {"memory": Counter(str(result.status) for result in results), "link": {"stored": len(export.links)}}


def _in_project(memory: NewMemory, project: str | None) -> NewMemory:
    # A named project overrides "global", because the user asked to import everything there.
    return replace(memory, project=project, scope=memory.scope if project is None else None)


def _moment(value: datetime | str | int | None) -> datetime | None:
    return value if isinstance(value, datetime) else None
