"""The tool that an agent calls first in a session."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from opencode_memory.context.boot import Voice, boot_context
from opencode_memory.context.token_budget import Item, Section
from opencode_memory.models import ALL_PROJECTS, Memory, Session
from opencode_memory.server.answers import Answer, format_facts, format_project, indent, join_lines
from opencode_memory.server.call import Call
from opencode_memory.server.toolbox import shape, tool
from opencode_memory.server.tools.argument_types import Project
from opencode_memory.server.tools.sessions import session_line
from opencode_memory.text.display import clean, one_line

_PARAGRAPH_BYTES = 600
_TITLE_BYTES = 60
_HEAD = "Notes from earlier sessions, maybe out of date; only those under Directives are the user's wishes."


@tool(reads=True, core=True, answers=shape(sections="object"))
def get_boot_context(
    call: Call,
    max_tokens: Annotated[int | None, Field(ge=200, le=100_000)] = None,
    project: Project = None,
) -> Answer:
    """Call first in a session. Returns directives, open blockers, active sessions, pinned and recent memories."""
    where = call.resolve_project(project)
    budget = max_tokens or call.config.boot.max_tokens
    head = call.count_tokens(_HEAD)
    context = boot_context(
        call.store,
        project=None if where == ALL_PROJECTS else where,
        identity=call.config.identity,
        config=call.config.boot,
        voice=_voice(call),
        count_tokens=call.count_tokens,
        at=call.at,
        max_tokens=budget - head,
    )
    data = {
        "project": where,
        "tokens": head + context.tokens,
        "sections": {section.name: _data(section) for section in context.sections},
    }
    return Answer(join_lines(_HEAD, context.text) if context.text else "Nothing is remembered here yet.", data)


def _data(section: Section) -> dict[str, list[str | None]]:
    def named(item: Item) -> str | None:
        return item.id or item.text

    shown = [named(item) for item in section.items]
    omitted = [named(item) for item in section.omitted]
    return {"shown": shown, "omitted": omitted} if omitted else {"shown": shown}


def _voice(call: Call) -> Voice:
    project = call.client.project

    def memory(one: Memory) -> str:
        body = indent(one.content, _PARAGRAPH_BYTES)
        return f"- {format_facts(one, at=call.at, project=project)}\n{body}"

    def title(one: Memory) -> str:
        return one_line(one.content, _TITLE_BYTES)

    def session(one: Session) -> str:
        return clean(session_line(call, one))

    return Voice(memory=memory, title=title, session=session, name=format_project)
