"""Conversion of notes into memories: one memory for each section.

The topic of a section consists of its file and headings, so an edited section stays the same memory. The metadata
contains a mark, by which a section is found again whose file or heading was renamed.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, tzinfo
from pathlib import Path, PurePosixPath
from typing import Final

from opencode_memory._core import redact
from opencode_memory.models import Category, Memory, NewMemory, Source, Status, Trust
from opencode_memory.notes.categories import guess_category
from opencode_memory.notes.files import read_note
from opencode_memory.text.clock import parse_when
from opencode_memory.text.front_matter import FrontMatter
from opencode_memory.text.markdown import Section, split
from opencode_memory.text.own_files import describe_own_file
from opencode_memory.text.section_mark import SectionMark, hash_body, hash_parts, read_mark
from opencode_memory.text.suggest import did_you_mean

PREFIX: Final = "file:"
SECTION_LIMIT: Final = 100_000
_TOPIC_LIMIT: Final = 512
_NAME_LIMIT: Final = 400
_TAGS_LIMIT: Final = 64
_FRONT_MATTER_LIMIT: Final = 8_000


def read_memories(note: Path, name: str, *, project: str | None, zone: tzinfo | None) -> Iterator[NewMemory]:
    """Yield the memories of a note in order.

    Args:
        note: The file.
        name: Its name in topics, from ``make_file_name``.
        project: Project of the memories; None for the store's own.
        zone: Zone of a date in the front matter; None for this machine's.

    Raises:
        ValueError: The file is not a readable note; the message gives the reason.
        OSError: The file cannot be read.
    """
    if len(name) > _NAME_LIMIT:
        raise ValueError(f"its path is longer than {_NAME_LIMIT} characters")
    text = read_note(note)
    if (holds := describe_own_file(note.name, text)) is not None:
        raise ValueError(f"it is {holds}")
    document = split(text, limit=SECTION_LIMIT)
    about = document.front_matter
    time = _find_time(note, about, zone)
    topics = _Topics(name)
    is_first = True
    for section in document.sections:
        if not section.text.strip():
            continue
        category = _find_category(name, section, about)
        fingerprint = hash_parts(section.text, category, *about.tags, about.date or "")
        mark = SectionMark(fingerprint=fingerprint, body=hash_body(section.body, section.text))
        metadata = mark.to_metadata()
        if about.raw and is_first:
            metadata["front_matter"] = _cut(about.raw, _FRONT_MATTER_LIMIT)
        if about.title is not None:
            # The metadata of a memory has a limit. A title that exceeds it would end the ingest of the whole folder.
            metadata["title"] = _cut(about.title, _NAME_LIMIT)
        is_first = False
        yield NewMemory(
            content=section.text,
            category=category,
            project=project,
            topic=topics.make(section),
            time=time,
            source=Source(file=name, line=section.line),
            tags=tuple(_cut(tag, _NAME_LIMIT) for tag in about.tags[:_TAGS_LIMIT]),
            trust=Trust.IMPORTED,
            # Text from a file must not become an instruction unless the user accepts it.
            status=Status.CANDIDATE if category is Category.DIRECTIVE else Status.ACTIVE,
            metadata=metadata,
        )


def _cut(text: str, most: int) -> str:
    """Cut a text. It is redacted before, because half a secret is no longer recognised."""
    return text if len(text) <= most else redact(text)[0][:most]


def _find_category(name: str, section: Section, about: FrontMatter) -> Category:
    if about.category is None:
        return guess_category(PurePosixPath(name), section.path)
    try:
        return Category(about.category.strip().lower())
    except ValueError as error:
        hint = did_you_mean(about.category, list(Category))
        raise ValueError(f"unknown category {about.category!r} in its front matter; {hint}") from error


def _find_time(note: Path, about: FrontMatter, zone: tzinfo | None) -> datetime:
    """Return the date of a note: the date in its front matter, otherwise the time of its last change."""
    changed = datetime.fromtimestamp(note.stat().st_mtime, UTC)
    return changed if about.date is None else parse_when(about.date, field="date", at=changed, zone=zone)


class _Topics:
    """Topics of the sections of a note.

    Args:
        name: Name of the note in topics.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._taken: set[str] = set()
        self._next: dict[str, int] = {}

    def make(self, section: Section) -> str:
        """Build the topic of a section from file and headings, with a number if an earlier section has the same."""
        # Redact the topic as the store does. Otherwise the next ingest would not find the memory by its topic.
        plain, _ = redact(f"{PREFIX}{self._name}#{'/'.join(section.path)}")
        if len(plain) > _TOPIC_LIMIT - len("~99999"):
            plain = f"{plain[: _TOPIC_LIMIT - 30]}…{hash_parts(plain)[:16]}"
        topic = plain
        while topic in self._taken:
            number = self._next.get(plain, 2)
            self._next[plain] = number + 1
            topic = f"{plain}~{number}"
        self._taken.add(topic)
        return topic


def make_file_name(path: Path, base: Path | None) -> str:
    """Return the name of a file in topics: its path in the project, or its absolute path. ``#`` ends the name."""
    name = path.as_posix() if base is None else path.relative_to(base).as_posix()
    return "" if name == "." else redact(name)[0].replace("%", "%25").replace("#", "%23")


def parse_file_name(topic: str) -> str | None:
    """Return the file name from a topic; None if the topic names no file."""
    return topic.removeprefix(PREFIX).partition("#")[0] if topic.startswith(PREFIX) else None


def file_of(topic: str) -> str:
    """Return the file name from a topic; empty if the topic names no file."""
    return parse_file_name(topic) or ""


def locate_file(name: str, base: Path | None) -> Path:
    """Return the path of a file from its name in topics. The path of a redacted name does not exist."""
    path = name.replace("%23", "#").replace("%25", "%")
    return Path(path) if base is None else base / path


def find_body(memory: Memory) -> str:
    """Return the hash of the body of a section as it was ingested; empty if it is unknown."""
    mark = read_mark(memory.metadata)
    if mark.body:
        return mark.body
    # Earlier versions stored no hash. It is that of the stored text unless that was edited or redacted.
    text = memory.content
    is_original = mark.fingerprint == hash_parts(text, memory.category, *memory.tags, "")
    return hash_text(text) if is_original else ""


def hash_text(text: str) -> str:
    """Compute the hash of the body of a section from its text; empty if the text is not one section."""
    sections = split(text, limit=SECTION_LIMIT).sections
    return hash_body(sections[0].body, text) if len(sections) == 1 else ""
