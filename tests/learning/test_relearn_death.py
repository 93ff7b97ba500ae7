"""Death of a process at each step of relearning, and two processes that relearn at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from opencode_memory.learning.relearn.run import apply, propose, undo_run
from opencode_memory.models import Memory, Status, Trust
from support.opencode import FakeOpenCode
from support.relearning import store_old
from support.stores import open_store

NOISE = tuple(f"The header of page {number} looks a bit off." for number in range(40))
RULE = "Never change the seed files by hand."
STEPS = ("judged", "credited", "archived")
CHILD = """
import os, signal, sys
from pathlib import Path
from opencode_memory.hosts.opencode.feed.database import OpenCodeDatabase
from opencode_memory.hosts.opencode.feed.session_pages import SessionPages
from opencode_memory.learning.relearn import run
from support.opencode import LONG_AFTER_MS
from support.stores import open_store

folder, database, step = sys.argv[1:]

def die_at(name):
    if name == step:
        os.kill(os.getpid(), signal.SIGKILL)

def die_before_archiving(store):
    die_at("credited")
    return frozenset()

with open_store(Path(folder), actor="extracted") as store, OpenCodeDatabase(Path(database)) as sessions:
    proposal = run.propose(store, SessionPages(sessions, now_ms=LONG_AFTER_MS))
    print("judged", flush=True)
    sys.stdin.readline()
    die_at("judged")
    run.list_successors = die_before_archiving if step == "credited" else run.list_successors
    run.settle_offer = lambda store: die_at("archived")
    print(len(run.apply(store, proposal)), flush=True)
"""


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "opencode.db"
    with FakeOpenCode(path) as fake:
        fake.session("ses_old")
        fake.user("ses_old", "msg_1", RULE, at=1_000)
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "store"
    with open_store(path) as store:
        for text in NOISE:
            store_old(store, text)
        store_old(store, RULE, category="directive")
    return path


def start(folder: Path, database: Path, step: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    return subprocess.Popen(
        [sys.executable, "-c", CHILD, str(folder), str(database), step],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def list_all(folder: Path) -> dict[str, Memory]:
    with open_store(folder) as store:
        return {memory.content: memory for memory in store.list(status=list(Status), limit=100)}


@pytest.mark.parametrize("step", STEPS)
def test_killed_run_is_completed_and_undone_by_the_next(step: str, folder: Path, database: Path) -> None:
    child = start(folder, database, step)
    child.communicate("go\n", timeout=60)
    assert child.returncode == -signal.SIGKILL
    left = list_all(folder)
    archived = [memory for memory in left.values() if memory.status is Status.ARCHIVED]
    assert len(archived) == (len(NOISE) if step == "archived" else 0)
    assert left[RULE].trust is (Trust.EXTRACTED if step == "judged" else Trust.USER)

    with open_store(folder, actor="extracted") as store:
        apply(store, propose(store))
    assert {text for text, memory in list_all(folder).items() if memory.status is Status.ACTIVE} == {RULE}
    with open_store(folder) as store:
        undo_run(store)
        assert undo_run(store) == ()
    after = list_all(folder).values()
    assert {(memory.status, memory.trust) for memory in after} == {(Status.ACTIVE, Trust.EXTRACTED)}


def test_two_runs_at_once_archive_each_memory_once(folder: Path, database: Path) -> None:
    children = [start(folder, database, "none") for _ in range(2)]
    # Both have judged before either archives, so both want to archive the same memories.
    for child in children:
        assert child.stdout is not None
        assert child.stdout.readline() == "judged\n"
    for child in children:
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
    for child in children:
        child.communicate(timeout=60)
    assert [child.returncode for child in children] == [0, 0]

    with open_store(folder) as store:
        for memory in store.list(status="archived", limit=100):
            assert [change.kind.split(":")[0] for change in store.history(memory.id)] == ["create", "archive"]
        assert store.count(status="archived") == len(NOISE)
        [rule] = store.list(limit=100)
        assert [change.kind for change in store.history(rule.id)] == ["create", "edit"]
        undo_run(store)
        assert store.count(status="active") == len(NOISE) + 1
