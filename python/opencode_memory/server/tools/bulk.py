"""Tools that archive many memories at once."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Annotated, Any

from pydantic import Field

from opencode_memory.errors import InvalidInputError
from opencode_memory.maintenance import consolidation
from opencode_memory.maintenance.consolidation import Pair, Proposal
from opencode_memory.models import Category, Memory, Scope
from opencode_memory.server.answers import Answer, format_facts, join_lines, memory_data
from opencode_memory.server.call import Call
from opencode_memory.server.toolbox import shape, tool
from opencode_memory.server.tools.argument_types import AnyCategory, MemoryIds, Project
from opencode_memory.store.pages import list_all
from opencode_memory.text.display import one_line
from opencode_memory.text.formatting import format_count, short_id

_SHOWN = 20


@tool(answers=shape(ids="array", archived="integer"))
def bulk_archive(
    call: Call,
    reason: Annotated[str, Field(min_length=1, max_length=500)],
    memory_ids: MemoryIds | None = None,
    category: AnyCategory = None,
    older_than_days: Annotated[int | None, Field(ge=0, le=36_500)] = None,
    dry_run: bool = False,
    project: Project = None,
) -> Answer:
    """Archive many memories, by ids or by category and age. Global and pinned memories only by id."""
    if (memory_ids is None) == (category is None and older_than_days is None):
        raise InvalidInputError(
            "bulk_archive: give either memory_ids, or category and/or older_than_days", field="memory_ids"
        )
    if memory_ids is not None:
        ids = call.get_visible_ids(memory_ids)
    else:
        ids = [memory.id for memory in _select(call, project, category, older_than_days)]
    if dry_run:
        text = f"Would archive {format_count(len(ids), 'memory')}. Nothing was changed."
    else:
        archived = call.store.archive(ids, reason=reason) if ids else []
        text = f"Archived {format_count(len(archived), 'memory')}. restore_memory brings each back."
    some = ", ".join(f"[{short_id(id_)}]" for id_ in ids[:_SHOWN])
    return Answer(join_lines(text, some), {"ids": ids, "archived": 0 if dry_run else len(ids)})


@tool(answers=shape(stale="array", duplicates="array", contradictions="array"))
def consolidate_memory(
    call: Call,
    days_stale: Annotated[int, Field(ge=1, le=36_500)] = 90,
    project: Project = None,
    apply: Annotated[bool, Field(description="archive what was found")] = False,
    limit: Annotated[int, Field(ge=1, le=200)] = 20,
) -> Answer:
    """Find stale, duplicate and contradicting memories. Changes nothing unless apply=true."""
    where = call.resolve_project(project)
    proposal = consolidation.propose(call.store, project=where, days_stale=days_stale, at=call.at, limit=limit)
    archived = consolidation.apply(call.store, proposal) if apply else []
    heading = f"Archived {format_count(len(archived), 'memory')}." if apply else "Proposal only. Nothing was changed."
    text = join_lines(
        heading,
        *_format_section("Stale, to be archived", [_format_memory(call, memory) for memory in proposal.stale]),
        *_format_section("Duplicates, the second to be archived", _format_pairs(call, proposal.duplicates)),
        *_format_section(
            "Contradictions: decide which one is valid and archive the other",
            _format_pairs(call, proposal.contradictions),
        ),
        f"… and {proposal.more} more" if proposal.more else None,
    )
    if not (proposal.stale or proposal.duplicates or proposal.contradictions):
        text = "Found no stale, duplicate or contradicting memories."
    return Answer(text, _to_data(proposal, archived))


def _select(call: Call, project: str | None, category: str | None, older_than_days: int | None) -> list[Memory]:
    if category is not None and category not in tuple(Category):
        raise InvalidInputError(f"category: {category!r} is not one of {', '.join(Category)}", field="category")
    where = call.resolve_project(project)
    if where is None:
        error = InvalidInputError(
            "bulk_archive: no project is known for this client, and global memories are only archived by id",
            field="memory_ids",
        )
        error.hint = "give memory_ids, or name a project"
        raise error
    before = None if older_than_days is None else call.at - timedelta(days=older_than_days)
    found = list_all(call.store, scope=Scope.owned_by(where), category=category, older_than=before)
    return [memory for memory in found if not memory.pinned]


def _format_section(heading: str, lines: list[str]) -> list[str]:
    return [f"{heading}:", *lines] if lines else []


def _format_memory(call: Call, memory: Memory) -> str:
    return f"- {format_facts(memory, at=call.at, project=call.client.project)}: {one_line(memory.content, 120)}"


def _format_pair(call: Call, pair: Pair) -> str:
    return f"{_format_memory(call, pair.keep)}\n  {_format_memory(call, pair.archive)}"


def _format_pairs(call: Call, pairs: Iterable[Pair]) -> list[str]:
    return [_format_pair(call, pair) for pair in pairs]


def _to_data(proposal: Proposal, archived: list[Memory]) -> dict[str, Any]:
    def to_data(pairs: tuple[Pair, ...]) -> list[dict[str, Any]]:
        return [
            {
                "keep": memory_data(pair.keep, most_bytes=160),
                "archive": memory_data(pair.archive, most_bytes=160),
                "reason": pair.reason,
            }
            for pair in pairs
        ]

    return {
        "stale": [memory_data(memory, most_bytes=160) for memory in proposal.stale],
        "duplicates": to_data(proposal.duplicates),
        "contradictions": to_data(proposal.contradictions),
        "more": proposal.more,
        "archived": [memory.id for memory in archived],
    }
