"""A learned memory that is deleted by a tool or a command is not learned again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from opencode_memory.learning.extraction.events import Message, SessionInfo, UserText
from opencode_memory.learning.learner import Learner
from opencode_memory.text.formatting import short_id
from support.bridge import PROJECT
from support.mcp import World
from support.session_calls import Session
from support.stores import NOW_MS

RULE = "From now on always run ruff before you commit."
EVERY = ["active", "candidate", "superseded"]
Away = Callable[[World, Session, Path, str], object]

AWAY: dict[str, Away] = {
    "memory-delete": lambda world, session, folder, id: session.tool("memory-delete", id=id),
    "delete_memory": lambda world, session, folder, id: world.agent(folder).ok("delete_memory", memory_id=id),
    "/forget": lambda world, session, folder, id: session.command("forget", short_id(id)),
}


def learn(world: World, session: str) -> tuple[str, ...]:
    message = Message(id=f"msg_{session}", at_ms=NOW_MS, events=(UserText(text=RULE),), digest=session)
    info = SessionInfo(id=session, directory="/home/ann/walrus")
    return Learner(world.store).process(info, [message], project=PROJECT, at_ms=NOW_MS, is_idle=True).active


@pytest.mark.parametrize("way", AWAY)
def test_deleted_memory_is_not_learned_again(world: World, session: Session, folder: Path, way: str) -> None:
    [id_, *_] = [memory for memory in learn(world, "ses_a") if world.store.get(memory).content == RULE]
    AWAY[way](world, session, folder, id_)
    learn(world, "ses_b")
    assert RULE not in [memory.content for memory in world.store.list(project=PROJECT, status=EVERY)]


def test_memory_archived_by_an_agent_may_be_learned_again(world: World, session: Session, folder: Path) -> None:
    [id_, *_] = [memory for memory in learn(world, "ses_a") if world.store.get(memory).content == RULE]
    world.agent(folder).ok("archive_memory", memory_id=id_)
    learn(world, "ses_b")
    assert RULE in [memory.content for memory in world.store.list(project=PROJECT, status=EVERY)]
