"""The supervisor of the worker, with a process that behaves badly."""

from __future__ import annotations

import errno
import io
import os
import threading
from collections.abc import Iterator

import pytest

from opencode_memory.worker import supervisor
from opencode_memory.worker.supervisor import Supervisor

PATIENCE_SECONDS = 10


class BrokenPipe(io.RawIOBase):
    """The writing end of a pipe whose descriptor was closed behind our back."""

    def __init__(self, error: OSError) -> None:
        self.error = error
        self.reading, self.writing = os.pipe()

    def fileno(self) -> int:
        return self.writing

    def write(self, _: object) -> int:
        raise self.error

    def close(self) -> None:
        if not self.closed:
            os.close(self.reading)
            os.close(self.writing)
        super().close()


class Process:
    """A worker that runs until it is terminated."""

    pid = 1

    def __init__(self, stdin: BrokenPipe) -> None:
        self.stdin = stdin
        self.ended = threading.Event()

    def poll(self) -> int | None:
        return 0 if self.ended.is_set() else None

    def wait(self, timeout: float | None = None) -> int:
        assert self.ended.wait(timeout or PATIENCE_SECONDS)
        return 0

    def terminate(self) -> None:
        self.ended.set()


@pytest.fixture(params=[errno.EBADF, errno.EPIPE, errno.EAGAIN, errno.EIO], ids=errno.errorcode.__getitem__)
def running(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Supervisor, Process]]:
    process = Process(BrokenPipe(OSError(request.param, os.strerror(request.param))))
    monkeypatch.setattr(supervisor.subprocess, "Popen", lambda *_, **__: process)
    started = threading.Event()
    supervised = Supervisor(["worker"], on_start=started.set)
    supervised.start()
    assert started.wait(PATIENCE_SECONDS)
    yield supervised, process
    supervised.close()


def test_write_is_not_an_error_if_the_worker_cannot_be_woken(running: tuple[Supervisor, Process]) -> None:
    supervised, _ = running
    supervised.wake()
    assert supervised.describe() == "worker 1"


def test_ended_worker_is_not_written_to(running: tuple[Supervisor, Process]) -> None:
    supervised, process = running
    supervised.close()
    assert process.stdin.closed
    supervised.wake()
