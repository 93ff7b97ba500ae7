"""Client of a worker process: starts it, sends commands, stops it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from .process import QUIET, SINGLE_THREAD

if TYPE_CHECKING:
    from types import TracebackType

    from .data import Dataset


class EngineFailedError(RuntimeError):
    """An engine raised an exception or its process died; the message has the details."""


class Remote:
    """One engine in its own process; a context manager that ends the process."""

    def __init__(self, engine: str, dataset: Dataset, directory: Path, core: int | None) -> None:
        """Start the process; it has loaded its queries, but not yet its library, when it answers."""
        self.engine = engine
        self.directory = directory
        package, root = __package__, Path(__file__).parents[__package__.count(".") + 1]
        arguments = [engine, str(dataset.directory), str(directory), "" if core is None else str(core)]
        self._process = subprocess.Popen(
            [sys.executable, "-m", f"{package}.worker", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=root,
            env={**os.environ, **SINGLE_THREAD, **QUIET},
        )

    @property
    def pid(self) -> int:
        """The worker's process id."""
        return self._process.pid

    def ask(self, do: str, **arguments: Any) -> Any:
        """Send one command and wait for its answer.

        Raises:
            EngineFailedError: The engine raised, or the process is gone.
        """
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            message = "the worker was started without pipes"
            raise EngineFailedError(message)
        try:
            stdin.write(json.dumps({"do": do, **arguments}) + "\n")
            stdin.flush()
        except BrokenPipeError:
            line = ""
        else:
            line = stdout.readline()
        if not line:
            message = f"{self.engine}: the process ended with {self._process.wait()} during {do}"
            raise EngineFailedError(message)
        answer = json.loads(line)
        if "error" in answer:
            message = f"{self.engine}: {do}: {answer['error']}"
            raise EngineFailedError(message)
        return answer["answer"]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # The end of its input ends the worker; an engine whose threads hang must not hold up the others.
        self._process.stdin.close() if self._process.stdin else None
        try:
            self._process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
