"""Command /memory: shows memories by category, pending work, and the memories given to this session."""

from __future__ import annotations

from collections.abc import Iterator

from opencode_memory._core import redact
from opencode_memory.context.block import escape
from opencode_memory.models import Category, Status
from opencode_memory.reviews import NO_BRANCH
from opencode_memory.server.answers import format_project, join_lines
from opencode_memory.server.call import SessionCall
from opencode_memory.server.plugin.tools.findings import get_branch_findings
from opencode_memory.store.ledger import State
from opencode_memory.text.display import one_line
from opencode_memory.text.formatting import format_count

_MAX_DIRECTIVES = 1_000


def show_status(call: SessionCall, arguments: str) -> str:
    """Describe the state of the memory. Arguments are ignored, and the answer says so."""
    more = escape(one_line(redact(arguments)[0], 80))
    return join_lines(
        "The user typed /memory. Show them these lines as they are; do nothing else.",
        *(f"- {escape(line)}" for line in _render_lines(call)),
        f"/memory takes no arguments; «{more}» was ignored." if more else None,
    )


def _render_lines(call: SessionCall) -> Iterator[str]:
    store, where = call.store, call.client.project
    if where is None:
        yield "This folder belongs to no project."
    else:
        yield f"Project {format_project(where)}: {_count_by_category(call, 'project')}"
    yield f"In every project: {_count_by_category(call, 'global')}"
    candidates = store.count(project=where, status=Status.CANDIDATE.value)
    directives = store.list(project=where, category=Category.DIRECTIVE.value, limit=_MAX_DIRECTIVES)
    unconfirmed = sum(not directive.is_confirmed for directive in directives)
    if candidates or unconfirmed:
        parts = [format_count(candidates, "memory")] if candidates else []
        parts += [format_count(unconfirmed, "unconfirmed directive")] if unconfirmed else []
        yield f"For your review: {' and '.join(parts)}; `opencode-memory review` goes through them"
    else:
        yield "No memories are waiting for your review"
    stats = store.stats()
    yield (
        f"{format_count(stats.pending_embeddings, 'memory')} of the whole store, "
        "found by full-text search until embedded"
        if stats.pending_embeddings
        else "Everything is embedded"
    )
    if stats.model_mismatch:
        yield stats.model_mismatch
    findings = get_branch_findings(call)
    number = len(findings.open())
    if findings.branch != NO_BRANCH or number:
        yield f"Reviews of branch {one_line(findings.branch, 80)}: {format_count(number, 'open finding')}"
    if call.session is not None:
        yield _describe_given(call, call.session)
    yield from call.state.health().problems


def _count_by_category(call: SessionCall, scope: str) -> str:
    def count(category: str | None = None) -> int:
        return call.store.count(project=call.client.project, scope=scope, category=category)

    parts = [format_count(number, category.value) for category in Category if (number := count(category.value))]
    return format_count(count(), "memory") + (f" ({', '.join(parts)})" if parts else "")


def _describe_given(call: SessionCall, session: str) -> str:
    given = (State.SHOWN, State.OFFERED)
    decisions = [decision for decision in call.store.ledger.decisions(session) if decision.state in given]
    if not decisions:
        return "This session has been given no memories"
    memories = {shown.memory for decision in decisions for shown in decision.shown}
    tokens = sum(decision.tokens for decision in decisions)
    return (
        f"This session has been given {format_count(len(memories), 'memory')} in {format_count(tokens, 'token')};"
        f" `opencode-memory why {one_line(session, 80)}` lists them with the reasons"
    )
