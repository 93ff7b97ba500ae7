"""Measures the overhead of a bulk import over the embedder alone: ``python -m benches.speed.bulk``.

The same new texts go through the bundled embedder alone, and through ``remember_many`` and ``embed_pending`` into a
store, in alternating rounds. The difference is the cost of reading, writing, deduplication and indexing.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import opencode_memory
from opencode_memory.embedding import BundledEmbedder

from .data import DataShape, prepare
from .options import add_options
from .process import machine
from .results import Figure, save_figures

if TYPE_CHECKING:
    from collections.abc import Sequence


def _rates(texts: Sequence[str], rounds: int) -> tuple[float, float]:
    """Return texts per second of the embedder alone, and of a store with the same embedder; medians of rounds."""
    alone, stored = [], []
    size = len(texts) // rounds
    embedder = BundledEmbedder()
    embedder.load()
    with (
        tempfile.TemporaryDirectory() as directory,
        opencode_memory.open(Path(directory) / "store", project="bulk", embedder=embedder) as store,
    ):
        for start in range(0, size * rounds, size):
            chosen = texts[start : start + size]
            marks = [time.perf_counter()]
            embedder.embed(chosen)
            marks.append(time.perf_counter())
            store.remember_many({"content": text} for text in chosen)
            store.indexes.embed_pending()
            marks.append(time.perf_counter())
            alone.append(size / (marks[1] - marks[0]))
            stored.append(size / (marks[2] - marks[1]))
    return median(alone), median(stored)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, save."""
    parser = argparse.ArgumentParser(prog="python -m benches.speed.bulk", description=__doc__)
    add_options(parser, n=3_000)
    parser.add_argument("--rounds", type=int, default=3, help="alternating rounds (default %(default)s)")
    options = parser.parse_args(arguments)
    dataset = prepare(options.work, DataShape(options.n))
    texts = [memory.content for batch in dataset.batches(options.n) for memory in batch.memories]
    alone, stored = _rates(texts, options.rounds)
    figures = [
        Figure("the bundled embedder alone", alone, "texts/s"),
        Figure("remember_many and embed_pending", stored, "memories/s"),
        Figure("share of the embedder's own throughput", 100 * stored / alone, "%", "at least 90"),
    ]
    save_figures(options.results / "bulk.json", "Bulk import with embedding", machine(), figures)
    print("\n".join(map(str, figures)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
