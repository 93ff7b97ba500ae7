"""Session duty: its job indexes the turns of OpenCode's database, follows it, and forgets what must not be read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from opencode_memory import MemoryStore, StorageError
from opencode_memory.config.load import load
from opencode_memory.text import clock as real_clock
from opencode_memory.worker.duty import Duty
from opencode_memory.worker.learning_duties import OPENCODE, LearningDuties
from opencode_memory.worker.run import enqueue_due_jobs, run_next_job
from opencode_memory.worker.session_duty import SESSIONS
from support.opencode import FakeOpenCode
from support.stores import NOW_MS, set_clock

LATER_MS = 3_600_000


class Scene:
    """A store, and OpenCode's database with one session of one turn each of the user and the agent."""

    def __init__(self, store: MemoryStore, folder: Path, opencode: FakeOpenCode) -> None:
        self.store = store
        self.path = folder / "opencode.db"
        self._folder = folder
        self._opencode = opencode
        self.add_session("ses_bees", "Why do the bees refuse the new hive?")

    def add_session(self, id: str, text: str) -> None:
        at = self.store._engine.now_ms() - 20_000
        self._opencode.session(id, at=at)
        self._opencode.user(id, f"msg_{id}_1", text, at=at)
        self._opencode.agent(id, f"msg_{id}_2", "Its entrance faces north.", at=at + 1)

    def duties(self, kind: str = SESSIONS, **settings: str) -> dict[str, Duty]:
        environment = {
            "HOME": str(self._folder),
            "XDG_CONFIG_HOME": str(self._folder / "config"),
            "OPENCODE_MEMORY_LEARNING_OPENCODE_DB": str(self.path),
            **{f"OPENCODE_MEMORY_LEARNING_{name.upper()}": value for name, value in settings.items()},
        }
        found = LearningDuties(self.store, load(environment=environment)).duties()
        return {duty.kind: duty for duty in found if duty.kind == kind}

    def work(self, duties: dict[str, Duty], *, most: int = 20) -> int:
        """Run the due jobs; return how many steps they took."""
        for steps in range(most):
            enqueue_due_jobs(self.store, tuple(duties.values()))
            if not run_next_job(self.store, duties, worker="w", now=self.now):
                return steps
        raise AssertionError("the worker never comes to rest")

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.store._engine.now_ms() / 1000, UTC)

    def wait(self) -> None:
        set_clock(self.store, self.store._engine.now_ms() + LATER_MS)

    def size(self) -> tuple[int, int]:
        counts = self.store.turns.counts()
        return counts.sessions, counts.turns


@pytest.fixture
def scene(store: MemoryStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    set_clock(store, NOW_MS)
    monkeypatch.setattr(real_clock, "now", lambda: datetime.fromtimestamp(store._engine.now_ms() / 1000, UTC))
    with FakeOpenCode(tmp_path / "opencode.db") as opencode:
        yield Scene(store, tmp_path, opencode)


def test_job_indexes_the_turns_and_is_not_due_again_without_news(scene: Scene) -> None:
    duties = scene.duties()
    assert scene.work(duties) > 0
    assert scene.size() == (1, 2)
    assert scene.store.turns.counts().databases == (str(scene.path),)
    assert scene.store.jobs.list() == []
    scene.wait()
    assert scene.work(scene.duties()) == 0


def test_later_session_is_added(scene: Scene) -> None:
    scene.work(scene.duties())
    scene.wait()
    scene.add_session("ses_wax", "Which frames hold the oldest wax?")
    assert scene.work(scene.duties()) > 0
    assert scene.size() == (2, 4)


@pytest.mark.parametrize("reason", ["missing", "switched off"])
def test_index_is_emptied_if_the_database_must_not_be_read(scene: Scene, reason: str) -> None:
    scene.work(scene.duties())
    scene.wait()
    settings = {"opencode_db": str(scene.path.with_name("gone.db"))} if reason == "missing" else {"sources": "live"}
    assert scene.work(scene.duties(**settings)) > 0
    assert scene.size() == (0, 0)
    scene.wait()
    assert scene.work(scene.duties(**settings)) == 0


def test_unreadable_database_postpones_the_job_and_says_why(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    broken = scene.path.with_name("broken.db")
    broken.write_text("no database at all " * 100, encoding="utf-8")
    scene.work(scene.duties(opencode_db=str(broken)))
    [job] = scene.store.jobs.list()
    assert (job.kind, job.dead_at) == (SESSIONS, None)
    assert scene.now() < job.run_at <= scene.now() + timedelta(minutes=10)
    [warning] = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert f"the sessions cannot be indexed: {broken} is not a SQLite database" in warning


@pytest.mark.parametrize("kind", [SESSIONS, OPENCODE])
def test_full_disk_is_not_blamed_on_the_database_of_opencode(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, kind: str
) -> None:
    full = True

    def refuse(real: Callable[[Any], Any], arguments: Any) -> Any:
        if full:
            raise StorageError("write to store.db: there is no space left", path="store.db")
        return real(arguments)

    writer, name = (scene.store.turns, "add") if kind == SESSIONS else (scene.store.learning, "write")
    monkeypatch.setattr(writer, name, partial(refuse, getattr(writer, name)))
    scene.work(scene.duties(kind))
    [warning] = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert "there is no space left" in warning
    assert "OpenCode" not in warning
    [job] = scene.store.jobs.list()
    assert (job.attempts, job.run_at) == (0, scene.now() + timedelta(seconds=30))
    full = False
    set_clock(scene.store, NOW_MS + 30_000)
    assert scene.work(scene.duties(kind)) > 0
    assert scene.store.jobs.list() == []
