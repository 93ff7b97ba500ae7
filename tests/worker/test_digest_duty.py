"""Digest duty with a scripted server: nothing without consent, one session at a time, and failures that stay visible."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from opencode_memory import MemoryStore
from opencode_memory.config.load import load
from opencode_memory.learning.digest.budget import StoredUsage, Usage
from opencode_memory.learning.digest.queue import DigestQueue, Entry
from opencode_memory.models import Status
from opencode_memory.text import clock as real_clock
from opencode_memory.worker.duty import Duty
from opencode_memory.worker.learning_duties import LearningDuties
from opencode_memory.worker.run import enqueue_due_jobs, run_next_job
from support.digested_sessions import SUMMARY
from support.model_server import MODEL, ModelServer, Reply, digests, item, refuses, says
from support.opencode import FakeOpenCode
from support.stores import NOW_MS, SECOND_MS, files_holding, set_clock

KEY = "local-key-0123456789abcdef"
SESSION = "ses_shop"
ORDER = "never commit generated files in this repository"
ITEM = item("directive", "Never commit generated files.", ORDER, 2)
SECRET = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
TEXTS = ("how are the invoices rendered?", ORDER, f"deploy with {SECRET} <private>the launch is in May</private>")


class Scene:
    """A store, OpenCode's database with one session, and a scripted server."""

    def __init__(self, store: MemoryStore, folder: Path, opened: ExitStack) -> None:
        self.store = store
        self.folder = folder
        self._opened = opened
        self.path = folder / "opencode.db"
        self._at_ms = NOW_MS - 20_000
        self._opencode = opened.enter_context(FakeOpenCode(self.path))
        self._opencode.session(SESSION, at=self._at_ms)
        self.say(*TEXTS)

    def say(self, *texts: str) -> None:
        for text in texts:
            self._at_ms += 1_000
            self._opencode.user(SESSION, f"msg_{self._at_ms}", text, at=self._at_ms)
            self._opencode.agent(SESSION, f"msg_{self._at_ms}_a", "Understood, done.", at=self._at_ms + 1)

    def serve(self, *script: Reply) -> ModelServer:
        return self._opened.enter_context(ModelServer(*script))

    def duties(self, server: ModelServer | str | None = None, **settings: str) -> dict[str, Duty]:
        url = server if isinstance(server, str | None) else server.url
        given = {} if url is None else {"digest_url": url, "digest_model": MODEL, "digest_key": KEY}
        given |= {"opencode_db": str(self.path), "digest_rest_seconds": "60", "rest_seconds": "10", **settings}
        environment = {
            "HOME": str(self.folder),
            "XDG_CONFIG_HOME": str(self.folder / "config"),
            "OPENCODE_MEMORY_MEMORY_FILE": "off",
            **{f"OPENCODE_MEMORY_LEARNING_{name.upper()}": value for name, value in given.items()},
        }
        learning = LearningDuties(self.store, load(environment=environment))
        return {duty.kind: duty for duty in learning.duties() if duty.kind in {"opencode", "digest"}}

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.store._engine.now_ms() / 1000, UTC)

    def work(self, duties: dict[str, Duty], *, most: int = 30) -> None:
        """Run the due jobs."""
        for _ in range(most):
            enqueue_due_jobs(self.store, tuple(duties.values()))
            if not run_next_job(self.store, duties, worker="w", now=self.now):
                return
        raise AssertionError("the worker never comes to rest")

    def work_for(self, duties: dict[str, Duty], seconds: float) -> None:
        self.work(duties)
        set_clock(self.store, self.store._engine.now_ms() + round(seconds * SECOND_MS))
        self.work(duties)

    def entries(self) -> tuple[Entry, ...]:
        return DigestQueue(self.store, now_ms=self.store._engine.now_ms).entries()

    def find(self) -> list[str]:
        found = self.store.list(project="*", status=[*Status], limit=100)
        return [memory.content for memory in found if memory.metadata.get("rule") == "digest"]


