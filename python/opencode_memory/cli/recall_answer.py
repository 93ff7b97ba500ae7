"""Answer of ``opencode-memory recall``: searches the store and prints the results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from opencode_memory.cli.context import Invocation
from opencode_memory.cli.errors import DONE, NOTHING_FOUND
from opencode_memory.cli.memories import find_foreign_hint, print_hits, print_near_misses
from opencode_memory.cli.output import dim
from opencode_memory.cli.recall_request import RecallRequest
from opencode_memory.context.provenance import find_headings
from opencode_memory.context.results import NEAR_MISSES, Result, cut
from opencode_memory.context.session_results import present_all, turn_data
from opencode_memory.learning.switches import Switches
from opencode_memory.models import ALL_PROJECTS, Hit, SessionHit, Sources
from opencode_memory.text.formatting import format_count
from opencode_memory.text.json_values import to_json

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore
    from opencode_memory.store.selection import Filter


def print_answer(run: Invocation, request: RecallRequest) -> int:
    """Print the hits of a query; return 1 if there are none."""
    with run.open_store() as store:
        filters: Filter = {
            "project": run.select_project(store, request.scope, all_projects=request.all_projects),
            "scope": request.scope,
            "category": request.categories or None,
            "since": request.period.since,
            "until": request.period.until,
            "entity": request.entity,
        }
        hits = store.search(
            request.query,
            sources=request.sources,
            limit=request.limit or run.config.recall.limit,
            as_of=request.as_of,
            explain=request.explain,
            **filters,
        )
        results = _arrange(store, hits, request)
        lacks_sessions = not hits and request.sources is Sources.SESSIONS and not store.turns.counts().turns
        hint = None if hits else find_foreign_hint(store, all_projects=request.all_projects)
        is_explained = request.explain and not hits
        nearest = _find_nearest(store, request, filters) if is_explained else []
    if run.out.as_json:
        fields = {"query": request.query, "hits": [_to_fields(result) for result in results]}
        run.out.json(fields | ({"nearest": nearest} if is_explained else {}))
    elif results:
        print_hits(run.out, results, at=run.started_at)
        shown = len(results) + sum(len(result.before) for result in results if isinstance(result, Result))
        if shown < len(hits):
            run.out.note(dim(f"{format_count(len(hits) - shown, 'weaker hit')} left out; --uncut shows them."))
    elif is_explained:
        print_near_misses(run.out, nearest, at=run.started_at)
    else:
        run.out.note("Nothing found. --explain shows what comes nearest." if hint is None else f"Nothing found. {hint}")
    if lacks_sessions:
        run.out.note(
            "No session is indexed yet. A running server indexes OpenCode's sessions in the background."
            if Switches.from_config(run.config.learning).is_enabled("opencode")
            else "No session is indexed, because learning from OpenCode is switched off."
        )
    return DONE if hits else NOTHING_FOUND


def _find_nearest(store: MemoryStore, request: RecallRequest, filters: Filter) -> list[Hit]:
    """Return the memories that come nearest to a query without an answer."""
    return store.recall(
        request.query, limit=NEAR_MISSES, as_of=request.as_of, explain=True, nearest=True, unasked=True, **filters
    )


def _arrange(store: MemoryStore, hits: Sequence[Hit | SessionHit], request: RecallRequest) -> list[Result | SessionHit]:
    if request.as_of is not None:
        # The links of today say nothing about the statements of an earlier time.
        memories = [hit for hit in hits if isinstance(hit, Hit)]
        return [Result(hit) for hit in (memories if request.uncut else cut(memories))]
    project = ALL_PROJECTS if request.all_projects else None
    return present_all(store, hits, project=project, whole=request.uncut)


def _to_fields(result: Result | SessionHit) -> dict[str, object]:
    """Return the fields of a result: those of its hit, its headings, and earlier and later statements, if any."""
    if isinstance(result, SessionHit):
        found = {"score": result.score, "rank": result.rank, "relevance": result.relevance}
        return {"turn": turn_data(result.turn)} | found | {"explanation": result.explanation}
    fields: dict[str, object] = to_json(result.hit)
    headings = find_headings(result.memory)
    more = {"headings": headings, "before": result.before, "later": result.later}
    return fields | {name: value for name, value in more.items() if value}
