"""The tool that reports the health and the size of the store."""

from __future__ import annotations

from opencode_memory.models import Scope
from opencode_memory.server.answers import Answer, join_lines
from opencode_memory.server.call import Call
from opencode_memory.server.toolbox import shape, tool
from opencode_memory.text.formatting import format_count
from opencode_memory.text.json_values import to_json


@tool(reads=True, answers=shape(status="string", problems="array", sessions="object"))
def memory_status(call: Call) -> Answer:
    """Show health, number of memories and pending work."""
    stats = call.store.stats()
    where = call.client.project
    here = call.store.count(scope=Scope.owned_by(where)) if where is not None else None
    shared = call.store.count(scope=Scope.global_only())
    health = call.state.health()
    waiting = f"{stats.pending_embeddings} waiting to be embedded, {stats.lexical_tail} to be indexed"
    jobs = call.store.jobs.counts()
    dead = sum(count.dead for count in jobs)
    candidates = call.store.count(project=where, status="candidate")
    turns = call.store.turns.counts()
    text = join_lines(
        f"{health.status}{': ' + '; '.join(health.problems) if health.problems else ''}.",
        f"Project {where}: {format_count(here, 'memory')}."
        if here is not None
        else "No project is known for this client.",
        f"Global: {format_count(shared, 'memory')}. Background: {health.background}; {waiting}.",
        f"Sessions that can be searched: {turns.sessions:,}, with {format_count(turns.turns, 'turn')}."
        if turns.sessions
        else None,
        f"{format_count(dead, 'job')} failed permanently; see `opencode-memory jobs`." if dead else None,
        f"Waiting for the user's review: {format_count(candidates, 'memory')}." if candidates else None,
        stats.model_mismatch,
    )
    data = {
        "status": health.status,
        "problems": list(health.problems),
        "project": where,
        "memories": {"project": here, "global": shared},
        "sessions": {"sessions": turns.sessions, "turns": turns.turns},
        "pending_embeddings": stats.pending_embeddings,
        "index_tail": stats.lexical_tail,
        "candidates": candidates,
        "jobs": {"waiting": sum(count.waiting + count.running for count in jobs), "failed": dead},
        "background": health.background,
        "model": stats.model,
        "bytes": stats.store_bytes + stats.lexical_bytes + stats.graph_bytes,
    }
    return Answer(text, to_json(data))