@pytest.fixture
def scene(store: MemoryStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    monkeypatch.setattr(real_clock, "now", lambda: datetime.fromtimestamp(store._engine.now_ms() / 1000, UTC))
    with ExitStack() as opened:
        yield Scene(store, tmp_path, opened)


def test_nothing_is_queued_or_sent_without_consent(scene: Scene) -> None:
    for settings in ({}, {"digest": "ask"}, {"digest": "off"}, {"digest_model": MODEL}):
        duties = scene.duties(**settings)
        assert duties.keys() == {"opencode"}
        scene.work_for(duties, 600)
    assert scene.entries() == ()


def test_switching_off_comes_before_the_address(scene: Scene) -> None:
    assert scene.duties("http://127.0.0.1:9/v1", digest="off").keys() == {"opencode"}


def test_rested_session_is_digested_once(scene: Scene) -> None:
    server = scene.serve(digests(ITEM, summary=SUMMARY))
    duties = scene.duties(server)
    scene.work(duties)
    assert server.received == []
    scene.work_for(duties, 100)
    assert ITEM["text"] in scene.find()
    scene.work_for(duties, 3_600)
    assert len(server.received) == 1
    assert server.received[0].headers["Authorization"] == f"Bearer {KEY}"
    [entry] = scene.entries()
    assert (entry.requests, entry.tokens, entry.is_due) == (1, 100, False)


def test_private_and_secret_text_never_leaves(scene: Scene) -> None:
    server = scene.serve(digests())
    scene.work_for(scene.duties(server), 100)
    [request] = server.received
    assert "launch" not in request.text
    assert SECRET not in request.text
    assert [message["person"] for message in request.sent["messages"]][:2] == list(TEXTS[:2])
    assert files_holding(scene.store.data_dir, "the launch is in May") == []


def test_later_messages_are_digested_after_the_next_rest(scene: Scene) -> None:
    server = scene.serve(digests())
    duties = scene.duties(server)
    scene.work_for(duties, 100)
    scene._at_ms = scene.store._engine.now_ms()
    scene.say("one more", "two more", "three more")
    scene.work_for(duties, 30)
    assert len(server.received) == 1
    scene.work_for(duties, 100)
    assert len(server.received) == 2
    assert [message["person"] for message in server.received[1].sent["messages"]] == [
        "one more",
        "two more",
        "three more",
    ]


@pytest.mark.parametrize(
    "answer",
    [says("Sure!"), says('{"items": [{"kind"'), says("[]"), says(None), refuses(500, "oom"), refuses(429, "slow")],
    ids=["no JSON", "cut JSON", "a list", "no text", "an error", "too many"],
)
def test_failed_digest_is_retried_and_shown(answer: Reply, scene: Scene) -> None:
    server = scene.serve(answer, digests(ITEM))
    duties = scene.duties(server)
    scene.work_for(duties, 100)
    assert scene.find() == []
    [entry] = scene.entries()
    assert (bool(entry.error), entry.is_dead, len(server.received)) == (True, False, 1)
    scene.work_for(duties, 60)
    assert ITEM["text"] in scene.find()
    assert scene.entries()[0].error == ""


def test_server_that_is_offline_for_a_day_is_asked_when_it_is_back(scene: Scene) -> None:
    with socket.socket() as bound:
        # Bound but not listening: connections are refused, and no other process can take the port.
        bound.bind(("127.0.0.1", 0))
        duties = scene.duties(f"http://127.0.0.1:{bound.getsockname()[1]}/v1")
        for _ in range(20):
            scene.work_for(duties, 3_600)
    [entry] = scene.entries()
    assert (entry.is_dead, entry.attempts) == (False, 0)
    assert "cannot connect" in entry.error
    scene.work_for(scene.duties(scene.serve(digests(ITEM))), 3_600)
    assert ITEM["text"] in scene.find()


@pytest.mark.parametrize("status", [401, 404])
def test_permanent_refusal_is_given_up_and_shown(status: int, scene: Scene) -> None:
    server = scene.serve(refuses(status, f"Incorrect API key provided: {KEY}"))
    duties = scene.duties(server)
    for _ in range(3):
        scene.work_for(duties, 3_600)
    assert len(server.received) == 1
    [entry] = scene.entries()
    assert entry.is_dead
    assert str(status) in entry.error
    assert KEY not in entry.error


def test_used_up_budget_postpones_to_the_next_day(scene: Scene) -> None:
    server = scene.serve(digests(ITEM, tokens=900))
    duties = scene.duties(server, digest_calls_per_day="1")
    usage = StoredUsage(scene.store)
    usage.save(scene.now().date(), Usage(calls=1, tokens=5))
    scene.work_for(duties, 100)
    assert server.received == []
    [entry] = scene.entries()
    midnight = (scene.now() + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
    assert entry.due_ms == midnight.timestamp() * 1000
    set_clock(scene.store, entry.due_ms or 0)
    scene.work(duties)
    assert ITEM["text"] in scene.find()
    assert [used.tokens for used in usage.by_day().values()] == [5, 900]


def test_key_may_come_from_a_file_of_the_user_alone(scene: Scene, tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text(f"{KEY}\n")
    file.chmod(0o600)
    server = scene.serve(digests())
    duties = scene.duties(server, digest_key="", digest_key_file=str(file))
    scene.work_for(duties, 100)
    assert server.received[0].headers["Authorization"] == f"Bearer {KEY}"


def test_key_file_that_others_can_read_is_refused(scene: Scene, tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text(KEY)
    file.chmod(0o644)
    server = scene.serve(digests())
    scene.work_for(scene.duties(server, digest_key="", digest_key_file=str(file)), 100)
    assert server.received == []
    [job] = [job for job in scene.store.jobs.list() if job.kind == "digest"]
    assert job.dead_at is not None
    assert "other users can read" in (job.error or "")


def test_duty_without_a_due_session_writes_nothing(scene: Scene) -> None:
    duties = scene.duties(scene.serve(digests(ITEM, summary=SUMMARY)))
    scene.work_for(duties, 3_600)
    assert scene.find()
    file = scene.store.data_dir / "store.db-wal"
    before = file.read_bytes()
    for _ in range(5):
        scene.work_for(duties, 60)
    assert scene.store.jobs.list() == []
    assert file.read_bytes() == before
