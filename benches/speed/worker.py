"""One engine in its own process, driven over a pipe: one JSON object per line in, one per line out.

The process is fresh, single-threaded and pinned to one core before the engine's library is imported, so that memory,
import time and processor time are the engine's alone.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import time
import traceback
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from .data import Dataset
from .peers import load
from .peers.base import OPERATIONS
from .process import pin, resident

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .data import Batch, Query
    from .peers.base import Operation, Peer

K: Final = 10
BUILD_BATCH: Final = 10_000


class Feed:
    """Batches of a data set, and how long it took to read them, which is not the engine's time."""

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset
        self.seconds = 0.0

    def __iter__(self) -> Iterator[Batch]:
        batches = self._dataset.batches(BUILD_BATCH)
        while True:
            start = time.perf_counter()
            batch = next(batches, None)
            self.seconds += time.perf_counter() - start
            if batch is None:
                return
            yield batch


class Worker:
    """Answers the runner's commands; each public method is one of them."""

    def __init__(self, engine: str, dataset: Dataset, directory: Path) -> None:
        """Load the queries, then note how much memory the harness itself takes."""
        self._name = engine
        self._directory = directory
        self._dataset = dataset
        self._queries = {kind: dataset.queries(kind) for kind in ("general", "rare")}
        self._inserts = dataset.inserts()
        self._engine: Peer
        gc.collect()
        gc.freeze()
        self._before = resident()

    def build(self) -> dict[str, Any]:
        """Build the store; reading the data is not counted."""
        engine = load(self._name)(self._directory)
        feed = Feed(self._dataset)
        start, cpu_start = time.perf_counter(), time.process_time()
        engine.build(feed)
        seconds = time.perf_counter() - start - feed.seconds
        return {
            "seconds": seconds,
            "cpu_seconds": time.process_time() - cpu_start - feed.seconds,
            "peak_bytes": resident().peak - self._before.now,
            "configuration": engine.configuration,
        }

    def open(self) -> dict[str, Any]:
        """Import the library, open the store, and ask the first question."""
        marks = [time.perf_counter()]
        engine_class = load(self._name)
        marks.append(time.perf_counter())
        self._engine = engine_class(self._directory)
        self._engine.open()
        marks.append(time.perf_counter())
        offered = [op for op in ("hybrid_project", "vector_filtered") if op in self._engine.operations]
        if offered:
            getattr(self._engine, offered[0])(self._queries["general"][0], K)
        marks.append(time.perf_counter())
        import_ms, open_ms, first_ms = (1000 * (b - a) for a, b in pairwise(marks))
        operations = [op for op in OPERATIONS if op in self._engine.operations]
        return {"import_ms": import_ms, "open_ms": open_ms, "first_ms": first_ms, "operations": operations}

    def answers(self, operation: Operation) -> list[list[int]]:
        """Return the rows that answer each query; also the warm-up."""
        ask = getattr(self._engine, operation)
        return [[memory.row for memory in ask(query, K)] for query in self._queries_of(operation)]

    def ask(self, operation: Operation, offset: int, seconds: float) -> dict[str, Any]:
        """Time each query once, from the ``offset``-th on, until all are asked or ``seconds`` have passed."""
        ask = getattr(self._engine, operation)
        queries = self._queries_of(operation)
        offset %= len(queries)
        taken: list[int] = []
        cpu_start, start = time.process_time_ns(), time.perf_counter()
        for query in queries[offset:] + queries[:offset]:
            before = time.perf_counter_ns()
            ask(query, K)
            taken.append(time.perf_counter_ns() - before)
            if time.perf_counter() - start > seconds:
                break
        return {"taken_ns": taken, "cpu_ns": time.process_time_ns() - cpu_start}

    def insert(self, first: int, count: int) -> dict[str, Any]:
        """Time ``count`` acknowledged inserts."""
        taken: list[int] = []
        cpu_start = time.process_time_ns()
        for i in range(first, first + count):
            before = time.perf_counter_ns()
            self._engine.insert(self._inserts.memories[i], self._inserts.vectors[i])
            taken.append(time.perf_counter_ns() - before)
        return {"taken_ns": taken, "cpu_ns": time.process_time_ns() - cpu_start}

    def memory(self) -> dict[str, int]:
        """Return what the engine added to the process's resident memory."""
        gc.collect()
        now = resident()
        return {"resident": now.now - self._before.now, "anonymous": now.anonymous - self._before.anonymous}

    def close(self) -> None:
        """Close the store."""
        self._engine.close()

    def _queries_of(self, operation: Operation) -> list[Query]:
        return self._queries["rare" if operation == "vector_filtered" else "general"]


def main(arguments: list[str]) -> None:
    """Answer commands until standard input ends."""
    engine, data_directory, store_directory, core = arguments
    # Libraries may write to standard output. Redirect them to standard error, so that they cannot disturb the pipe.
    pipe = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    pin(int(core) if core else None)
    worker = Worker(engine, Dataset(Path(data_directory)), Path(store_directory))
    for line in sys.stdin:
        command = json.loads(line)
        try:
            answer = {"answer": getattr(worker, command.pop("do"))(**command)}
        except Exception as error:  # noqa: BLE001 - reported to the runner, which goes on with the other engines
            traceback.print_exc()
            answer = {"error": f"{type(error).__name__}: {error}"}
        pipe.write(json.dumps(answer) + "\n")
        pipe.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
