"""Carries out a plan that was approved without a loop: in the session that wrote it, or in a new one.

The ids of the message are part of the approval, so the message is sent once however often this is tried.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import anyio.to_thread

from opencode_memory.errors import OpencodeMemoryError
from opencode_memory.loops.host import Host, HostError, HostNotFoundError
from opencode_memory.loops.models import has_model, parse_model
from opencode_memory.loops.turn import Progress, read_turn
from opencode_memory.plans import Approval, Mode, Plan, Plans
from opencode_memory.text.display import one_line

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore

_HEAD: Final = "The plan below was approved by the user. Carry it out, and run its verification commands at the end."
_SECONDS: Final = 60.0
_MODEL_BYTES: Final = 100
_log: Final = logging.getLogger(__name__)
_AGENTS: Final = ("code", "build")


async def carry_out_plan(store: MemoryStore, host: Host, plan: Plan, *, model: str | None) -> Plan:
    """Send an approved plan to a session, unless that was done before. Return the plan.

    Args:
        store: The store.
        host: OpenCode.
        plan: The plan.
        model: The model of a new session, as ``provider/model``; None for OpenCode's default.

    Raises:
        HostError: OpenCode does not answer as expected; the call can be repeated.
    """
    approval, plans = plan.approval, Plans(store, plan.project)
    if approval is None or approval.message is None:
        raise OpencodeMemoryError(f"the plan [{plan.id}] is not approved for a session")
    directory = plan.directory or str(host.folder)
    session = approval.session or (plan.session if approval.mode is Mode.HERE else None)
    messages = None if session is None else await _find_messages(host, session, directory)
    if session is None or messages is None:
        session = await _create_session(host, plan, directory)
        messages = await _find_messages(host, session, directory)
    approval = replace(approval, session=session)
    path = f"/session/{session}"
    if read_turn(messages or [], approval.message or "").progress is Progress.ABSENT:
        text = await anyio.to_thread.run_sync(lambda: plans.text(plan))
        body = await _render_prompt(host, approval, f"{_HEAD}\n\n{text}", directory=directory, model=model)
        await host.request("POST", f"{path}/prompt_async", directory=directory, body=body, seconds=_SECONDS)
    if session != plan.session:
        await _show(host, session)
    started = approval
    return await anyio.to_thread.run_sync(lambda: plans.note_started(plan, started))


async def _find_messages(host: Host, session: str, directory: str) -> list[Any] | None:
    """Return the messages of a session; None if the user has deleted it."""
    try:
        found = await host.request("GET", f"/session/{session}/message", directory=directory, seconds=_SECONDS)
    except HostNotFoundError:
        return None
    return found if isinstance(found, list) else []


async def _create_session(host: Host, plan: Plan, directory: str) -> str:
    about = {"plan": plan.id}
    found = await host.request("GET", "/session", directory=directory, query={"search": plan.title})
    for session in found if isinstance(found, list) else ():
        match session:
            case {"id": str(id_), "metadata": {"opencode_memory": dict(known)}} if known == about:
                return id_
    body = {"title": plan.title, "metadata": {"opencode_memory": about}}
    created = await host.request("POST", "/session", directory=directory, body=body, seconds=_SECONDS)
    return str(created["id"])


async def _render_prompt(
    host: Host, approval: Approval, text: str, *, directory: str, model: str | None
) -> dict[str, Any]:
    body: dict[str, Any] = {
        "messageID": approval.message,
        "parts": [{"id": approval.part, "type": "text", "text": text, "synthetic": False}],
    }
    agents = await host.request("GET", "/agent", directory=directory)
    known = {agent.get("name") for agent in agents if isinstance(agent, Mapping)} if isinstance(agents, list) else set()
    agent = next((name for name in _AGENTS if name in known), None)
    if agent is not None:
        body["agent"] = agent
    if model is not None and approval.mode is Mode.NEW:
        providers = await host.request("GET", "/config/providers", directory=directory)
        if has_model(providers, model):
            body["model"] = parse_model(model)
        else:
            await _say_missing(host, model)
    return body


async def _say_missing(host: Host, model: str) -> None:
    """Tell the user that OpenCode does not have the configured model."""
    said = f"OpenCode has no model {one_line(model, _MODEL_BYTES)} (loop.execution_model), so its default is used"
    _log.warning("%s", said)
    body = {"title": "opencode-memory", "message": said, "variant": "warning"}
    with suppress(HostError):  # OpenCode may have no screen; the log has the line.
        await host.request("POST", "/tui/show-toast", directory=str(host.folder), body=body)


async def _show(host: Host, session: str) -> None:
    """Show the new session in the terminal, if there is one."""
    try:
        body = {"sessionID": session}
        await host.request("POST", "/tui/select-session", directory=str(host.folder), body=body)
    except HostError:
        return  # OpenCode has no screen.
