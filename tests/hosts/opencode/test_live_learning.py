"""Learning from forwarded events: once per message, written when the session rests."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from opencode_memory import MemoryStore
from opencode_memory.config.load import load
from opencode_memory.hosts.opencode.feed.live_learning import REST, LiveLearning
from opencode_memory.learning.switches import Switches, pause
from opencode_memory.projects.resolver import ProjectResolver
from opencode_memory.worker.learning_duties import LearningDuties
from opencode_memory.worker.run import run_next_job
from support.stores import NOW_MS, set_clock

RECORDED = Path(__file__).parents[2] / "data" / "opencode" / "events.jsonl"
SESSION = "ses_live"


def said(message: str, text: str, created: int) -> list[dict[str, Any]]:
    """The events of one message of the person."""
    info = {"id": message, "sessionID": SESSION, "role": "user", "time": {"created": created}}
    part = {"id": f"prt_{message}", "messageID": message, "sessionID": SESSION, "type": "text", "text": text}
    return [
        {"type": "message.updated", "properties": {"sessionID": SESSION, "info": info}},
        {"type": "message.part.updated", "properties": {"sessionID": SESSION, "part": part}},
    ]


def begun(folder: Path) -> dict[str, Any]:
    info = {"id": SESSION, "directory": str(folder), "title": "A title"}
    return {"type": "session.created", "properties": {"info": info}}


IDLE = {"type": "session.idle", "properties": {"sessionID": SESSION}}


@pytest.fixture
def live(store: MemoryStore) -> LiveLearning:
    return LiveLearning(store, projects=ProjectResolver(store, {}), switches=Switches(), rest_seconds=60)


def rest(store: MemoryStore, *, after_ms: int = 61_000) -> None:
    """Do the jobs that are due some time later."""
    set_clock(store, NOW_MS + after_ms)
    settings = {"HOME": "/nowhere", "OPENCODE_MEMORY_LEARNING_REST_SECONDS": "60"}
    duties = {duty.kind: duty for duty in LearningDuties(store, load(environment=settings)).duties()}
    moment = datetime.fromtimestamp((NOW_MS + after_ms) / 1000, UTC)
    while run_next_job(store, {REST: duties[REST]}, worker="w", now=lambda: moment):
        pass


def learned(store: MemoryStore) -> list[str]:
    return [memory.content for memory in store.list(project="*", limit=100)]


def test_memory_is_written_when_the_session_rests(store: MemoryStore, live: LiveLearning, tmp_path: Path) -> None:
    events = [begun(tmp_path), *said("msg_1", "We decided to use PostgreSQL for the ledger.", NOW_MS), IDLE]
    live.take({"directory": str(tmp_path), "events": events}, at_ms=NOW_MS)
    assert learned(store) == []
    rest(store)
    assert learned(store) == ["We decided to use PostgreSQL for the ledger."]
    assert store.jobs.list() == []


def test_memory_taken_back_before_rest_is_not_written(store: MemoryStore, live: LiveLearning, tmp_path: Path) -> None:
    first = [begun(tmp_path), *said("msg_1", "We decided to use PostgreSQL for the ledger.", NOW_MS), IDLE]
    second = [*said("msg_2", "No wait, scratch that.", NOW_MS + 1), IDLE]
    for events in (first, second):
        live.take({"directory": str(tmp_path), "events": events}, at_ms=NOW_MS)
    rest(store)
    assert learned(store) == []


def test_a_session_that_goes_on_does_not_rest(store: MemoryStore, live: LiveLearning, tmp_path: Path) -> None:
    first = [begun(tmp_path), *said("msg_1", "We decided to use PostgreSQL for the ledger.", NOW_MS), IDLE]
    live.take({"directory": str(tmp_path), "events": first}, at_ms=NOW_MS)
    # An answer, but no word of the person yet.
    live.take({"directory": str(tmp_path), "events": [IDLE]}, at_ms=NOW_MS + 50_000)
    rest(store, after_ms=61_000)
    assert learned(store) == []
    rest(store, after_ms=111_000)
    assert learned(store) == ["We decided to use PostgreSQL for the ledger."]


def test_a_paused_session_is_passed_over_for_good(store: MemoryStore, live: LiveLearning, tmp_path: Path) -> None:
    pause(store, SESSION, paused=True)
    events = [begun(tmp_path), *said("msg_1", "We decided to use PostgreSQL for the ledger.", NOW_MS), IDLE]
    live.take({"directory": str(tmp_path), "events": events}, at_ms=NOW_MS)
    pause(store, SESSION, paused=False)
    LiveLearning(store, projects=ProjectResolver(store, {}), switches=Switches(), rest_seconds=60).take(
        {"directory": str(tmp_path), "events": events}, at_ms=NOW_MS
    )
    rest(store)
    assert learned(store) == []


def test_a_recorded_session_of_opencode_gives_its_solution(store: MemoryStore, live: LiveLearning) -> None:
    for line in RECORDED.read_text(encoding="utf-8").splitlines():
        event = json.loads(line)
        live.take({"directory": "/home/dev/project", "events": [event.get("payload", event)]}, at_ms=NOW_MS)
    rest(store)
    assert any(text.startswith("`python3 test_adder.py` failed") for text in learned(store)), learned(store)
