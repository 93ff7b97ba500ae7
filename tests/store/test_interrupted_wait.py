"""Ctrl-C ends the wait for the transaction of another process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from opencode_memory.platform import system
from support.stores import open_store

pytestmark = pytest.mark.skipif(not system().has_signals, reason="this system has no signals")

_HOLD = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.read()
"""


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Hold a transaction of another process."""
    command = [sys.executable, "-c", _HOLD, str(folder / "store.db")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        yield
        other.communicate()


def interrupt_once_it_is_in(function: str, thread: int) -> None:
    """Send SIGINT when the thread is in a function."""
    while (frame := sys._current_frames()[thread]).f_code.co_name != function:
        del frame
    os.kill(os.getpid(), signal.SIGINT)


def test_write_that_waits_for_another_process_ends_at_once(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        writer = threading.Thread(target=interrupt_once_it_is_in, args=("set", threading.get_ident()))
        former = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            with held(tmp_path):
                writer.start()
                with pytest.raises(KeyboardInterrupt) as stopped:
                    store.kv.set("theme", "dark")
        finally:
            writer.join()
            signal.signal(signal.SIGINT, former)
        # Otherwise the wait has ended by itself, and the error came before the signal was handled.
        assert stopped.value.__context__ is None
        store.kv.set("theme", "light")
