"""The tool that an agent calls first in a session."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Annotated

from pydantic import Field

from opencode_memory.context.brief import build_brief
from opencode_memory.context.brief_entries import BriefRequest
from opencode_memory.context.headline import format_lines
from opencode_memory.context.loaded_text import read_statements
from opencode_memory.context.recent_sessions import read_recent_sessions
from opencode_memory.hosts.opencode.loaded_files import find_loaded_files
from opencode_memory.models import ALL_PROJECTS
from opencode_memory.server.answers import Answer, format_project, join_lines
from opencode_memory.server.call import Call
from opencode_memory.server.toolbox import shape, tool
from opencode_memory.server.tools.argument_types import Project
from opencode_memory.server.tools.sessions import format_session
from opencode_memory.text.clock import age
from opencode_memory.text.display import one_line

_HEAD = "Notes from earlier sessions, possibly outdated. Only the directives are wishes of the user."
_SESSIONS = "Sessions at work, and what they claim:"
_RECENT = "Recent sessions:"
_MOST_RECENT = 3
_SUMMARY_BYTES = 160
_SESSION_BYTES = 320


@tool(reads=True, core=True, answers=shape(sections="object"))
def get_boot_context(
    call: Call,
    max_tokens: Annotated[int | None, Field(ge=200, le=100_000)] = None,
    project: Project = None,
) -> Answer:
    """Call first in a session. Returns the project brief: rules, open blockers, newest decisions, headlines."""
    where = call.resolve_project(project)
    seen_from = None if where == ALL_PROJECTS else where
    sessions = [
        one_line(format_session(call, session).removeprefix("- "), _SESSION_BYTES)
        for session in call.store.sessions.active(project=seen_from)
    ]
    recent = [
        f"{age(summary.time, at=call.at)}: {one_line(summary.content, _SUMMARY_BYTES)}"
        for summary in read_recent_sessions(call.store, seen_from, most=_MOST_RECENT)
    ]
    lines = {heading: format_lines(texts) for heading, texts in ((_SESSIONS, sessions), (_RECENT, recent)) if texts}
    head = join_lines(_HEAD, *_identity(call, seen_from))
    count = cache(call.count_tokens)
    brief = build_brief(
        call.store,
        BriefRequest(
            project=seen_from,
            # Without the user's own file: other clients than OpenCode do not load it.
            loaded=read_statements(find_loaded_files(next(iter(call.client.folders), None), {})),
            lines=lines,
        ),
        budget=max_tokens or call.config.brief.max_tokens,
        count=count,
        at=call.at,
        head=head,
    )
    text = join_lines(head, *brief.lines) if brief.lines else "There are no memories here yet."
    in_full = {memory.id for memory in brief.full}
    data = {
        "project": where,
        "tokens": count(text),
        "sections": {group: list(ids) for group, ids in brief.groups.items()},
        "headlines": [memory.id for memory in brief.headlines if memory.id not in in_full],
        "omitted": brief.omitted,
    }
    return Answer(text, data)


def _identity(call: Call, project: str | None) -> Iterator[str]:
    identity = call.config.identity
    if identity.user:
        yield f"user: {identity.user}"
    if identity.instance:
        yield f"forge: {identity.instance}"
    if project:
        yield f"project: {format_project(project)}"
