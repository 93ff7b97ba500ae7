"""An engine that the interpreter frees without a call of ``close``."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import opencode_memory
from opencode_memory._core import Engine
from support.embedders import WordEmbedder

# Another process, because the locks of SQLite are those of a process.
_WRITER = """
import sqlite3, sys
other = sqlite3.connect(sys.argv[1], isolation_level=None)
other.execute("BEGIN IMMEDIATE")
print("begun", flush=True)
sys.stdin.readline()
other.execute("COMMIT")
"""


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Other threads run only while this one gives the interpreter up."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000)
    try:
        yield
    finally:
        sys.setswitchinterval(interval)


def test_engine_that_is_freed_lets_other_threads_run_while_it_writes(tmp_path: Path) -> None:
    with opencode_memory.open(tmp_path, embedder=WordEmbedder(), background=False) as store:
        stored = store.remember("The walrus is built with make.").id
    engine = Engine(tmp_path, background=False)
    engine.note_uses([stored])
    file = tmp_path / "store.db"
    is_freed = threading.Event()
    with subprocess.Popen(
        [sys.executable, "-c", _WRITER, str(file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "begun\n"

        def end() -> None:
            is_freed.wait()
            writer.communicate("end\n")

        thread = threading.Thread(target=end)
        with _uninterrupted():
            thread.start()
            is_freed.set()
            # The destructor writes the use. It waits for the other process, which waits for the thread.
            del engine
        thread.join()
    with closing(sqlite3.connect(file)) as reader:
        assert reader.execute("SELECT uses FROM use_count").fetchall() == [(1,)]
