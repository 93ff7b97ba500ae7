"""A session that begins knows what was said last in the sessions before it, although they do not rest yet."""

from __future__ import annotations

import errno
import threading
from pathlib import Path
from typing import Any

import pytest

from opencode_memory.errors import StorageError
from opencode_memory.hosts.opencode.contract import OWN_TITLE
from opencode_memory.learning.extraction.events import SessionInfo
from opencode_memory.learning.learner import Learner, LearningResult
from opencode_memory.learning.switches import pause
from support.bridge import PROJECT, OpenCode, Plugin, answered, began, idle, known, said, until
from support.mcp import Resident, World
from support.stores import NOW_MS

BEFORE = "We decided to use SQLite for the ledger."
NOW = "We switched from SQLite to PostgreSQL for the ledger."
BEES = "gitlab.com/group/bees"


def active(world: World) -> set[str]:
    return {memory.content for memory in world.store.list(project="*")}


def turn(folder: Path, text: str = NOW, *, session: str = "ses_1", **more: Any) -> list[dict[str, Any]]:
    """The user says something, and the turn ends."""
    spoken = said(f"msg_{session}", text, created=NOW_MS, session=session)
    answer = answered(f"msg_{session}a", "Fine.", created=NOW_MS + 1, session=session)
    return [began(folder, session, **more), *spoken, *answer, idle(session)]


def test_first_message_shows_what_the_session_before_said_last(world: World, plugin: Plugin, folder: Path) -> None:
    known(world, BEFORE, "decision", trust="user")
    plugin.happens(*turn(folder))
    assert active(world) == {BEFORE}
    block = plugin.shown("msg_9", "hello", session="ses_2")
    assert NOW in block
    assert f"before: {BEFORE}" in block
    [memory] = world.store.list(project=PROJECT)
    assert (memory.source.session, memory.source.message, memory.trust) == ("ses_1", "msg_ses_1", "user")


def test_first_message_shows_what_was_said_in_an_opencode_that_has_ended(
    world: World, server: Resident, folder: Path
) -> None:
    with Plugin(server.url, folder) as before:
        before.happens(*turn(folder))
    with Plugin(server.url, folder) as after:
        assert NOW in after.shown("msg_9", "hello", session="ses_2")


def test_next_message_of_the_session_before_retracts_what_it_said_last(
    world: World, plugin: Plugin, folder: Path
) -> None:
    known(world, BEFORE, "decision", trust="user")
    plugin.happens(*turn(folder))
    assert NOW in plugin.shown("msg_9", "hello", session="ses_2")
    plugin.happens(*said("msg_ses_1b", "scratch that", created=NOW_MS + 5), idle("ses_1"))
    until(lambda: active(world) == {BEFORE})
    assert NOW not in plugin.shown("msg_9", "hello", session="ses_3")


def test_later_messages_and_continued_sessions_do_not_end_the_wait(world: World, plugin: Plugin, folder: Path) -> None:
    plugin.happens(*turn(folder))
    plugin.shown("msg_9", "hello", session="ses_2", visible=["msg_8"])
    plugin.shown("msg_9", "hello", session="ses_3", summary="Done.")
    plugin.shown("msg_ses_1", NOW, session="ses_1")
    assert active(world) == set()


def test_session_of_opencode_memory_does_not_end_the_wait(world: World, server: Resident, folder: Path) -> None:
    opencode = OpenCode(sessions={"ses_2": {"id": "ses_2", "title": f"{OWN_TITLE}digest"}})
    with Plugin(server.url, folder, opencode=opencode) as plugin:
        plugin.happens(*turn(folder))
        plugin.shown("msg_9", "hello", session="ses_2")
        assert active(world) == set()
        assert NOW in plugin.shown("msg_9", "hello", session="ses_3")


def test_statement_of_a_running_turn_waits(world: World, plugin: Plugin, folder: Path) -> None:
    world.pass_time(60)
    plugin.happens(*turn(folder, "hello"))
    later = int(world.now.timestamp() * 1000) + 1
    plugin.happens(*said("msg_2", NOW, created=later), *answered("msg_3", "Let me see.", created=later + 1, done=False))
    plugin.shown("msg_9", "hello", session="ses_2")
    assert active(world) == set()


def test_sessions_of_agents_other_projects_and_paused_sessions_wait(
    world: World, server: Resident, plugin: Plugin, folder: Path
) -> None:
    bees = world.repository("bees")
    with Plugin(server.url, bees) as theirs:
        theirs.happens(*turn(bees, session="ses_b"))
        plugin.happens(*turn(folder, session="ses_child", parentID="ses_0"))
        plugin.happens(*turn(folder, session="ses_1"))
        pause(world.store, "ses_1", paused=True)
        plugin.shown("msg_9", "hello", session="ses_2")
        assert active(world) == set()
        theirs.shown("msg_9", "hello", session="ses_3")
    assert {memory.content for memory in world.store.list(project=BEES)} == {NOW}
    assert world.store.list(project=PROJECT) == []


def test_first_message_does_not_wait_for_slow_or_failed_learning(
    world: World, plugin: Plugin, folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    known(world, BEFORE, "decision")
    plugin.happens(*turn(folder))
    leave = threading.Event()

    def slow(*_: Any, **__: Any) -> Any:
        assert leave.wait(60)
        raise StorageError("the disk is full")

    monkeypatch.setattr(Learner, "process", slow)
    try:
        assert BEFORE in plugin.shown("msg_9", "hello", session="ses_2")
    finally:
        leave.set()
    assert BEFORE in plugin.shown("msg_9", "hello", session="ses_3")
    assert "nothing was learned yet from session ses_1: the disk is full" in caplog.text


def test_session_that_cannot_be_learned_from_does_not_stop_the_others(
    world: World, plugin: Plugin, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plugin.happens(*turn(folder, "We decided to name the crane Bertha."), *turn(folder, session="ses_2"))
    usual = Learner.process

    def process(learner: Learner, info: SessionInfo, *given: Any, **more: Any) -> LearningResult:
        if info.id == "ses_1":
            raise StorageError("the project of the session is unreadable")
        return usual(learner, info, *given, **more)

    monkeypatch.setattr(Learner, "process", process)
    assert NOW in plugin.shown("msg_9", "hello", session="ses_3")
    assert active(world) == {NOW}
    monkeypatch.undo()
    assert "Bertha" in plugin.shown("msg_9", "hello", session="ses_4")


def test_session_whose_folder_cannot_be_reached_any_more_does_not_stop_the_others(
    world: World, plugin: Plugin, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = world.repository("bees")
    known(world, BEFORE, "decision", trust="user")
    plugin.happens(*turn(gone, "We decided to name the crane Bertha.", session="ses_b"), *turn(folder))
    usual = Path.is_dir

    def is_dir(path: Path, **more: Any) -> bool:
        if path == gone:
            raise OSError(errno.ENOTCONN, "Transport endpoint is not connected")
        return usual(path, **more)

    monkeypatch.setattr(Path, "is_dir", is_dir)
    assert NOW in plugin.shown("msg_9", "hello", session="ses_2")
