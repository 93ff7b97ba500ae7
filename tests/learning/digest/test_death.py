"""Death of a process at each step of a digest: at most one more request, and never doubled memories."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from opencode_memory import MemoryStore
from opencode_memory.learning.digest.queue import LEASE_SECONDS
from opencode_memory.models import Status
from support.digested_sessions import INFO, OPTION, ORDER, PROJECT, SUMMARY, Desk, write_answer
from support.stores import NOW_MS, open_store

STEPS = ("claimed", "prepared", "answered", "stored")
CHILD = """
import os, signal, sys
from support.digested_sessions import OPTION, SUMMARY, Desk, write_answer
from support.learning import messages
from support.digested_sessions import INFO, SPOKEN
from support.stores import NOW_MS, open_store
from pathlib import Path

def die_at(step):
    if step == sys.argv[2]:
        os.kill(os.getpid(), signal.SIGKILL)

with open_store(Path(sys.argv[1])) as store:
    desk = Desk(store)
    told = messages(*SPOKEN, of=INFO.id, at=NOW_MS - 60_000)
    due = desk.claim()
    die_at("claimed")
    request = desk.prepare(told, due)
    die_at("prepared")
    answer = write_answer({**OPTION, "supersedes": ["m1"]}, summary=SUMMARY)
    die_at("answered")
    desk.digester._archive = lambda ids: die_at("stored")
    desk.accept(due, request, answer)
"""


@pytest.mark.parametrize("step", STEPS)
def test_killed_process_loses_and_doubles_nothing(step: str, tmp_path: Path) -> None:
    folder = tmp_path / "store"
    with open_store(folder) as store:
        old = store.remember("Invoices are rendered with LaTeX.", project=PROJECT, category="decision").id
        told = Desk(store).learn()
    tests = str(Path(__file__).parents[2])
    environment = {**os.environ, "PYTHONPATH": tests}
    child = subprocess.run([sys.executable, "-c", CHILD, str(folder), step], env=environment, check=False, timeout=60)
    assert child.returncode == -signal.SIGKILL
    with open_store(folder) as store:
        desk = Desk(store)
        desk.now_ms = NOW_MS + round(LEASE_SECONDS * 1000)
        requests = 0
        while (due := desk.queue.claim("next")) is not None:
            request = desk.digester.prepare(due, told, PROJECT)
            if request is None:
                desk.queue.finish(due)
                continue
            requests += 1
            desk.accept(due, request, write_answer({**OPTION, "supersedes": ["m1"]}, summary=SUMMARY))
        assert requests == (0 if step == "stored" else 1)
        assert [memory.content for memory in desk.find(*Status)] == [OPTION["text"]]
        assert store.get(old).status is not Status.ACTIVE
        assert len(desk.summaries()) == 1
        assert not any(entry.is_due for entry in desk.queue.entries())


def test_failure_while_storing_stores_nothing(desk: Desk, store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    told = desk.learn()
    due = desk.claim()
    request = desk.prepare(told, due)

    def refuse(_: object) -> None:
        raise OSError("no space left")

    with monkeypatch.context() as patch:
        patch.setattr(type(store.learning), "write", lambda *_: refuse(None))
        with pytest.raises(OSError, match="no space"):
            desk.accept(due, request, write_answer(ORDER))
    assert desk.find(*Status) == []
    assert desk.summaries() == []
    desk.accept(due, request, write_answer(ORDER))
    assert len(desk.find()) == 1
    assert INFO.id in {entry.session for entry in desk.queue.entries()}
