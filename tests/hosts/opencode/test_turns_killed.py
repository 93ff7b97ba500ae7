"""The backfill of the session index continues after its process was killed, with the same result."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import opencode_memory
from opencode_memory.hosts.opencode.turns.indexing import TurnIndexing
from opencode_memory.hosts.opencode.turns.reading import DatabaseTexts
from opencode_memory.learning.switches import Switches
from opencode_memory.models import ALL_PROJECTS, SessionHit
from opencode_memory.projects.resolver import ProjectResolver
from support.embedders import WordEmbedder
from support.opencode import FakeOpenCode

TESTS = Path(__file__).resolve().parents[2]
START = 1_790_000_000_000
LATER = START + 10_000_000
SESSIONS = 40
CHILD = """
import sys
from pathlib import Path
import opencode_memory
from opencode_memory.hosts.opencode.turns import indexing
from opencode_memory.learning.switches import Switches
from opencode_memory.projects.resolver import ProjectResolver
from support.embedders import WordEmbedder
indexing.AT_ONCE = 5
with opencode_memory.open(sys.argv[1], embedder=WordEmbedder(), background=False) as store:
    work = indexing.TurnIndexing(
        store, Path(sys.argv[2]), projects=ProjectResolver(store, {}), switches=Switches()
    )
    while work.step(at_ms=int(sys.argv[3])).turns:
        print("step", flush=True)
"""


def run_and_kill(store: Path, database: Path, *, steps: int) -> None:
    """Index in a process that is killed in the step after this number of steps."""
    command = [sys.executable, "-c", CHILD, str(store), str(database), str(LATER)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=TESTS) as child:
        assert child.stdout is not None
        for _ in range(steps):
            assert child.stdout.readline() == b"step\n"
        child.kill()


def index_rest(folder: Path, database: Path) -> list[tuple[str, str]]:
    """Index what is left; return message and text of the hits of a query."""
    with opencode_memory.open(folder, embedder=WordEmbedder(), background=False) as store:
        store.turns.texts = DatabaseTexts(store, Switches(), lambda: LATER)
        work = TurnIndexing(store, database, projects=ProjectResolver(store, {}), switches=Switches())
        while work.step(at_ms=LATER).turns:
            pass
        assert store.turns.counts().turns == 2 * SESSIONS
        hits = store.search("ledger number 7", sources="sessions", project=ALL_PROJECTS, limit=20)
        return [(hit.turn.message, hit.turn.text) for hit in hits if isinstance(hit, SessionHit)]


def test_killed_backfill_continues_with_the_same_result(opencode: FakeOpenCode, tmp_path: Path) -> None:
    for number in range(SESSIONS):
        opencode.session(f"ses_{number}", at=START + number)
        opencode.user(f"ses_{number}", f"msg_{number}_a", f"Close ledger number {number}.", at=START + number)
        opencode.agent(f"ses_{number}", f"msg_{number}_b", f"Ledger {number} is closed.", at=START + number)
    for steps in (1, 2, 3):
        run_and_kill(tmp_path / "killed", opencode.path, steps=steps)
    whole = index_rest(tmp_path / "whole", opencode.path)
    assert whole
    assert index_rest(tmp_path / "killed", opencode.path) == whole
