"""Worker processes: several on one store, killed, stopped and terminated. Each wait is for an event."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

import opencode_memory
from opencode_memory import MemoryStore, Status
from opencode_memory.store.jobs import LEASE_SECONDS
from support import processes
from support.stores import NOW_MS, SECOND_MS, open_store

PATIENCE_SECONDS = 90
AFTER_LEASE_MS = NOW_MS + round(LEASE_SECONDS * SECOND_MS)
AFTER_PAUSE_MS = NOW_MS + 10 * SECOND_MS
LONGEST_PAUSE_MS = 3_600 * SECOND_MS

WORKER = """
    import os, sys
    from datetime import UTC, datetime
    from pathlib import Path
    from opencode_memory.worker.duty import Duty
    from opencode_memory.worker.run import run_worker
    from support.stores import open_store

    data_dir, log, clock_ms, stuck_on = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4]
    name = str(os.getpid())
    begun = []

    def say(*words):
        print(*words, flush=True)

    def do(job):
        say("begun", job.job.subject)
        begun.append(job)
        if job.job.subject == stuck_on or (stuck_on == "its first" and len(begun) == 1):
            sys.stdin.readline()
            say("goes on")
        # One write to a file that is opened for appending cannot be torn.
        descriptor = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(descriptor, f"{job.job.subject} {name}\\n".encode())
        os.close(descriptor)

    with open_store(data_dir, clock_ms=clock_ms) as store:
        say("ready")
        sys.stdin.readline()
        duties = [Duty(kind="task", do=do), Duty(kind="other", do=do)]
        now = datetime.fromtimestamp(clock_ms / 1000, UTC)
        run_worker(store, duties, wait=lambda seconds: seconds == 0, now=lambda: now)
        say("idle")
