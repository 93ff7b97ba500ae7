"""Imports the JSON and Markdown that ``ocm-mem export`` of the npm package @opencode-manager/memory writes.

The JSON is an array of objects with ``projectId``, ``scope`` (our category), ``content`` and times in milliseconds. The
Markdown has a heading for each scope, with the number of its memories, and one for each memory. The project is the hash
of the repository's root commit, by which our projects are recognised as well.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final

from opencode_memory.exchange.foreign import Fields, ForeignExport, foreign_memory, stable_id
from opencode_memory.exchange.source import TextSource
from opencode_memory.models import Category, NewMemory, Source

JSON_NAME: Final = "ocm-mem-json"
MARKDOWN_NAME: Final = "ocm-mem-markdown"
ROOT_COMMIT: Final = re.compile(r"[0-9a-f]{40}")
_SYSTEM: Final = "@opencode-manager/memory"
_SCOPES: Final = {scope.value: scope for scope in (Category.CONVENTION, Category.DECISION, Category.CONTEXT)}
_SCOPE_HEADING: Final = re.compile(r"## (?P<scope>Convention|Decision|Context)s \((?P<count>\d+)\)")
_MEMORY_HEADING: Final = re.compile(r"### \[(?P<id>\d+)\] - Created (?P<day>\d{4}-\d{2}-\d{2})")


def recognises_json(head: str) -> bool:
    """Return whether a text begins like such a JSON export."""
    return re.match(r"\s*\[\s*(?:\]|\{)", head) is not None and ('"projectId"' in head or '"scope"' in head)


def recognises_markdown(head: str) -> bool:
    """Return whether a text begins like such a Markdown export."""
    return re.match(r"# Memory Export\r?\n\r?\nExported on \d{4}-\d{2}-\d{2}", head) is not None


def read_json(source: TextSource) -> ForeignExport:
    """Convert a JSON export.

    Raises:
        InvalidInputError: A field does not follow the format; the message names it.
    """
    members = source.json()
    if not isinstance(members, list):
        raise source.wrong("is not a list of memories")
    memories: list[NewMemory] = []
    skipped: list[str] = []
    for number, member in enumerate(members):
        fields = Fields.of(source, f"[{number}]", member)
        if fields.text("content") is None:
            skipped.append(f"{fields.place}: has no text")
        else:
            memories.extend(foreign_memory(_SYSTEM, _memory(fields)))
    return ForeignExport(memories=memories, skipped=skipped)


def read_markdown(source: TextSource) -> ForeignExport:
    """Convert a Markdown export; it names neither projects nor times of day.

    Raises:
        InvalidInputError: The number of memories under a heading is not the announced number.
    """
    memories: list[NewMemory] = []
    scope = Category.CONTEXT
    announced = found = 0
    heading: re.Match[str] | None = None
    lines: list[str] = []

    def finish() -> None:
        if heading is not None:
            memories.extend(foreign_memory(_SYSTEM, _markdown_memory(source, heading, scope, lines)))

    for number, line in enumerate(source.lines(), start=1):
        text = line.rstrip("\r\n")
        # A memory may contain such headings itself. They count only if the announced numbers leave room for them.
        if found >= announced and (match := _SCOPE_HEADING.fullmatch(text)):
            finish()
            heading, lines, found = None, [], 0
            scope, announced = _SCOPES[match["scope"].lower()], int(match["count"])
        elif found < announced and (match := _MEMORY_HEADING.fullmatch(text)):
            finish()
            heading, lines, found = match, [], found + 1
        elif heading is not None:
            lines.append(line)
        elif announced and text.strip():
            raise source.wrong("text where the heading of a memory was expected", line=number)
    finish()
    if found < announced:
        raise source.wrong(f"holds {found} of {announced} {scope}s: the export is incomplete; nothing was imported")
    return ForeignExport(memories=memories)


def _memory(fields: Fields) -> NewMemory:
    content = fields.text("content") or ""
    scope = fields.text("scope") or Category.CONTEXT
    if scope not in _SCOPES:
        problem = f"{fields.place}.scope is {scope!r}; known are {', '.join(_SCOPES)}"
        raise fields.source.wrong(problem, field=f"{fields.place}.scope")
    created_at = fields.moment("createdAt")
    uses = fields.number("accessCount")
    return NewMemory(
        content=content,
        category=_SCOPES[scope],
        project=fields.text("projectId"),
        time=created_at,
        created_at=created_at,
        updated_at=fields.moment("updatedAt") or created_at,
        source=Source(file=fields.text("filePath")),
        metadata={"uses_before_import": uses} if uses else {},
        id=stable_id(created_at, _SYSTEM, fields.text("projectId"), content),
    )


def _markdown_memory(source: TextSource, heading: re.Match[str], scope: Category, lines: list[str]) -> NewMemory:
    # The format puts one empty line before the text and one after it.
    content = "".join(lines).removeprefix("\n").removesuffix("\n").removesuffix("\n")
    if not content.strip():
        raise source.wrong(f"memory [{heading['id']}] has no text", field="content")
    try:
        created_at = datetime.fromisoformat(heading["day"]).replace(tzinfo=UTC)
    except ValueError as error:
        raise source.wrong(f"memory [{heading['id']}] has no such date as {heading['day']}", field="date") from error
    return NewMemory(
        content=content,
        category=scope,
        time=created_at,
        created_at=created_at,
        updated_at=created_at,
        id=stable_id(created_at, _SYSTEM, heading["id"], content),
    )
