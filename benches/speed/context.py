"""Measures the cost of scoring turns together with their neighbours: ``python -m benches.speed.context``.

The same texts and vectors twice: once as turns of conversations, with session, position and speaker, once as notes,
which have no neighbours, so that only plain fusion is left. Both stores answer the same questions in alternating
rounds, each in its own process.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import opencode_memory
from opencode_memory.embedding import find_model
from opencode_memory.models import ALL_PROJECTS

from .data import DataShape, Memory, prepare
from .embedders import PrecomputedEmbedder
from .options import add_options
from .process import last_core, machine, pin, resident
from .results import NS_PER_MS, Figure, save_figures

if TYPE_CHECKING:
    from collections.abc import Sequence
    from multiprocessing.connection import Connection

TURNS: Final = 20
"""Number of turns of a conversation."""
K: Final = 10


def _new(memory: Memory, said: Counter[str], *, is_turn: bool) -> dict[str, Any]:
    """Return the memory to write; ``said`` counts the turns of each project."""
    note: dict[str, Any] = {
        "content": memory.content,
        "project": memory.project,
        "category": "conversation",
        "time": memory.time_ms,
        "metadata": {"row": memory.row},
    }
    if not is_turn:
        return note
    session, position = divmod(said[memory.project], TURNS)
    said[memory.project] += 1
    speaker = ("user", "assistant")[position % 2]
    return note | {"session": f"{memory.project}-{session}", "position": position, "speaker": speaker}


def _serve(directory: Path, data: Path, shape: DataShape, pipe: Connection, *, is_turn: bool) -> None:
    """Build a store, then answer a round of questions for each message: the times in ms, and resident bytes."""
    pin(last_core())
    dataset = prepare(data, shape)
    embedder = PrecomputedEmbedder(find_model().model_id)
    said: Counter[str] = Counter()
    with opencode_memory.open(directory, embedder=embedder, background=False) as store:
        for batch in dataset.batches(10_000):
            news = [_new(memory, said, is_turn=is_turn) for memory in batch.memories]
            prefixes = [f"{new['speaker']}: " if "speaker" in new else "" for new in news]
            texts = [prefix + new["content"] for prefix, new in zip(prefixes, news, strict=True)]
            embedder.give(texts, batch.vectors)
            store.remember_many(news)
            store.indexes.embed_pending()
            embedder.forget()
        store.indexes.catch_up()
    queries = dataset.queries("general")
    # Reopened, so that the memory that building took does not count.
    with opencode_memory.open(directory, embedder=embedder, read_only=True, background=False) as store:
        pipe.send("ready")
        while pipe.recv():
            taken = []
            for query in queries:
                embedder.give([query.text], [query.vector])
                begun = time.perf_counter_ns()
                store.recall(query.text, limit=K, project=ALL_PROJECTS)
                taken.append((time.perf_counter_ns() - begun) / NS_PER_MS)
            pipe.send((taken, resident().anonymous))


def _measure(root: Path, data: Path, shape: DataShape, rounds: int) -> dict[str, tuple[list[list[float]], int]]:
    """Return the times of each round and the resident bytes after the last, of notes and of turns."""
    context = multiprocessing.get_context("spawn")
    pipes: dict[str, Connection] = {}
    prepare(data, shape)
    for name in ("notes", "turns"):
        ours, theirs = context.Pipe()
        process = context.Process(
            target=_serve, args=(root / name, data, shape, theirs), kwargs={"is_turn": name == "turns"}, daemon=True
        )
        process.start()
        pipes[name] = ours
        print(f"building {name}", file=sys.stderr, flush=True)
        ours.recv()
    times: dict[str, list[list[float]]] = {name: [] for name in pipes}
    bytes_: dict[str, int] = {}
    for round_ in range(rounds + 1):
        for name, pipe in pipes.items():
            pipe.send(True)
            taken, bytes_[name] = pipe.recv()
            if round_ > 0:  # the first warms up
                times[name].append(taken)
    for pipe in pipes.values():
        pipe.send(False)
    return {name: (times[name], bytes_[name]) for name in pipes}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, save."""
    parser = argparse.ArgumentParser(prog="python -m benches.speed.context", description=__doc__)
    add_options(parser, n=10_000)
    parser.add_argument("--queries", type=int, default=100, help="different queries (default %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="alternating rounds (default %(default)s)")
    options = parser.parse_args(arguments)
    shape = DataShape(options.n, queries=options.queries)
    with tempfile.TemporaryDirectory() as root:
        measured = _measure(Path(root), options.work, shape, options.rounds)

    def percentile(name: str, at: float) -> float:
        return median(float(np.percentile(taken, at)) for taken in measured[name][0])

    notes, turns = percentile("notes", 50), percentile("turns", 50)
    memory = measured["turns"][1] / measured["notes"][1]
    figures = [
        Figure("hybrid recall of notes (plain fusion), p50", notes, "ms"),
        Figure("hybrid recall of turns with all that is around them, p50", turns, "ms"),
        Figure("the same against plain fusion", turns / notes, "times", "2.5"),
        Figure("p99 of turns", percentile("turns", 99), "ms"),
        Figure("resident memory against plain fusion", memory, "times", "1.2"),
    ]
    save_figures(options.results / f"context-{options.n}.json", "Turns in their context", machine(), figures)
    print("\n".join(map(str, figures)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
