"""Runs a correction through the real plugin: a statement of one session, and what the user types in a later one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from opencode_memory.models import Memory, Status
from support.bridge import Plugin, answered, began, idle, said
from support.mcp import Resident, World

FOLDER: Final = Path(__file__).parents[1] / "data" / "corrections"
DAY_SECONDS: Final = 86_400.0
CORRECTED: Final = ("superseded", "contradicts")
"""Outcomes in which a reader gets the new statement first."""


@dataclass(frozen=True)
class Correction:
    """Two statements on one subject.

    Attributes:
        kind: Kind of the subject, for example "port".
        first: What the user says first.
        then: The user's message in a later session.
        how: How the first statement is stored: "typed" (learned from the session), "remember" (the command), or
            "agent" (the tool, in words that the user typed).
        stored: Content that the agent stores.
        scope: Category that the agent gives.
        wanted: Pattern of the new statement.
        gone: Pattern of the old statement.
        cue: Whether the message says that something changed.
        elsewhere: Whether the later message belongs to another project.
        agent: Later answer of the agent.
        asks: What the user types in the session after that, on the same subject.
    """

    kind: str
    first: str
    then: str
    how: str = "remember"
    stored: str = ""
    scope: str = "fact"
    wanted: str = ""
    gone: str = ""
    cue: bool = False
    elsewhere: bool = False
    agent: str = "Done."
    asks: str = ""


@dataclass(frozen=True)
class Outcome:
    """State of the store after the later message.

    Attributes:
        name: One of ``CORRECTED``, or "both" (unlinked, or the old one first), "old alone", "neither", "never stored".
        old: The memory of the first statement.
        new: Active memories of the later message.
    """

    name: str
    old: Memory | None
    new: tuple[Memory, ...]


def read_corrections(name: str) -> Iterator[Correction]:
    """Read the corrections of a file."""
    for line in (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8").splitlines():
        yield Correction(**json.loads(line))


def run_correction(world: World, server: Resident, pair: Correction, name: str) -> Outcome:
    """Store the first statement, let the user type the message a day later, and return the outcome."""
    folder = world.repository(name)
    with Plugin(server.url, folder) as plugin:
        _say_first(plugin, world, pair, f"ses_{name}_1")
    _work(world)
    project = f"gitlab.com/group/{name}"
    old = next(iter(_list_active(world, project)), None)
    world.pass_time(DAY_SECONDS)
    later = world.repository(f"{name}-other") if pair.elsewhere else folder
    with Plugin(server.url, later) as plugin:
        _talk(plugin, world, f"ses_{name}_2", pair.then, pair.agent)
    _work(world)
    return _judge(world, pair, old, project)


@dataclass(frozen=True)
class Sight:
    """Statements in the block of the next session's request.

    Attributes:
        new: Whether it holds the new statement.
        old_alone: Whether it holds the old statement in full, and not the new one.
        block: The block.
    """

    new: bool
    old_alone: bool
    block: str


def ask_again(world: World, server: Resident, pair: Correction, name: str) -> Sight:
    """Let the user ask about the subject in a third session, and return what stands in the block of the request.

    Call it after ``run_correction`` with the same name.
    """
    world.pass_time(DAY_SECONDS)
    session = f"ses_{name}_3"
    with Plugin(server.url, world.folder / name) as plugin:
        plugin.happens(began(plugin.folder, session))
        block = plugin.shown(f"msg_{session}_1", pair.asks, session=session)
    new, old = _matches(block, pair.wanted), _matches(block, pair.gone)
    return Sight(new=new, old_alone=old and not new, block=block)


def _say_first(plugin: Plugin, world: World, pair: Correction, session: str) -> None:
    if pair.how == "remember":
        plugin.happens(began(plugin.folder, session))
        plugin.ask("command", sessionID=session, command="remember", arguments=pair.first)
    elif pair.how == "agent":
        at = round(world.now.timestamp() * 1000)
        plugin.happens(
            began(plugin.folder, session),
            *said(f"msg_{session}_1", pair.first, created=at, session=session),
            *answered(f"msg_{session}_2", "Noted.", created=at + 1, session=session),
        )
        arguments = {"content": pair.stored, "scope": pair.scope}
        answer = plugin.ask(
            "tool",
            sessionID=session,
            messageID=f"msg_{session}_2",
            agent="build",
            tool="memory-write",
            arguments=arguments,
        )
        assert not answer.get("is_error"), answer
        plugin.happens(idle(session))
        plugin.ask("compacting", sessionID=session)
    else:
        _talk(plugin, world, session, pair.first, "Understood.")


def _talk(plugin: Plugin, world: World, session: str, text: str, answer: str) -> None:
    """The user types a message, gets an answer and goes on; the learner reads the session."""
    at = round(world.now.timestamp() * 1000)
    plugin.happens(
        began(plugin.folder, session),
        *said(f"msg_{session}_1", text, created=at, session=session),
        *answered(f"msg_{session}_2", answer, created=at + 1, session=session),
        *said(f"msg_{session}_3", "Thanks.", created=at + 2, session=session),
        idle(session),
    )
    plugin.ask("compacting", sessionID=session)


def _work(world: World) -> None:
    """Do what the worker does between two sessions: embed and compare."""
    world.store.indexes.embed_pending()
    while world.store.indexes.link_new():
        pass


def _list_active(world: World, project: str) -> list[Memory]:
    listed = world.store.list(project=project, scope="project", limit=100)
    return [memory for memory in listed if memory.category != "conversation"]


def _judge(world: World, pair: Correction, old: Memory | None, project: str) -> Outcome:
    active = _list_active(world, project)
    if old is None:
        new = tuple(memory for memory in active if _holds(memory, pair.wanted))
        return Outcome("never stored", None, new)
    new = tuple(memory for memory in active if memory.id != old.id and _holds(memory, pair.wanted))
    state = world.store.get(old.id)
    if state.status is Status.SUPERSEDED:
        return Outcome("superseded" if new else "neither", state, new)
    if not new:
        return Outcome("old alone", state, new)
    return Outcome("contradicts" if _leads(world, state, new, project) else "both", state, new)


def _leads(world: World, old: Memory, new: tuple[Memory, ...], project: str) -> bool:
    """Return whether a new memory contradicts the old one and comes first when the old words are recalled."""
    linked = {found.memory.id for found in world.store.related(old.id, limit=50) if found.kind == "contradicts"}
    hits = [hit.memory.id for hit in world.store.recall(old.content, project=project, limit=10)]
    return any(memory.id in linked and hits.index(memory.id) < hits.index(old.id) for memory in new)


def _holds(memory: Memory, pattern: str) -> bool:
    return _matches(memory.content, pattern)


def _matches(text: str, pattern: str) -> bool:
    return re.search(rf"(?<!\w)(?:{_escape(pattern)})(?!\w)", text, re.IGNORECASE) is not None


def _escape(pattern: str) -> str:
    return "|".join(map(re.escape, pattern.split("|")))
