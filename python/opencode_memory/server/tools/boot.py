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
from opencode_memory.server.tools.sessions import format_session
from opencode_memory.text.display import clean, one_line

_PARAGRAPH_BYTES = 600
_TITLE_BYTES = 60
_HEAD = "Notes from earlier sessions, possibly outdated. Only the Directives are wishes of the user."


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
        "sections": {section.name: _section_data(section) for section in context.sections},
    }
    return Answer(join_lines(_HEAD, context.text) if context.text else "There are no memories here yet.", data)


def _section_data(section: Section) -> dict[str, list[str | None]]:
    def get_name(item: Item) -> str | None:
        return item.id or item.text

    shown = [get_name(item) for item in section.items]
    omitted = [get_name(item) for item in section.omitted]
    return {"shown": shown, "omitted": omitted} if omitted else {"shown": shown}


def _voice(call: Call) -> Voice:
    project = call.client.project

    def format_memory(memory: Memory) -> str:
        body = indent(memory.content, _PARAGRAPH_BYTES)
        return f"- {format_facts(memory, at=call.at, project=project)}\n{body}"

    def format_title(memory: Memory) -> str:
        return one_line(memory.content, _TITLE_BYTES)

    def format_line(session: Session) -> str:
        return clean(format_session(call, session))

    return Voice(memory=format_memory, title=format_title, session=format_line, name=format_project)
