"""Supervisor: keeps a worker process running beside a server. It starts, wakes, restarts and stops the worker."""

from __future__ import annotations

import logging
import subprocess
import threading
from collections.abc import Callable, Sequence
from typing import Final

from opencode_memory.platform import system
from opencode_memory.worker.run import LEARN, PAUSE

_FIRST_PAUSE_SECONDS: Final = 0.5
_LONGEST_PAUSE_SECONDS: Final = 60.0
_SOUND_SECONDS: Final = 30.0
_END_SECONDS: Final = 1.0

_log: Final = logging.getLogger(__name__)


class Supervisor:
    """Runs a worker process for as long as the supervisor lives.

    Args:
        command: Command line of the worker, which reads its standard input.
        on_start: Called at each start of the worker.
        wait_first: Called once before the first start; returns when the worker may start.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        on_start: Callable[[], None] = lambda: None,
        wait_first: Callable[[], None] = lambda: None,
    ) -> None:
        self._command = tuple(command)
        self._on_start = on_start
        self._wait_first = wait_first
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._deaths = 0
        self._may_learn = True
        self._thread = threading.Thread(target=self._run, name="opencode-memory-supervisor", daemon=True)

    def start(self) -> None:
        """Start the worker and restart it whenever it ends."""
        self._thread.start()

    def wake(self) -> None:
        """Wake the worker after a write; if the pipe is full, a wake-up is pending already.

        Never raises, because the write is already committed.
        """
        with self._lock:
            self._write(b"\n")

    def let_learn(self, may_learn: bool) -> None:
        """Let the worker learn from sessions, or pause that. A worker that is restarted keeps the state."""
        with self._lock:
            self._may_learn = may_learn
            self._write(LEARN if may_learn else PAUSE)

    def _write(self, signal: bytes) -> None:
        """Write to the worker. The caller holds the lock, so that no byte goes to a file that took over the number."""
        stdin = self._process.stdin if self._process is not None else None
        if stdin is None or stdin.closed:
            return
        try:
            stdin.write(signal)
        except OSError as error:
            # The worker has ended, or a wake-up is pending. The next worker looks for jobs when it starts.
            _log.debug("the worker was not woken: %s", error)

    def describe(self) -> str:
        """Describe the state of the worker."""
        with self._lock:
            process, may_learn = self._process, self._may_learn
        if process is None or process.poll() is not None:
            return "no worker"
        return f"worker {process.pid}{'' if may_learn else ', which learns again when an OpenCode connects'}"

    def problems(self) -> tuple[str, ...]:
        """Return problems of the worker; a single crash is not reported."""
        with self._lock:
            deaths, process = self._deaths, self._process
        if deaths > 1 and (process is None or process.poll() is not None):
            return (f"the worker crashed {deaths} times in a row, so new memories are found by full-text search only",)
        return ()

    def close(self) -> None:
        """Stop the worker; its current job stays in the queue for the next worker."""
        self._closing.set()
        with self._lock:
            process = self._process
        if process is not None:
            _end(process)
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        self._wait_first()
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
            _log.warning("the worker ended with %s; it will be restarted in %.1f s", code, pause)
            self._closing.wait(pause)

    def _run_once(self) -> int | str:
        try:
            # Unbuffered and non-blocking: a busy worker does not need another wake-up.
            process = subprocess.Popen(self._command, stdin=subprocess.PIPE, bufsize=0)  # noqa: S603  our own program
        except OSError as error:
            return str(error)
        if process.stdin is not None:
            system().never_block(process.stdin.fileno())
        with self._lock:
            self._process = process
            if not self._may_learn:
                self._write(PAUSE)
        self._on_start()
        if self._closing.is_set():
            _end(process)
        code = process.wait()
        if process.stdin is not None:
            with self._lock:
                process.stdin.close()
        return code


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
