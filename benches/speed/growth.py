"""Measures how cost grows with the size of the store: ``python -m benches.speed.growth --sizes 10000,100000,1000000``.

Each size has its own store, which is written in bulk and asked in a separate process.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

import opencode_memory
from opencode_memory.embedding import find_model
from opencode_memory.models import ALL_PROJECTS

from .data import Dataset, DataShape, prepare
from .embedders import PrecomputedEmbedder
from .options import add_options
from .process import disk_bytes, machine, resident
from .results import NS_PER_MS, Figure, save_figures

if TYPE_CHECKING:
    from collections.abc import Sequence
    from multiprocessing.connection import Connection

K: Final = 10
MB: Final = 1e6


def _write(directory: Path, dataset: Dataset) -> tuple[float, float]:
    """Write everything, then index what is left; the seconds of both."""
    embedder = PrecomputedEmbedder(find_model().model_id)
    begun = time.perf_counter()
    # Indexes follow in the background as usual: near duplicates are searched for among all earlier memories.
    with opencode_memory.open(directory, embedder=embedder) as store:
        for batch in dataset.batches(10_000):
            embedder.give((memory.content for memory in batch.memories), batch.vectors)
            store.remember_many(
                {
                    "content": memory.content,
                    "project": memory.project,
                    "category": memory.category,
                    "time": memory.time_ms,
                }
                for memory in batch.memories
            )
            store.indexes.embed_pending()
            embedder.forget()
        written = time.perf_counter()
        store.indexes.catch_up()
    return written - begun, time.perf_counter() - written


def _ask(directory: Path, data: Path, shape: DataShape, pipe: Connection) -> None:
    """Open the store and ask; seconds to the first answer, the times of the others, and resident bytes."""
    queries = prepare(data, shape).queries("general")
    embedder = PrecomputedEmbedder(find_model().model_id)
    embedder.give([query.text for query in queries], [query.vector for query in queries])
    begun = time.perf_counter()
    with opencode_memory.open(directory, embedder=embedder, read_only=True, background=False) as store:
        store.recall(queries[0].text, limit=K, project=ALL_PROJECTS)
        opened = time.perf_counter() - begun
        taken = []
        for query in (*queries, *queries):
            asked = time.perf_counter_ns()
            store.recall(query.text, limit=K, project=ALL_PROJECTS)
            taken.append((time.perf_counter_ns() - asked) / NS_PER_MS)
        pipe.send((opened, taken[len(queries) :], resident().anonymous))


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, save."""
    parser = argparse.ArgumentParser(prog="python -m benches.speed.growth", description=__doc__)
    add_options(parser, n=0)
    parser.add_argument("--sizes", default="10000,100000", help="comma-separated (default %(default)s)")
    parser.add_argument("--queries", type=int, default=100, help="different queries (default %(default)s)")
    options = parser.parse_args(arguments)
    context = multiprocessing.get_context("spawn")
    figures: list[Figure] = []
    for size in map(int, options.sizes.split(",")):
        shape = DataShape(size, queries=options.queries)
        dataset = prepare(options.work, shape)
        with tempfile.TemporaryDirectory(dir=options.work) as folder:
            directory = Path(folder) / "store"
            writing, indexing = _write(directory, dataset)
            ours, theirs = context.Pipe()
            process = context.Process(target=_ask, args=(directory, options.work, shape, theirs))
            process.start()
            opened, taken, anonymous = ours.recv()
            process.join()
            of_size = [
                Figure(f"{size:,}: written and indexed", size / (writing + indexing), "memories/s"),
                Figure(f"{size:,}: open to the first answer", 1000 * opened, "ms"),
                Figure(f"{size:,}: hybrid recall, p50", float(np.percentile(taken, 50)), "ms"),
                Figure(f"{size:,}: hybrid recall, p99", float(np.percentile(taken, 99)), "ms"),
                Figure(f"{size:,}: resident, anonymous", anonymous / MB, "MB"),
                Figure(f"{size:,}: on disk", disk_bytes(directory) / MB, "MB"),
            ]
        print("\n".join(map(str, of_size)), flush=True)
        figures += of_size
    save_figures(options.results / "growth.json", "How cost grows", machine(), figures)
    return 0


if __name__ == "__main__":
    sys.exit(main())
