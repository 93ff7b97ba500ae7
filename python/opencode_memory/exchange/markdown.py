"""Memories as Markdown, for people to read, correct and import again.

Grouped by project and category. Each memory is between two comments, verbatim. The first comment holds all other fields
as JSON, the second ends the text, whatever headings, fences or comments the text contains. A memory without a project
in these fields is global.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, replace
from datetime import datetime
from typing import IO, Any, Final

from opencode_memory.exchange.foreign import ForeignExport
from opencode_memory.exchange.source import TextSource
from opencode_memory.models import Category, Memory, NewMemory, ScopeKind, Source
from opencode_memory.text.own_files import EXPORT_MARK

NAME: Final = "markdown"
VERSION: Final = 1
_STARTS: Final = re.compile(r"<!-- memory (?P<about>\{.*\}) -->")
_KEPT: Final = tuple(field.name for field in fields(NewMemory) if field.name not in {"content", "scope", "ttl_seconds"})


def write(groups: Iterable[tuple[str | None, Category, Iterable[Memory]]], out: IO[str], *, at: datetime) -> int:
    """Write an export.

    Args:
        groups: Project, category and memories, in the order of the document; a project of None is global.
        out: The stream to write to.
        at: The current time.

    Returns:
        Number of memories.
    """
    out.write(f"<!-- opencode-memory export {VERSION} -->\n# Memories\n\nExported on {at:%Y-%m-%d}.\n")
    written = 0
    heading: tuple[str | None, Category] | None = None
    for project, category, memories in groups:
        for memory in memories:
            if heading is None or heading[0] != project:
                out.write(f"\n## {project or 'Global'}\n")
                heading = None
            if heading != (project, category):
                out.write(f"\n### {category.capitalize()}\n")
                heading = (project, category)
            _write_memory(memory, out)
            written += 1
    return written


def recognises(head: str) -> bool:
    """Return whether a text begins like a Markdown export of ours."""
    return EXPORT_MARK.match(head) is not None


def read(source: TextSource) -> ForeignExport:
    """Parse an export; its memories keep the given fields, including trust.

    Raises:
        InvalidInputError: A memory has no end, or its fields cannot be parsed; the message names the line.
    """
    skipped: list[str] = []
    return ForeignExport(memories=list(_memories(source, skipped=skipped)), skipped=skipped)


def _memories(source: TextSource, *, skipped: list[str]) -> Iterator[NewMemory]:
    """Yield the memories of an export.

    Args:
        source: The text.
        skipped: Receives a line for each text outside of every memory.

    Raises:
        InvalidInputError: A memory has no end, or its fields cannot be parsed; the message names the line.
    """
    about: Mapping[str, Any] | None = None
    start = 0
    content: list[str] = []
    for number, line in enumerate(source.lines(), start=1):
        text = line.rstrip("\r\n")
        if about is not None:
            if text == f"<!-- end of {about['end']} -->":
                yield _memory(source, start, about, "".join(content).removesuffix("\n"))
                about, content = None, []
            else:
                content.append(line)
        elif match := _STARTS.fullmatch(text):
            about, start = _about(source, number, match["about"]), number
        elif text.strip() and number > 1 and not text.startswith("#") and not text.startswith("Exported on "):
            skipped.append(f"line {number} stands outside of every memory: {text.strip():.60}")
    if about is not None:
        raise source.wrong(f"the memory {about.get('id', '')} does not end: the export is incomplete", line=start)


def _write_memory(memory: Memory, out: IO[str]) -> None:
    end = memory.id
    while f"<!-- end of {end} -->" in memory.content:
        end += "+"
    about = {"end": end, **{name: value for name in _KEPT if _says_something(value := _plain(getattr(memory, name)))}}
    # A comment must not contain two hyphens; in JSON they occur in strings only.
    comment = json.dumps(about, ensure_ascii=False).replace("--", "\\u002d\\u002d")
    heading = " ".join(f"{memory.created_at:%Y-%m-%d} {memory.topic or ''}".split())
    out.write(f"\n#### {heading}\n\n<!-- memory {comment} -->\n{memory.content}\n<!-- end of {end} -->\n")


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat(timespec="milliseconds")
    if isinstance(value, Source):
        return {field.name: part for field in fields(value) if (part := getattr(value, field.name)) is not None}
    if isinstance(value, tuple):
        return list(value)
    return dict(value) if isinstance(value, Mapping) else value


def _says_something(value: Any) -> bool:
    return value is not None and value is not False and value not in ([], {}, "")


def _about(source: TextSource, line: int, text: str) -> Mapping[str, Any]:
    try:
        about: dict[str, Any] = json.loads(text)
    except (ValueError, RecursionError) as error:  # No JSON, or a number of more than 4300 digits.
        raise source.wrong(f"the fields of the memory are not JSON: {error}", line=line) from error
    if not isinstance(about.get("end"), str):
        raise source.wrong("the memory does not say how it ends", line=line, field="end")
    return about


def _memory(source: TextSource, line: int, about: Mapping[str, Any], content: str) -> NewMemory:
    unknown = [name for name in about if name not in _KEPT and name != "end"]
    if unknown:
        raise source.wrong(f"the memory has an unknown field {unknown[0]!r}", line=line, field=unknown[0])
    if not content.strip():
        raise source.wrong("the memory has no text", line=line, field="content")
    memory = NewMemory(content=content, **{name: value for name, value in about.items() if name != "end"})
    # A memory without a project is global. Without an explicit scope, the store would use its own project.
    return memory if memory.project is not None else replace(memory, scope=ScopeKind.GLOBAL)
