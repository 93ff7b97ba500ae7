"""Pages that show memories: the newest, a search, one memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from opencode_memory.errors import ConflictError, NotFoundError
from opencode_memory.models import Category, HistoryEntry, Hit, Memory, Status
from opencode_memory.server.pages.asked import FILTERS, Asked, Page, project_names
from opencode_memory.text.line_diff import compare_lines

_PAGE: Final = 50
_HITS: Final = 30
_RELATED: Final = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line of a difference: ``sign`` is ``+``, ``-`` or a space."""

    sign: str
    text: str


def show_newest(asked: Asked) -> Page:
    """Show the newest memories."""
    filters = asked.filters()
    found = asked.store.list(limit=_PAGE + 1, offset=asked.page * _PAGE, **filters)
    shown = choices(asked)
    values = {
        **shown,
        "memories": found[:_PAGE],
        "is_narrowed": any(shown["chosen"].values()) or asked.page > 0,
        "waiting": _count_waiting(asked),
        "has_more": len(found) > _PAGE,
        "number": asked.page,
    }
    return Page(template="newest.html", values=values)


def search(asked: Asked) -> Page:
    """Search memories and sessions; each hit shows what spoke for it."""
    query = asked.text("q")
    filters = asked.filters()
    hits: list[Any] = []
    if query:
        hits = list(asked.store.search(query, limit=_HITS, explain=True, **filters))
    most = max((hit.score for hit in hits if isinstance(hit, Hit)), default=1.0) or 1.0
    values = {**choices(asked), "query": query, "hits": hits, "most": most}
    return Page(template="search.html", values=values)


def show_memory(asked: Asked) -> Page:
    """Show one memory with its evidence, links and history; a deleted one has its history only."""
    store, id_ = asked.store, asked.path["id"]
    memory: Memory | None = None
    with suppress(NotFoundError):
        memory = store.get(id_)
    history = store.history(id_)
    values = {
        "memory": memory,
        "id": history[0].id if history else id_,
        "history": [(entry, list(compare(entry))) for entry in reversed(history)],
        "related": [] if memory is None else store.related(memory.id, limit=_RELATED),
        "earlier": [] if memory is None else store.earlier([memory.id]).get(memory.id, ()),
        "later": _find_later(asked, memory),
        "useful": None if memory is None else store.ledger.usefulness([memory.id]).get(memory.id),
        "categories": list(Category),
    }
    return Page(template="memory.html", values=values)


def compare(entry: HistoryEntry) -> Iterator[Line]:
    """Yield the lines of a text that a change removed and added."""
    before = entry.before.content if entry.before else ""
    after = entry.after.content if entry.after else ""
    lines = [Line(sign=sign, text=line) for sign, line in compare_lines(before, after)]
    if any(line.sign != " " for line in lines):
        yield from lines


def _find_later(asked: Asked, memory: Memory | None) -> Memory | None:
    """Return the memory that has replaced this one."""
    if memory is None or memory.superseded_by is None:
        return None
    with suppress(NotFoundError, ConflictError):
        return asked.store.get(memory.superseded_by)
    return None


def choices(asked: Asked) -> dict[str, Any]:
    """Return what the filters offer, and what is chosen."""
    chosen = {name: asked.text(name) for name in FILTERS}
    return {
        "chosen": chosen,
        "projects": project_names(asked.store),
        "categories": list(Category),
        "statuses": list(Status),
    }


def _count_waiting(asked: Asked) -> int:
    return asked.store.count(project="*", status=Status.CANDIDATE)
