"""Measures recalls from many threads at once: ``python -m benches.speed.concurrency --n 30000``.

Every thread searches the same open store, in turn over all projects and in one project. Reports the share of failed
recalls, and their latency for each number of threads.
"""

from __future__ import annotations

import argparse
import sys
import threading
import time
from typing import TYPE_CHECKING, Final

import numpy as np

import opencode_memory
from opencode_memory.embedding import find_model
from opencode_memory.errors import OpencodeMemoryError
from opencode_memory.models import ALL_PROJECTS

from .data import DataShape, prepare
from .embedders import PrecomputedEmbedder
from .options import add_options
from .process import machine
from .results import NS_PER_MS, Figure, save_figures
from .stores import Stores

if TYPE_CHECKING:
    from collections.abc import Sequence

    from opencode_memory import MemoryStore

K: Final = 10
THREADS: Final = (1, 3, 8, 32)


def _recall(store: MemoryStore, queries: Sequence[str], project: str, times: list[float], errors: list[str]) -> None:
    for number, query in enumerate(queries):
        begun = time.perf_counter_ns()
        try:
            store.recall(query, limit=K, project=ALL_PROJECTS if number % 2 else project)
        except OpencodeMemoryError as error:
            errors.append(str(error))
        times.append((time.perf_counter_ns() - begun) / NS_PER_MS)


def _measure(store: MemoryStore, queries: Sequence[str], threads: int) -> list[Figure]:
    project = store.projects.list()[0].name
    times: list[float] = []
    errors: list[str] = []
    workers = [threading.Thread(target=_recall, args=(store, queries, project, times, errors)) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return [
        Figure(f"{threads} threads: failed recalls", 100 * len(errors) / len(times), "%", "none"),
        Figure(f"{threads} threads: recall, p50", float(np.percentile(times, 50)), "ms"),
        Figure(f"{threads} threads: recall, p99", float(np.percentile(times, 99)), "ms"),
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, save; the exit code is 1 if a recall failed."""
    parser = argparse.ArgumentParser(prog="python -m benches.speed.concurrency", description=__doc__)
    add_options(parser, n=30_000)
    parser.add_argument("--queries", type=int, default=100, help="recalls of each thread (default %(default)s)")
    options = parser.parse_args(arguments)
    dataset = prepare(options.work, DataShape(options.n, queries=options.queries))
    stores = Stores(dataset, reuse=options.reuse, core=None)
    stores.built("ours")
    queries = dataset.queries("general")
    embedder = PrecomputedEmbedder(find_model().model_id)
    embedder.give([query.text for query in queries], [query.vector for query in queries])
    figures: list[Figure] = []
    with opencode_memory.open(stores.copy("ours"), embedder=embedder, read_only=True, background=False) as store:
        store.recall(queries[0].text, limit=K, project=ALL_PROJECTS)
        for threads in THREADS:
            found = _measure(store, [query.text for query in queries], threads)
            print("\n".join(map(str, found)), flush=True)
            figures += found
    save_figures(options.results / f"concurrency-{options.n}.json", "Recalls at once", machine(), figures)
    return int(any(figure.value for figure in figures if figure.unit == "%"))


if __name__ == "__main__":
    sys.exit(main())
