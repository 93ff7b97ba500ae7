"""Learning from feeds: OpenCode's database, the live feed, and the switches that turn learning off."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from opencode_memory.hosts.opencode.contract import OWN_TITLE
from opencode_memory.hosts.opencode.feed.event_stream import LiveFeed
from opencode_memory.learning.switches import Switches, pause, switch
from opencode_memory.models import Status
from opencode_memory.projects.resolver import ProjectResolver
from support.learning import (
    FOLDER,
    LEDGER,
    RUFF,
    SMALL,
    find_project,
    list_all,
    list_learned_everywhere,
    make_reader,
    process,
    say,
)
from support.opencode import EVENTS, FIRST_ENGINE, FORKS, LONG_AFTER_MS, SECOND_ENGINE


@pytest.mark.parametrize("page", [1, 2, 3, 7, 200])
@pytest.mark.parametrize("database", [FIRST_ENGINE, SECOND_ENGINE], ids=lambda path: path.stem)
def test_page_size_does_not_change_the_result(open_store, tmp_path, monkeypatch, database, page):
    same_by_pages(open_store, tmp_path, monkeypatch, database, page)


@pytest.mark.parametrize("page", [1, 2, 3, 7, 200])
def test_page_size_does_not_change_the_result_with_forks(open_store, tmp_path, monkeypatch, page):
    same_by_pages(open_store, tmp_path, monkeypatch, FORKS, page)


def same_by_pages(open_store, tmp_path, monkeypatch, database, page):
    from opencode_memory.hosts.opencode.feed import history_reader as module

    whole, pieces = open_store(tmp_path / "whole"), open_store(tmp_path / "pieces")
    expected = make_reader(whole, database).read(at_ms=LONG_AFTER_MS)
    monkeypatch.setattr(module, "_PAGE", page)
    found = make_reader(pieces, database).read(at_ms=LONG_AFTER_MS)

    assert found.messages == expected.messages > 0
    assert list_all(pieces, project="*") == list_all(whole, project="*")


def test_second_read_learns_no_messages(open_store, tmp_path):
    path = Path(shutil.copyfile(FORKS, tmp_path / "forks.db"))
    store = open_store()
    first = make_reader(store, path).read(at_ms=LONG_AFTER_MS)
    before = list_all(store, project="*")

    again = make_reader(store, path).read(at_ms=LONG_AFTER_MS)

    assert first.messages > 0
    assert (again.sessions, again.messages, again.active, again.waiting) == (0, 0, (), ())
    assert list_all(store, project="*") == before


def test_copied_database_adds_no_memories(open_store, tmp_path):
    store = open_store()
    make_reader(store, Path(shutil.copyfile(FORKS, tmp_path / "one.db"))).read(at_ms=LONG_AFTER_MS)
    before = list_all(store, project="*")

    again = make_reader(store, Path(shutil.copyfile(FORKS, tmp_path / "two.db"))).read(at_ms=LONG_AFTER_MS)

    assert again.messages == 0
    assert list_all(store, project="*") == before


def test_live_feed_and_database_process_each_message_once(open_store):
    import json

    store = open_store()
    feed, live = LiveFeed(), 0
    lines = [json.loads(line) for line in EVENTS.read_text(encoding="utf-8").splitlines()]
    for line in lines:
        for batch in feed.take({"directory": FOLDER, "events": [line]}):
            info = batch.session
            project = ProjectResolver(store, {}).of_session(info.directory)
            live += process(store, info, batch.messages, project=project, is_idle=False).messages
    read = make_reader(store, FORKS).read(at_ms=LONG_AFTER_MS)

    alone = open_store(store.data_dir.parent / "alone")
    expected = make_reader(alone, FORKS).read(at_ms=LONG_AFTER_MS)
    assert live > 0
    assert live + read.messages == expected.messages


@pytest.mark.parametrize(
    "text",
    [f"{LEDGER}\x00", f"\x00{RUFF}", f"\ud800{RUFF}", "\udfff"],
)
def test_unstorable_characters_do_not_stop_a_session(store, opencode, text):
    say(opencode, opencode.session("ses_1"), text, "Go on.")

    assert make_reader(store, opencode.path).read(at_ms=LONG_AFTER_MS).messages == 4


def test_new_messages_of_an_old_session_are_learned(store, opencode):
    say(opencode, opencode.session("ses_1"), "Hello there.")
    make_reader(store, opencode.path).read(at_ms=LONG_AFTER_MS)

    say(opencode, "ses_1", LEDGER, at=5_000)
    make_reader(store, opencode.path).read(at_ms=LONG_AFTER_MS)

    assert list_learned_everywhere(store) == [LEDGER]


def test_session_of_opencode_memory_itself_is_not_read(store, opencode):
    say(opencode, opencode.session("ses_1", parent="ses_0", title=f"{OWN_TITLE}digest"), LEDGER)

    report = make_reader(store, opencode.path).read(at_ms=LONG_AFTER_MS)

    assert (report.sessions, report.messages) == (0, 0)


def test_messages_of_a_disabled_project_are_never_learned(store, opencode):
    project = find_project(store)
    switch(store, project, on=False)
    say(opencode, opencode.session("ses_1"), LEDGER)
    make_reader(store, opencode.path).read(at_ms=LONG_AFTER_MS)
    assert list_learned_everywhere(store) == []

    switch(store, project, on=True)
    say(opencode, "ses_1", RUFF, at=5_000)
    make_reader(store, opencode.path).read(at_ms=LONG_AFTER_MS)

    assert list_learned_everywhere(store) == [RUFF]


def test_messages_of_a_skipped_project_are_never_learned(store, opencode):
    skips = Switches(skip_projects=[find_project(store)])
    say(opencode, opencode.session("ses_1"), LEDGER)

    make_reader(store, opencode.path, switches=skips).read(at_ms=LONG_AFTER_MS)
    make_reader(store, opencode.path).read(at_ms=LONG_AFTER_MS)

    assert list_learned_everywhere(store) == []


def test_paused_session_is_skipped_and_others_are_learned(store, opencode):
    say(opencode, opencode.session("ses_1"), LEDGER)
    say(opencode, opencode.session("ses_2"), RUFF)
    pause(store, "ses_1", paused=True)
    make_reader(store, opencode.path).read(at_ms=LONG_AFTER_MS)
    assert list_learned_everywhere(store) == [RUFF]

    pause(store, "ses_1", paused=False)
    say(opencode, "ses_1", SMALL, at=5_000)
    make_reader(store, opencode.path).read(at_ms=LONG_AFTER_MS)
    assert LEDGER not in [one.content for one in store.list(project="*", status=[*Status])]


def test_subagents_of_a_paused_session_are_skipped(store, opencode):
    opencode.session("ses_1")
    opencode.session("ses_child", parent="ses_1")
    say(opencode, "ses_1", "Do it.")
    say(opencode, "ses_child", "Do it.")
    for number in range(3):
        state = {
            "status": "completed",
            "input": {"command": "make secret-launch"},
            "output": "",
            "metadata": {"exit": 0},
            "time": {"start": 1, "end": 2},
        }
        opencode.message(
            "ses_child",
            f"msg_x{number}",
            {
                "role": "assistant",
                "mode": "build",
                "finish": "stop",
                "time": {"created": 6_000 + number, "completed": 6_001},
            },
            [
                {"type": "tool", "tool": "bash", "callID": f"c{number}", "state": state},
                {"type": "step-finish", "reason": "stop"},
            ],
            at=6_000 + number,
        )
    pause(store, "ses_1", paused=True)

    make_reader(store, opencode.path).read(at_ms=LONG_AFTER_MS)

    assert list_learned_everywhere(store) == []


@pytest.mark.parametrize(
    "switches", [Switches(enabled=False), Switches(sources=frozenset({"live", "markdown"}))], ids=["all", "source"]
)
def test_disabled_source_is_not_read(switches):
    assert not switches.is_enabled("opencode")


@pytest.mark.parametrize(
    ("given", "is_read"),
    [
        ({}, True),
        ({"learning.enabled": "false"}, False),
        ({"learning.sources": "live"}, False),
        ({"learning.sources": "opencode,live"}, True),
    ],
)
def test_worker_has_no_duty_for_a_disabled_source(store, tmp_path, given, is_read):
    from opencode_memory.config.load import load
    from opencode_memory.worker.learning_duties import LearningDuties

    loaded = load(environment={"HOME": str(tmp_path)}, options=given)

    assert ("opencode" in [duty.kind for duty in LearningDuties(store, loaded).duties()]) is is_read
