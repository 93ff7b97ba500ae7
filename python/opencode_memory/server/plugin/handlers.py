"""Handlers of the plugin's requests: memories for a message, compactions, slash commands and tools.

They block, so they run on threads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from opencode_memory.context.decide import Request, decide
from opencode_memory.context.fork import copy_decisions
from opencode_memory.context.lateness import Cause
from opencode_memory.errors import ConflictError
from opencode_memory.hosts.opencode.loaded_files import find_loaded_files
from opencode_memory.learning.extraction.events import SessionInfo
from opencode_memory.learning.switches import Switches
from opencode_memory.reviews import branch_of, open_findings
from opencode_memory.server.call import SessionCall
from opencode_memory.server.plugin.commands import run_command
from opencode_memory.server.plugin.commands.answer import WaitingAnswers
from opencode_memory.server.plugin.tools import TOOLS
from opencode_memory.server.toolbox import finish_write, run
from opencode_memory.store.ledger import Decision, State
from opencode_memory.text import clock
from opencode_memory.text.clock import to_ms
from opencode_memory.text.suggest import did_you_mean

if TYPE_CHECKING:
    from opencode_memory.server.client_project import ClientProjects
    from opencode_memory.server.plugin.opencode_client import SessionFacts
    from opencode_memory.server.plugin.protocol import CommandParams, MessagesParams, SettledParams, ToolParams
    from opencode_memory.server.server_state import ServerState

_TRIES: Final = 3
_STATES: Final = {"shown": State.SHOWN, "late": State.LATE}
_TOOLS: Final = {tool.name: tool for tool in TOOLS}


@dataclass(frozen=True, slots=True)
class PreviousSummary:
    """Summary of the session's previous compaction.

    Attributes:
        summary: Its text; None if the session was never compacted.
        is_known: Whether OpenCode has answered.
    """

    summary: str | None = None
    is_known: bool = True


@dataclass(frozen=True, slots=True)
class PluginContext:
    """The plugin's folder and the server that serves the plugin.

    Attributes:
        server: The server's state.
        projects: Finds the project of a folder.
        folder: The folder of its instance of OpenCode.
        answers: Answers of commands whose messages are not known yet.
    """

    server: ServerState
    projects: ClientProjects
    folder: Path
    answers: WaitingAnswers = field(default_factory=WaitingAnswers)

    @property
    def project(self) -> str | None:
        """Project of the folder. Looked up each time, because the user may rename the project."""
        return self.projects.scope((self.folder,)).project

    def call(self, *, session: str, message: str | None = None, agent: str | None = None) -> SessionCall:
        """Return the call of a tool or a command."""
        client = self.projects.scope((self.folder,))
        return SessionCall(self.server, client, clock.now(), session=session, message=message, agent=agent)

    def refresh_project(self) -> None:
        """Update the identity of the folder's project, for example after a remote was added."""
        self.projects.refresh((self.folder,))


def handle_messages(context: PluginContext, params: MessagesParams, facts: SessionFacts) -> dict[str, Any]:
    """Decide the block of a message, and return it with the blocks of the other visible messages."""
    if facts.is_ours:
        return {"blocks": {}}
    created = {message: time for message, time in zip(params.visible, params.created, strict=False) if time}
    request = Request(
        session=params.session,
        message=params.message.id,
        created=created.get(params.message.id),
        # If OpenCode continues by itself, the user wrote no text. Then the summary is the query.
        text=params.message.text or params.summary or "",
        project=context.project,
        visible=frozenset(params.visible),
        summary=params.summary or "",
        is_subagent=facts.parent is not None,
        in_command=context.answers.take(params.session, params.message.text),
        find_loaded=partial(find_loaded_files, context.folder, context.server.config.environment, params.instructions),
    )
    ledger = context.server.store.ledger
    past = ledger.decisions(params.session)
    if not past:
        copied = {message: time for message, time in created.items() if message != params.message.id}
        past = copy_decisions(ledger, params.session, project=request.project, created=copied)
    decision = _decide(context.server, request, past)
    blocks = {
        earlier.message: earlier.text
        for earlier in past
        if earlier.text and earlier.message in request.visible and earlier.state is State.SHOWN
    }
    if decision.text and decision.state in {State.OFFERED, State.SHOWN}:
        blocks[decision.message] = decision.text
    return {"blocks": blocks}


