"""An idle server and its worker: they sleep, and write nothing."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path

import pytest

import opencode_memory
from opencode_memory.text import clock
from support.opencode import FakeOpenCode
from support.services import free_port
from support.stores import NOW_MS

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

PATIENCE_SECONDS = 60
WINDOW_SECONDS = 5
_WINDOWS = 3
_SLACK = 4
"""Wake-ups in the window that the kernel or a garbage collection may add."""


@dataclass(frozen=True)
class Activity:
    """Wake-ups of all threads of a process, and the bytes that it wrote."""

    wakes: int
    written: int

    def __sub__(self, earlier: Activity) -> Activity:
        return Activity(self.wakes - earlier.wakes, self.written - earlier.written)


def read_field(path: Path, name: str) -> int:
    [line] = [line for line in path.read_text().splitlines() if line.startswith(f"{name}:")]
    return int(line.split()[1])


def measure(pid: int) -> Activity:
    process = Path("/proc") / str(pid)
    wakes = sum(read_field(thread / "status", "voluntary_ctxt_switches") for thread in (process / "task").iterdir())
    return Activity(wakes, read_field(process / "io", "wchar"))


def find_worker(server: int) -> int | None:
    children = [
        int(pid)
        for thread in (Path("/proc") / str(server) / "task").iterdir()
        for pid in (thread / "children").read_text().split()
    ]
    return children[0] if children else None


def answers(port: int) -> bool:
    connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE_SECONDS)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().status == 200
    except ConnectionError:
        return False
    finally:
        connection.close()


def is_at_rest(data_dir: Path) -> bool:
    """Return whether the worker has learned from the session, and only maintenance is queued, for later."""
    with opencode_memory.open(data_dir, background=False) as store:
        if store.turns.counts().turns == 0 or store.stats().pending_embeddings:
            return False
        waiting = {job.kind for job in store.jobs.list() if job.run_at > clock.now() and job.lease_until is None}
        return waiting == {job.kind for job in store.jobs.list()} == {"purge", "compact", "age", "consolidate"}


def describe_queue(data_dir: Path) -> str:
    with opencode_memory.open(data_dir, background=False) as store:
        return f"{store.turns.counts()}, {store.stats().pending_embeddings} to embed, {store.jobs.list()}"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """A server at rest with its worker, and the folder of its store."""
    port, data_dir = free_port(), tmp_path / "store"
    database = tmp_path / "opencode.db"
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "OPENCODE_MEMORY_DATA_DIR": str(data_dir),
        "OPENCODE_MEMORY_LEARNING_OPENCODE_DB": str(database),
        "OPENCODE_MEMORY_LEARNING_POLL_SECONDS": "1",
        "OPENCODE_MEMORY_LEARNING_REST_SECONDS": "1",
    }
    with FakeOpenCode(database) as opencode:
        opencode.session("ses_idle", at=NOW_MS)
        opencode.user("ses_idle", "msg_1", "Please always run the linter before you commit.", at=NOW_MS)
        opencode.agent("ses_idle", "msg_2", "Understood, done.", at=NOW_MS + 1)
    command = [sys.executable, "-m", "opencode_memory.cli", "serve", "--port", str(port)]
    process = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
    pause = threading.Event()
    try:
        for _ in range(PATIENCE_SECONDS * 4):
            assert process.poll() is None, "the server ended"
            if answers(port) and find_worker(process.pid) is not None and is_at_rest(data_dir):
                break
            pause.wait(0.25)
        else:
            raise AssertionError(f"the worker never comes to rest: {describe_queue(data_dir)}")
        yield process, data_dir
    finally:
        process.terminate()
        process.wait(PATIENCE_SECONDS)


def test_idle_server_and_worker_wake_once_a_second_and_write_nothing(
    server: tuple[subprocess.Popen[bytes], Path],
) -> None:
    process, data_dir = server
    worker = find_worker(process.pid)
    assert worker is not None
    files = {path: path.stat().st_mtime_ns for path in data_dir.rglob("*") if path.name != "store.db-shm"}
    fewest = {process.pid: sys.maxsize, worker: sys.maxsize}
    # What follows the last request and the last job ends within the first windows. Lasting activity is in each of them.
    for _ in range(_WINDOWS):
        before = {pid: measure(pid) for pid in fewest}
        threading.Event().wait(WINDOW_SECONDS)  # The window of the measurement: no event may happen in it.
        for pid, earlier in before.items():
            activity = measure(pid) - earlier
            assert activity.written == 0
            fewest[pid] = min(fewest[pid], activity.wakes)
        if max(fewest.values()) <= WINDOW_SECONDS + _SLACK:
            break
    assert fewest[worker] <= WINDOW_SECONDS + _SLACK, "the worker"
    assert fewest[process.pid] <= WINDOW_SECONDS + _SLACK, "the server"
    assert {path: path.stat().st_mtime_ns for path in files} == files
