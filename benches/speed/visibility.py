"""Measures how soon another process finds a write: ``python -m benches.speed.visibility``.

The next recall has to find it. One process writes; as soon as a write is acknowledged, the other recalls a word that
only this memory contains. A recall that does not find it is a miss, and one miss is a defect.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import opencode_memory

from .data import DataShape, prepare
from .embedders import HashedEmbedder
from .options import add_options
from .process import machine
from .results import Figure, save_figures

if TYPE_CHECKING:
    from collections.abc import Sequence
    from multiprocessing.connection import Connection

PROJECT = "visibility"


def _read(directory: Path, pipe: Connection) -> None:
    """Recall each word that comes through the pipe; answer whether it was found, and when."""
    with opencode_memory.open(directory, project=PROJECT, embedder=HashedEmbedder(), read_only=True) as store:
        store.recall("warm")
        pipe.send(None)
        while (word := pipe.recv()) is not None:
            hits = store.recall(word)
            pipe.send((any(word in hit.memory.content for hit in hits), time.perf_counter_ns()))


def _word(number: int) -> str:
    return "zq" + "".join(chr(ord("a") + int(digit)) for digit in str(number))


def _measure(directory: Path, data: Path, n: int, writes: int) -> tuple[list[float], int]:
    """Return the milliseconds from each acknowledgement to the answer of the other process, and the misses."""
    dataset = prepare(data, DataShape(n))
    ours, theirs = multiprocessing.get_context("spawn").Pipe()
    taken: list[float] = []
    misses = 0
    with opencode_memory.open(directory, project=PROJECT, embedder=HashedEmbedder()) as store:
        for batch in dataset.batches(1_000):
            store.remember_many({"content": memory.content} for memory in batch.memories)
        store.indexes.embed_pending()
        reader = multiprocessing.get_context("spawn").Process(target=_read, args=(directory, theirs))
        reader.start()
        ours.recv()
        for number in range(writes):
            word = _word(number)
            store.remember(f"The deploy of {word} waits for the migration of its queue.")
            acknowledged = time.perf_counter_ns()
            ours.send(word)
            seen, at = ours.recv()
            taken.append((at - acknowledged) / 1e6)
            misses += not seen
        ours.send(None)
        reader.join()
    return taken, misses


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, save. Return 1 if the next recall missed a write."""
    parser = argparse.ArgumentParser(prog="python -m benches.speed.visibility", description=__doc__)
    add_options(parser, n=1_000)
    parser.add_argument("--writes", type=int, default=2_000, help="writes that are looked for (default %(default)s)")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as directory:
        taken, misses = _measure(Path(directory) / "store", options.work, options.n, options.writes)
    figures = [
        Figure("writes that the next recall of another process missed", misses, f"of {len(taken)}", "0"),
        Figure("from acknowledgement to the other process's answer, p50", float(np.percentile(taken, 50)), "ms"),
        Figure("the same, p99", float(np.percentile(taken, 99)), "ms"),
    ]
    save_figures(options.results / "visibility.json", "Visible in another process", machine(), figures)
    print("\n".join(map(str, figures)))
    return 1 if misses else 0


if __name__ == "__main__":
    sys.exit(main())
