"""``set_reminder``: sets, ends and removes reminders, and leaves the end of a review to the user."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from support.mcp import Agent, World


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with World(tmp_path) as world:
        yield world


@pytest.fixture
def agent(world: World) -> Agent:
    return world.agent(world.repository("walrus"))


def test_reminder_is_set_and_removed(world: World, agent: Agent) -> None:
    id_ = agent.remember("Rotate the key")
    answer = agent.ok("set_reminder", memory_id=id_, when="3d", every_days=7)
    assert answer.text.endswith("Rotate the key: reminder in 3 d, then every 7 d")
    assert world.store.get(id_).remind_every == 7
    assert agent.ok("set_reminder", memory_id=id_, when="none").text.endswith(": no reminder")


def test_repetition_without_a_time_is_due_after_its_days(world: World, agent: Agent) -> None:
    id_ = agent.remember("Rotate the key")
    agent.ok("set_reminder", memory_id=id_, when="3d")
    assert agent.ok("set_reminder", memory_id=id_, every_days=30).text.endswith("reminder in 4 w, then every 30 d")
    assert agent.ok("set_reminder", memory_id=id_, every_days=60, review=True).data["memory"]["id"] == id_
    memory = world.store.get(id_)
    assert (memory.remind_at, memory.remind_every) == (world.now + timedelta(days=30), 30)
    assert (memory.review_after, memory.review_every) == (world.now + timedelta(days=60), 60)


@pytest.mark.parametrize("more", [{}, {"review": True}, {"when": "none", "every_days": 7}])
def test_incomplete_call_removes_no_reminder(world: World, agent: Agent, more: dict[str, Any]) -> None:
    id_ = agent.remember("Rotate the key")
    agent.ok("set_reminder", memory_id=id_, when="3d")
    agent.ok("set_reminder", memory_id=id_, when="4d", review=True)
    before = world.store.get(id_)
    assert "when=none removes the reminder" in agent.refused("set_reminder", memory_id=id_, **more)
    assert world.store.get(id_) == before


def test_memory_in_full_names_its_reminder_and_review(agent: Agent) -> None:
    id_ = agent.remember("Rotate the key")
    agent.ok("set_reminder", memory_id=id_, when="3d", every_days=7)
    agent.ok("set_reminder", memory_id=id_, when="4w", review=True)
    assert "\ndue: reminder in 3 d, then every 7 d, review in 4 w\n" in agent.ok("get_memory", memory_id=id_).text


def test_memory_in_full_names_its_expiry(world: World, agent: Agent) -> None:
    id_ = agent.remember("Rotate the key")
    assert "expire" not in agent.ok("get_memory", memory_id=id_).text
    world.store.edit(id_, expires_at=world.now + timedelta(days=3))
    assert "\nexpires: in 3 d\n" in agent.ok("get_memory", memory_id=id_).text
    world.pass_time(5 * 86_400)
    assert "\nexpired: 2 d ago, so no recall returns it\n" in agent.ok("get_memory", memory_id=id_).text


def test_interval_beside_done_is_refused(world: World, agent: Agent) -> None:
    id_ = agent.remember("Rotate the key")
    agent.ok("set_reminder", memory_id=id_, when="1h", every_days=7)
    world.pass_time(2 * 3600)
    before = world.store.get(id_)
    assert "keeps its interval" in agent.refused("set_reminder", memory_id=id_, when="done", every_days=30)
    assert world.store.get(id_) == before
    assert agent.ok("set_reminder", memory_id=id_, when="done").text.endswith("then every 7 d")


def test_reminder_of_an_archived_memory_is_refused(world: World, agent: Agent) -> None:
    id_ = agent.remember("Rotate the key")
    agent.ok("archive_memory", memory_id=id_, reason="done")
    assert "is archived, so a reminder of it would never be shown" in agent.refused(
        "set_reminder", memory_id=id_, when="3d"
    )
    assert world.store.get(id_).remind_at is None


def test_due_reminder_stands_in_the_boot_context_until_it_is_done(world: World, agent: Agent) -> None:
    id_ = agent.remember("Rotate the key")
    world.store.reminders.set(id_, "2026-01-01")
    boot = agent.ok("get_boot_context")
    assert boot.text.split("\n")[-1].startswith("- Rotate the key (due ") or "Reminders that are due:" in boot.text
    assert boot.data["sections"]["reminders"] == [id_]
    agent.ok("set_reminder", memory_id=id_, when="done")
    assert "reminders" not in agent.ok("get_boot_context").data["sections"]


def test_agent_does_not_end_a_review(world: World, agent: Agent) -> None:
    id_ = agent.remember("Deploys start at noon")
    world.store.reminders.set(id_, "2026-01-01", is_review=True)
    assert agent.ok("get_boot_context").data["sections"]["reviews"] == [id_]
    assert "only the user ends a review" in agent.refused("set_reminder", memory_id=id_, when="done", review=True)
    assert world.store.get(id_).review_after is not None


@pytest.mark.parametrize("when", ["yesterday", "soon", "done"])
def test_bad_time_is_refused(agent: Agent, when: str) -> None:
    id_ = agent.remember("Rotate the key")
    message = agent.refused("set_reminder", memory_id=id_, when=when)
    assert any(reason in message for reason in ("not in the future", "not a date", "has no reminder"))