"""


class Worker:
    """A worker process that reports its progress and runs its jobs on command."""

    def __init__(self, data_dir: Path, log: Path, *, clock_ms: int = NOW_MS, stuck_on: str = "") -> None:
        self.process = processes.start(WORKER, data_dir, log, clock_ms, stuck_on)
        self.until("ready")

    def until(self, said: str) -> list[str]:
        assert self.process.stdout is not None
        heard = []
        for line in self.process.stdout:
            heard.append(line.strip())
            if heard[-1] == said:
                return heard
        raise AssertionError(f"the worker ended and never said {said!r}: {heard}")

    def begins(self) -> str:
        """Wait for the next job to begin, and return its subject."""
        assert self.process.stdout is not None
        said, subject = self.process.stdout.readline().split()
        assert said == "begun"
        return subject

    def go(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def work(self) -> list[str]:
        """Run all due jobs, wait for the end of the process, and return the subjects of the jobs."""
        self.go()
        heard = self.until("idle")
        self.process.wait(PATIENCE_SECONDS)
        return [line.removeprefix("begun ") for line in heard if line.startswith("begun ")]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "done"
    path.touch()
    return path


@pytest.fixture
def start(store: MemoryStore, log: Path) -> Iterator[Callable[..., Worker]]:
    started: list[Worker] = []

    def start_one(**options: object) -> Worker:
        started.append(Worker(store.data_dir, log, **options))
        return started[-1]

    yield start_one
    for worker in started:
        worker.process.kill()
        worker.process.communicate()


Start = Callable[..., Worker]


def done(log: Path) -> list[str]:
    return [line.split()[0] for line in log.read_text().splitlines()]


def test_several_workers_run_each_job_once(store: MemoryStore, start: Start, log: Path) -> None:
    for number in range(120):
        store.jobs.enqueue("task" if number % 3 else "other", str(number))
    workers = [start(stuck_on="its first") for _ in range(4)]
    for worker in workers:
        worker.go()
    assert len({worker.begins() for worker in workers}) == 4, "two of them have the same job"
    for worker in workers:
        worker.go()
    for worker in workers:
        worker.until("idle")
    assert Counter(done(log)) == Counter(map(str, range(120)))
    assert store.jobs.list() == []


def test_job_of_a_killed_worker_is_run_once_after_a_short_pause(store: MemoryStore, start: Start, log: Path) -> None:
    store.jobs.enqueue("task", "deadly")
    victim = start(stuck_on="deadly")
    victim.go()
    victim.until("begun deadly")
    victim.process.kill()
    assert victim.process.wait(PATIENCE_SECONDS) == -signal.SIGKILL
    assert start().work() == []
    both = [start(clock_ms=AFTER_PAUSE_MS) for _ in range(2)]
    for worker in both:
        worker.go()
    for worker in both:
        worker.until("idle")
    assert done(log) == ["deadly"]
    assert store.jobs.list() == []


def test_killed_worker_blocks_no_other_job(store: MemoryStore, start: Start, log: Path) -> None:
    for subject in ("deadly", *"abcde"):
        store.jobs.enqueue("task", subject)
    victim = start(stuck_on="deadly")
    victim.go()
    victim.until("begun deadly")
    victim.process.kill()
    assert start().work() == list("abcde")
    assert [(job.subject, job.attempts) for job in store.jobs.list()] == [("deadly", 1)]
    assert start(clock_ms=AFTER_LEASE_MS).work() == ["deadly"]
    assert Counter(done(log)) == Counter(["deadly", *"abcde"])


def test_late_result_of_a_stopped_worker_is_ignored(store: MemoryStore, start: Start, log: Path) -> None:
    store.jobs.enqueue("task", "slow")
    late = start(stuck_on="slow")
    late.go()
    late.until("begun slow")
    os.kill(late.process.pid, signal.SIGSTOP)
    other = start(clock_ms=AFTER_LEASE_MS, stuck_on="slow")
    other.go()
    other.until("begun slow")
    [held] = store.jobs.list()
    late.go()
    os.kill(late.process.pid, signal.SIGCONT)
    late.until("idle")
    assert store.jobs.list() == [held]
    other.go()
    other.until("idle")
    assert store.jobs.list() == []


def test_job_that_kills_its_workers_becomes_dead(store: MemoryStore, start: Start) -> None:
    store.jobs.enqueue("task", "deadly")
    now = NOW_MS
    for _ in range(8):
        victim = start(stuck_on="deadly", clock_ms=now)
        victim.go()
        victim.until("begun deadly")
        victim.process.kill()
        victim.process.wait(PATIENCE_SECONDS)
        assert start(clock_ms=now).work() == []
        now += LONGEST_PAUSE_MS
    [job] = store.jobs.list()
    assert (job.attempts, job.dead_at is None) == (8, False)
    assert job.error == "the worker was killed"


# The real command


class Real:
    """``opencode-memory worker`` processes of one user."""

    def __init__(self, home: Path, opened: ExitStack) -> None:
        self.home = home
        self.data_dir = home / "store"
        self._opened = opened

    def start(self, *arguments: str, **settings: str) -> subprocess.Popen[bytes]:
        changes = {f"OPENCODE_MEMORY_{name.upper()}": value for name, value in settings.items()}
        kept = {name: value for name, value in processes.environment().items() if not name.startswith("OPENCODE_")}
        environment = {
            **kept,
            "HOME": str(self.home),
            "OPENCODE_MEMORY_DATA_DIR": str(self.data_dir),
            "OPENCODE_MEMORY_LEARNING_SOURCES": "markdown",
            **changes,
        }
        process = subprocess.Popen(
            [sys.executable, "-m", "opencode_memory.cli", "worker", *arguments],
            env=environment,
            cwd=self.home,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        self._opened.callback(_end, process)
        return process

    def store(self) -> MemoryStore:
        return self._opened.enter_context(opencode_memory.open(self.data_dir, background=False))


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait(PATIENCE_SECONDS)
    for pipe in (process.stdin, process.stderr):
        if pipe is not None:
            pipe.close()


def until(condition: Callable[[], bool], *alive: subprocess.Popen[bytes]) -> None:
    """Poll until a condition is true, while these processes live."""
    pause = threading.Event()
    end = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < end, "it never came true"
        for process in alive:
            assert process.poll() is None, process.communicate()[1].decode()
        pause.wait(0.05)


@pytest.fixture
def real(tmp_path: Path) -> Iterator[Real]:
    home = tmp_path / "home"
    home.mkdir()
    with ExitStack() as opened:
        yield Real(home, opened)


def is_at_rest(store: MemoryStore) -> bool:
    """Return whether a worker has run all jobs, so that only recurring jobs are left."""
    jobs = store.jobs.list()
    return {"purge", "compact", "age", "consolidate"} <= {job.kind for job in jobs} and not any(
        job.worker for job in jobs
    )


def test_real_worker_embeds_links_and_runs_maintenance(real: Real) -> None:
    store = real.store()
    a = store.remember("Integration tests need a running PostgreSQL", project="app").id
    b = store.remember("Run database migrations before the integration tests", project="app").id
    process = real.start()
    until(lambda: bool(store.links(["related", "sequence", "same_entity"], project="*")), process)
    until(lambda: is_at_rest(store), process)
    assert not store.indexes.waits_for_vectors()
    assert [found.memory.id for found in store.related(a)] == [b]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, -signal.SIGTERM), (signal.SIGINT, 130)])
def test_signal_ends_a_real_worker(real: Real, number: signal.Signals, code: int) -> None:
    store = real.store()
    process = real.start()
    until(lambda: is_at_rest(store), process)
    process.send_signal(number)
    assert process.wait(PATIENCE_SECONDS) in {code, 128 + number}
    assert process.stderr is not None
    assert b"Traceback" not in process.stderr.read()
    assert store.indexes.verify().ok


def test_supervised_worker_ends_with_its_supervisor(real: Real) -> None:
    store = real.store()
    process = real.start("--supervised")
    until(lambda: is_at_rest(store), process)
    process.send_signal(signal.SIGINT)
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(PATIENCE_SECONDS) == 0


def test_supervised_worker_is_woken_by_a_line(real: Real) -> None:
    store = real.store()
    process = real.start("--supervised")
    until(lambda: is_at_rest(store), process)
    store.remember("walrus")
    assert process.stdin is not None
    process.stdin.write(b"\n")
    process.stdin.flush()
    until(lambda: not store.indexes.waits_for_vectors(), process)


def test_watched_notes_become_memories_and_stay_in_sync(real: Real, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "before.md").write_text("written before the worker\n")
    store = real.store()
    process = real.start(learning_watch=str(notes))

    def contents() -> set[str]:
        return {memory.content.strip() for memory in store.list(project="*")}

    until(lambda: contents() == {"written before the worker"}, process)
    (notes / "live.md").write_text("written while it watches\n")
    until(lambda: contents() == {"written before the worker", "written while it watches"}, process)
    [id] = [memory.id for memory in store.list(project="*") if "while" in memory.content]
    (notes / "live.md").write_text("edited while it watches\n")
    until(lambda: store.get(id).content.strip() == "edited while it watches", process)
    (notes / "live.md").unlink()
    until(lambda: store.get(id).status == Status.ARCHIVED, process)
    assert [job for job in store.jobs.list() if job.dead_at is not None] == []


def test_three_real_workers_read_each_note_once(real: Real, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    for number in range(25):
        (notes / f"{number}.md").write_text(f"walrus number{number}\n")
    store = real.store()
    workers = [real.start(learning_watch=str(notes)) for _ in range(3)]
    until(lambda: store.count(project="*") == 25, *workers)
    (notes / "late.md").write_text("the last one\n")
    until(lambda: store.count(project="*") == 26, *workers)
    until(lambda: is_at_rest(store) and not any(job.kind == "notes" for job in store.jobs.list()), *workers)
    memories = store.list(project="*", limit=100)
    assert len(memories) == 26
    # The job of a folder and the job of a note in it may overlap. Then the second one finds the memories and merges.
    kinds = [[entry.kind for entry in store.history(memory.id)] for memory in memories]
    assert all(kind[0] == "create" and set(kind[1:]) <= {"merge"} for kind in kinds), kinds
    assert len({memory.content for memory in memories}) == 26


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("long"),
        pytest.param("caf\udce9", id="not-unicode"),
        pytest.param("ghp_" + "a1B2" * 9, id="looks-like-a-secret"),
    ],
)
def test_folder_with_an_invalid_name_blocks_no_other_note(real: Real, tmp_path: Path, name: str) -> None:
    notes = tmp_path / "notes"
    odd = notes / name if name != "long" else notes / ("a" * 250) / ("b" * 250)
    odd.mkdir(parents=True)
    store = real.store()
    log = tmp_path / "worker.log"
    process = real.start(learning_watch=str(notes), server_log_file=str(log))

    def has(content: str) -> bool:
        return content in {memory.content.strip() for memory in store.list(project="*")}

    (notes / "first.md").write_text("the first\n")
    until(lambda: has("the first"), process)
    (odd / "odd.md").write_text("the odd one\n")
    reasons = ("cannot be stored in the queue", "its name is not UTF-8")
    until(lambda: has("the odd one") or any(reason in log.read_text() for reason in reasons), process)
    (notes / "zlast.md").write_text("the last\n")
    until(lambda: has("the last") or "queueing it failed" in log.read_text(), process)
    assert "queueing it failed" not in log.read_text()


def test_worker_killed_while_reading_leaves_a_valid_store(real: Real, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    for number in range(200):
        (notes / f"{number}.md").write_text(f"walrus number{number}\n")
    store = real.store()
    process = real.start(learning_watch=str(notes))
    until(lambda: store.count(project="*") > 0, process)
    process.kill()
    process.wait(PATIENCE_SECONDS)
    assert store.indexes.verify().ok
    held = [job for job in store.jobs.list() if job.worker is not None]
    assert len(held) <= 1
    with open_store(real.data_dir, clock_ms=None) as other:
        assert other.indexes.verify().ok
