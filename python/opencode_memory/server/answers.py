"""Results of tools: a complete text for the model, and the same content as JSON.

The text of a memory is indented and stripped of control characters. So it cannot pass for another memory, for the
heading of a result, or for words of the tool (I10). Lengths are in UTF-8 bytes, which approximate the tokens used.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final

from opencode_memory import entities
from opencode_memory.context.provenance import describe_source, find_headings
from opencode_memory.models import Memory, Status, Trust
from opencode_memory.text.clock import age
from opencode_memory.text.display import clean, cut, one_line
from opencode_memory.text.formatting import short_id
from opencode_memory.text.json_values import to_json
from opencode_memory.text.repetition import find_due

EXCERPT_BYTES: Final = 360
_ENTITIES_SHOWN: Final = 2
_PROJECT_BYTES: Final = 80
_SEPARATOR: Final = " · "
_INDENT: Final = "   "
_BLANK_LINES: Final = re.compile(r"\n\s*\n")


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of a tool: ``text`` for the model, ``data`` (a JSON object) for programs."""

    text: str
    data: Mapping[str, Any] = field(default_factory=dict)


def format_project(name: str) -> str:
    """Render the name of a project on one line."""
    return one_line(name, _PROJECT_BYTES)


def indent(text: str, most_bytes: int = EXCERPT_BYTES) -> str:
    """Indent the beginning of a text. No other line of a result starts with this indentation."""
    shown = _BLANK_LINES.sub("\n", cut(clean(text).strip(), most_bytes)[0])
    return cut("\n".join(_INDENT + line for line in shown.split("\n")), most_bytes)[0]


def format_facts(memory: Memory, *, at: datetime, project: str | None) -> str:
    """Summarize a memory in one line: id, category, age, and every property that is not the default."""
    parts = [f"[{short_id(memory.id)}]", memory.category.value, age(memory.time, at=at)]
    if memory.project != project or memory.project is None:
        parts.append(_format_fact(memory.project, _PROJECT_BYTES) if memory.project else "global")
    if memory.status is not Status.ACTIVE:
        parts.append(memory.status.value)
    if memory.trust is not Trust.USER:
        parts.append(f"by {memory.trust.value}")
    parts += [label for label, holds in (("pinned", memory.pinned), ("resolved", memory.is_resolved)) if holds]
    if memory.speaker:
        parts.append(f"said by {_format_fact(memory.speaker)}")
    about = [_format_fact(entities.short(name, project=project)) for name in memory.entities[:_ENTITIES_SHOWN]]
    if about:
        parts.append("about " + ", ".join(about))
    source = describe_source(memory)
    if source:
        parts.append(source.replace(_SEPARATOR.strip(), "-"))
    return _SEPARATOR.join(parts)


def _format_fact(text: str, most_bytes: int = 40) -> str:
    """Render a name without the separator, so that it cannot pass for two facts."""
    return one_line(text, most_bytes).replace(_SEPARATOR.strip(), "-")


def describe_due(memory: Memory, *, at: datetime) -> list[str]:
    """Say when the reminder and the review of a memory are due, as far as it has them."""
    return [
        f"{kind} {age(find_due(first, every, at=at).at, at=at)}{'' if every is None else f', then every {every} d'}"
        for kind, first, every in (
            ("reminder", memory.remind_at, memory.remind_every),
            ("review", memory.review_after, memory.review_every),
        )
        if first is not None
    ]


def format_list(
    memories: Iterable[Memory],
    *,
    at: datetime,
    project: str | None,
    compact: bool = False,
    more: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> str:
    """Render a list of memories with an excerpt below each, or on the same line if ``compact``.

    Args:
        memories: The memories.
        at: The current time.
        project: The project of the reader, which is not repeated for each memory.
        compact: Whether to render one line for each memory.
        more: Remarks on a memory, by its id.
    """
    lines = []
    for number, memory in enumerate(memories, start=1):
        head = f"{number}. {format_facts(memory, at=at, project=project)}"
        remarks = [f"({one_line(remark, EXCERPT_BYTES)})" for remark in more.get(memory.id, ())]
        if compact:
            lines.append(" ".join([f"{head}: {one_line(memory.content)}", *remarks]))
        else:
            lines += [head, indent(memory.content), *(_INDENT + remark for remark in remarks)]
    return "\n".join(lines)


def memory_data(memory: Memory, *, most_bytes: int | None = EXCERPT_BYTES) -> dict[str, Any]:
    """Convert a memory to JSON without empty fields. Its text is truncated unless ``most_bytes`` is None."""
    content, is_cut = (memory.content, False) if most_bytes is None else cut(memory.content, most_bytes)
    data: dict[str, Any] = {
        "id": memory.id,
        "content": content,
        "truncated": is_cut or None,
        "category": memory.category,
        "project": memory.project,
        "topic": memory.topic,
        "status": None if memory.status is Status.ACTIVE else memory.status,
        "trust": memory.trust,
        "pinned": memory.pinned or None,
        "session": memory.session,
        "time": memory.time,
        "source": _source_data(memory),
        "expires_at": memory.expires_at,
        "remind_at": memory.remind_at,
        "remind_every": memory.remind_every,
        "review_after": memory.review_after,
        "review_every": memory.review_every,
        "entities": memory.entities,
        "tags": memory.tags,
        "superseded_by": memory.superseded_by,
        "metadata": memory.metadata if most_bytes is None else None,
    }
    fields: dict[str, Any] = to_json({name: value for name, value in data.items() if value not in (None, (), {})})
    return fields


def _source_data(memory: Memory) -> dict[str, Any]:
    source = memory.source
    headings = find_headings(memory)
    data = {"file": source.file, "line": source.line, "headings": headings or None, "session": source.session}
    return {name: value for name, value in data.items() if value is not None}


def join_lines(*parts: str | None, separator: str = "\n") -> str:
    """Join the parts that are neither None nor empty."""
    return separator.join(part for part in parts if part)
