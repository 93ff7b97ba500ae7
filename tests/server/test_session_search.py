"""Sessions through MCP: ``recall`` returns turns beside memories, and ``get_session`` opens one with its neighbours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from opencode_memory.models import Turn
from opencode_memory.store.turns import NewTurn, SessionPage
from support.mcp import Agent, World

TEXTS = {
    "msg_1": "Why do the bees refuse the new hive?",
    "msg_2": "The hive entrance faces north, so it stays cold.",
    "msg_3": "Turn every hive entrance to the south-east then.",
}


class PlainTexts:
    """Stands in for OpenCode's database."""

    def read(self, turns: Sequence[Turn]) -> list[Turn | None]:
        return [replace(turn, text=TEXTS[turn.message], title="Cold hives") for turn in turns]


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Agent]:
    with World(tmp_path) as world:
        folder = world.repository("apiary")
        world.repository("shop")
        agent = world.agent(folder)
        agent.remember("Hives are inspected on Mondays.")
        store = world.store
        project = next(project.name for project in store.projects.list() if project.name.endswith("apiary"))
        store.turns.texts = PlainTexts()
        turns = [
            NewTurn(
                message=name,
                speaker="assistant" if name == "msg_2" else "user",
                time=datetime(2026, 1, 2, tzinfo=UTC),
                text=text,
            )
            for name, text in TEXTS.items()
        ]
        assert store.turns.add([SessionPage(database="/agent.db", session="ses_1", project=project, turns=turns)])
        yield agent


def test_recall_returns_turns_beside_memories(agent: Agent) -> None:
    reply = agent.ok("recall", query="which way does the hive entrance face?")
    assert "msg_3" in [turn["message"] for turn in reply.data["sessions"]]
    assert "the user" in reply.text
    assert "Cold hives" in reply.text
    assert "word for word" in reply.text


def test_sources_select_memories_or_sessions(agent: Agent) -> None:
    memories = agent.ok("recall", query="hive entrance inspected", sources="memories")
    assert "sessions" not in memories.data
    sessions = agent.ok("recall", query="hive entrance", sources="sessions")
    assert sessions.data["memories"] == []
    assert sessions.data["sessions"]
    agent.refused("recall", query="hive", sources="files")


def test_get_session_shows_the_neighbours(agent: Agent) -> None:
    reply = agent.ok("get_session", message_id="msg_2", around=1)
    assert [turn["message"] for turn in reply.data["turns"]] == ["msg_1", "msg_2", "msg_3"]
    assert TEXTS["msg_2"] in reply.text


def test_unknown_message_is_refused(agent: Agent) -> None:
    assert "msg_9" in agent.refused("get_session", message_id="msg_9")


def test_session_of_another_project_is_not_read(agent: Agent, tmp_path: Path) -> None:
    with World(tmp_path / "other") as other:
        store = other.store
        store.turns.texts = PlainTexts()
        turn = NewTurn(message="msg_1", speaker="user", time=datetime(2026, 1, 2, tzinfo=UTC), text=TEXTS["msg_1"])
        assert store.turns.add([SessionPage(database="/agent.db", session="ses_1", project="elsewhere", turns=[turn])])
        stranger = other.agent(other.repository("shop"))
        stranger.remember("The shop opens at nine.")
        assert "msg_1" in stranger.refused("get_session", message_id="msg_1")
        assert "sessions" not in stranger.ok("recall", query="bees refuse the new hive").data
        without_folder = other.agent()
        assert "msg_1" in without_folder.refused("get_session", message_id="msg_1")
        assert "sessions" not in without_folder.ok("recall", query="bees refuse the new hive").data
