"""Compares a rebuild of all indexes with usearch alone: ``python -m benches.speed.rebuild``.

``reindex`` reads texts and cached embeddings from the store and builds both indexes; usearch alone is given the vectors
in memory and builds its graph with the same parameters, on as many threads.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from typing import TYPE_CHECKING

import numpy as np
from usearch.index import Index

import opencode_memory
from opencode_memory.embedding import find_model

from .data import Dataset, DataShape, prepare
from .embedders import PrecomputedEmbedder
from .options import add_options
from .peers.base import CONNECTIVITY, EF_CONSTRUCTION
from .process import machine
from .results import Figure, save_figures
from .stores import Stores
from .vectors import DIMENSION

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def _usearch_seconds(dataset: Dataset, threads: int) -> float:
    vectors = np.asarray(dataset.vectors(), dtype=np.float16)
    index = Index(ndim=DIMENSION, metric="cos", dtype="f16", connectivity=CONNECTIVITY, expansion_add=EF_CONSTRUCTION)
    start = time.perf_counter()
    index.add(np.arange(len(vectors)), vectors, threads=threads)
    return time.perf_counter() - start


def _reindex_seconds(directory: Path) -> float:
    # This embedder knows no text. If the rebuild embedded a text again, it would fail instead of only taking longer.
    embedder = PrecomputedEmbedder(find_model().model_id)
    with opencode_memory.open(directory, embedder=embedder) as store:
        start = time.perf_counter()
        store.indexes.reindex()
        return time.perf_counter() - start


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, save."""
    parser = argparse.ArgumentParser(prog="python -m benches.speed.rebuild", description=__doc__)
    add_options(parser, n=100_000)
    options = parser.parse_args(arguments)
    dataset = prepare(options.work, DataShape(options.n))
    stores = Stores(dataset, reuse=options.reuse, core=None)
    stores.built("ours")
    threads = os.cpu_count() or 1
    alone, ours = _usearch_seconds(dataset, threads), _reindex_seconds(stores.copy("ours"))
    figures = [
        Figure(f"usearch alone, {options.n:,} vectors, {threads} threads", alone, "s"),
        Figure(f"reindex of {options.n:,} memories from cached embeddings", ours, "s"),
        Figure("reindex against usearch alone", ours / alone, "times", "at most 1.5"),
    ]
    save_figures(options.results / f"rebuild-{options.n}.json", "Rebuilding the indexes", machine(), figures)
    print("\n".join(map(str, figures)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
