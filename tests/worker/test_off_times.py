"""The worker records which sources its configuration switches off, when it starts."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from opencode_memory import MemoryStore
from opencode_memory.config.load import load
from opencode_memory.learning.extraction.events import Message, SessionInfo
from opencode_memory.learning.off_times import find_unread
from opencode_memory.text import clock
from opencode_memory.worker.learning_duties import LearningDuties


def start_worker(
    store: MemoryStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_ms: int, **settings: str
) -> None:
    """Start the duties at a time, with these settings."""
    environment = {"HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin", "XDG_CONFIG_HOME": str(tmp_path / "config")}
    environment |= {f"OPENCODE_MEMORY_LEARNING_{key.upper()}": value for key, value in settings.items()}
    monkeypatch.setattr(clock, "now", lambda: datetime.fromtimestamp(at_ms / 1000, UTC))
    LearningDuties(store, load(environment=environment))


def is_unread(store: MemoryStore, at_ms: int, source: str = "opencode") -> bool:
    message = Message(id="msg_1", at_ms=at_ms, events=(), digest="")
    return bool(find_unread(store, [message], source=source, project="app", session=SessionInfo(id="ses_1")))


@pytest.mark.parametrize("settings", [{"enabled": "false"}, {"sources": "live"}, {"skip_projects": "app"}])
def test_message_between_two_starts_of_the_worker_stays_unread(
    store: MemoryStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, str]
) -> None:
    start_worker(store, tmp_path, monkeypatch, 1_000)
    start_worker(store, tmp_path, monkeypatch, 2_000, **settings)
    assert [is_unread(store, at) for at in (1_500, 2_500)] == [False, True]
    start_worker(store, tmp_path, monkeypatch, 3_000)
    assert [is_unread(store, at) for at in (500, 1_500, 2_500, 3_500)] == [False, False, True, False]
