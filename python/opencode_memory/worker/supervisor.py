"""Keeps a worker process alive beside a server: starts it, wakes it, starts it again when it dies, and ends it."""

from __future__ import annotations

import logging
import os
import subprocess
import threading
from collections.abc import Callable, Sequence
from typing import Final

_FIRST_PAUSE_SECONDS: Final = 0.5
_LONGEST_PAUSE_SECONDS: Final = 60.0
_SOUND_SECONDS: Final = 30.0
_END_SECONDS: Final = 1.0

_log: Final = logging.getLogger(__name__)


class Supervisor:
    """A worker that is there as long as its supervisor.

    Args:
        command: What starts the worker; it reads its standard input.
        on_start: Called at each start.
    """

    def __init__(self, command: Sequence[str], *, on_start: Callable[[], None] = lambda: None) -> None:
        self._command = tuple(command)
        self._on_start = on_start
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._deaths = 0
        self._thread = threading.Thread(target=self._run, name="opencode-memory-supervisor", daemon=True)

    def start(self) -> None:
        """Start the worker, and keep it going."""
        self._thread.start()

    def wake(self) -> None:
        """Tell the worker that something was written; a full pipe says it already."""
        with self._lock:
            process = self._process
        if process is None or process.stdin is None:
            return
        try:
            process.stdin.write(b"\n")
        except (BrokenPipeError, BlockingIOError, ValueError):
            return  # It has died or is being ended; the next one looks for itself.

    def describe(self) -> str:
        """Say how the worker is."""
        with self._lock:
            process = self._process
        return f"worker {process.pid}" if process is not None and process.poll() is None else "no worker"

    def problems(self) -> tuple[str, ...]:
        """Return what is wrong with the worker; a first death may happen to anybody."""
        with self._lock:
            deaths, process = self._deaths, self._process
        if deaths > 1 and (process is None or process.poll() is not None):
            return (f"the worker died {deaths} times in a row, so new memories are found by their words only",)
        return ()

    def close(self) -> None:
        """End the worker; whatever it had in hand waits for the next one."""
        self._closing.set()
        with self._lock:
            process = self._process
        if process is not None:
            _end(process)
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        pause = _FIRST_PAUSE_SECONDS
        while not self._closing.is_set():
            begun = threading.Event()
            timer = threading.Timer(_SOUND_SECONDS, begun.set)
            timer.daemon = True
            timer.start()
            code = self._run_once()
            timer.cancel()
            if self._closing.is_set():
                return
            with self._lock:
                self._deaths = 1 if begun.is_set() else self._deaths + 1
            pause = _FIRST_PAUSE_SECONDS if begun.is_set() else min(pause * 2, _LONGEST_PAUSE_SECONDS)
            _log.warning("the worker ended with %s; it is started again in %.1f s", code, pause)
            self._closing.wait(pause)

    def _run_once(self) -> int | str:
        try:
            # Unbuffered, and never waited for: a worker that is busy has been woken.
            process = subprocess.Popen(self._command, stdin=subprocess.PIPE, bufsize=0)  # noqa: S603  our own program
        except OSError as error:
            return str(error)
        if process.stdin is not None:
            os.set_blocking(process.stdin.fileno(), False)
        with self._lock:
            self._process = process
        self._on_start()
        if self._closing.is_set():
            _end(process)
        code = process.wait()
        if process.stdin is not None:
            process.stdin.close()
        return code


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
