"""Counts the syncs of another process with strace, if strace exists and may attach."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

CALLS: Final = "fsync,fdatasync,sync_file_range,msync,syncfs"
ATTACH_SECONDS: Final = 5.0


def count_syncs(pid: int, action: Callable[[], object]) -> int | None:
    """Return how many times process ``pid`` synced while ``action`` ran; None where that cannot be seen."""
    strace = shutil.which("strace")
    if strace is None:
        return None
    with tempfile.TemporaryDirectory() as directory:
        log = Path(directory) / "calls"
        tracer = subprocess.Popen(
            [strace, "-f", "-qq", "-e", f"trace={CALLS}", "-o", str(log), "-p", str(pid)], stderr=subprocess.DEVNULL
        )
        try:
            if not _attached(tracer, pid):
                return None
            action()
        finally:
            tracer.send_signal(signal.SIGINT)
            tracer.wait()
        # A call that another thread interrupts is logged twice: "unfinished", then "resumed".
        return len(re.findall(r"^\d+ +(?:\w*sync\w*)\(", log.read_text(), re.MULTILINE))


def _attached(tracer: subprocess.Popen[bytes], pid: int) -> bool:
    deadline = time.monotonic() + ATTACH_SECONDS
    while tracer.poll() is None and time.monotonic() < deadline:
        states = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/status")]
        if all(f"TracerPid:\t{tracer.pid}" in state for state in states):
            return True
        time.sleep(0.01)
    return False