def _decide(server: ServerState, request: Request, past: Sequence[Decision]) -> Decision:
    config = server.config
    for _ in range(_TRIES):
        try:
            return decide(
                server.store,
                request,
                config=config.injection,
                brief=config.brief,
                count=server.count_tokens,
                at=clock.now(),
                past=past,
            )
        except ConflictError:
            continue  # A memory was deleted between the search and the decision.
    raise ConflictError(f"memories change too fast to decide message {request.message}; try again")


def handle_settled(context: PluginContext, params: SettledParams) -> None:
    """Record whether a decision was shown or came too late. Without a decision, record a late one."""
    ledger, state = context.server.store.ledger, _STATES[params.state]
    is_settled = ledger.settle(params.session, params.message, state)
    if state is State.SHOWN:
        return
    # A decision that was offered waited for the plugin only, so its server was too slow.
    cause = Cause.SLOW if is_settled else Cause(params.cause or Cause.SLOW)
    if not is_settled:
        late = Decision(
            session=params.session,
            message=params.message,
            project=context.project,
            state=State.LATE,
            about={"kind": "message", "reason": "no answer in time", "cause": cause},
        )
        if ledger.decide(late).state is not State.LATE:
            return
    context.server.count_late(cause)


def handle_compacting(
    context: PluginContext, session: str, facts: SessionFacts, previous: PreviousSummary
) -> dict[str, Any]:
    """Return the context that a compaction must keep."""
    # Sessions are compacted long after the server has started, or never.
    from opencode_memory.context.compaction import build_compaction, collect_for_compaction  # noqa: PLC0415

    server = context.server
    config = server.config.compaction
    if not config.enabled or facts.is_ours:
        return {"context": []}
    now, project = clock.now(), context.project
    branch = branch_of(context.folder)
    block = collect_for_compaction(
        server.store,
        session=session,
        project=project,
        findings=[finding.line_of_text for finding in open_findings(server.store, project, branch)],
        max_tokens=config.max_tokens,
        count=server.count_tokens,
        at=now,
    )
    # Our prompt replaces OpenCode's. Without the previous summary, its content would be lost.
    compaction = build_compaction(
        block,
        custom_prompt=config.custom_prompt and previous.is_known,
        previous=previous.summary,
        is_learned=_is_learned(server, project, SessionInfo(id=session, parent=facts.parent)),
    )
    if block.text:
        server.store.ledger.decide(
            Decision(
                session=session,
                message=f"compaction:{to_ms(now)}",
                project=project,
                state=State.SHOWN,
                tokens=block.tokens,
                # The text is sent only once, so do not store it. Otherwise a purge would have to find it, too.
                about={"kind": "compaction", "memories": [memory.id for memory in block.shown]},
            )
        )
    answer: dict[str, Any] = {"context": list(compaction.context)}
    return answer if compaction.prompt is None else answer | {"prompt": compaction.prompt}


def _is_learned(server: ServerState, project: str | None, session: SessionInfo) -> bool:
    """Return whether the summary of a session will be read; the user of a subagent's session is an agent."""
    switches = Switches.from_config(server.config.learning)
    is_read = switches.is_enabled("live") or switches.is_enabled("opencode")
    return is_read and session.parent is None and not switches.skips(server.store, project, session)


def handle_command(context: PluginContext, params: CommandParams) -> dict[str, Any]:
    """Run a slash command. The text for the model replaces the template, and the user sees what was typed."""
    answer = run_command(context.call(session=params.session), params.command, params.arguments)
    if answer is None:
        return {}
    finish_write(context.server, context.refresh_project)
    typed = f"/{params.command} {params.arguments}".strip()
    context.answers.add(params.session, typed, answer.in_full)
    return {"text": answer.text, "typed": typed}


def handle_tool(context: PluginContext, params: ToolParams) -> dict[str, Any]:
    """Run a tool of the plugin."""
    asked = params.tool[:80]
    known = _TOOLS.get(params.tool)
    if known is None:
        return {"text": f"there is no tool {asked!r}; {did_you_mean(asked, _TOOLS)}", "is_error": True}
    if not isinstance(params.arguments, Mapping):
        return {"text": "arguments: expected an object", "is_error": True}
    call = context.call(session=params.session, message=params.message or None, agent=params.agent or None)
    outcome = run(context.server, lambda: call, known, params.arguments, refresh_project=context.refresh_project)
    return {"text": outcome.text, "is_error": outcome.is_error}
