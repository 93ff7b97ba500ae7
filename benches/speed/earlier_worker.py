"""Searches memories in a process of an earlier version of the package, for ``earlier_version``.

The interpreter of that version's environment runs this file by its path, so it imports nothing of this repository. It
needs numpy, and works with versions that have ``MemoryStore.recall``. Each line of the standard input is a request,
which is answered by the milliseconds that it took by each clock.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import opencode_memory
from opencode_memory import embedding

PAGE = 5_000


class Embedder:
    """Looks vectors up; if ``embeds`` is set, the model embeds each query before."""

    dimension = 384
    embeds = False
    search = 0

    def __init__(self) -> None:
        model: Any = getattr(embedding, "BundledEmbedder", None) or getattr(embedding, "OnnxEmbedder", None)
        self._model = model()
        self._model.load()
        self.model_id: str = self._model.model_id
        self.vectors: dict[str, Any] = {}

    def chunk(self, text: str) -> list[str]:
        return [text]

    def embed(self, texts: Sequence[str]) -> Any:
        return np.stack([self.vectors[text] for text in texts])

    def embed_query(self, text: str) -> Any:
        if self.embeds:
            self._model.embed_query(f"{text} {self.search}")
        return self.vectors[text]


def read(folder: Path, name: str) -> tuple[list[Any], Any]:
    """Return rows and their vectors."""
    rows = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    return rows, np.load(folder / f"{name}.npy")


def build(folder: Path, store: Any, embedder: Embedder) -> None:
    """Store the memories with their vectors."""
    rows, vectors = read(folder, "memories")
    of_indexes = getattr(store, "indexes", store)
    for first in range(0, len(rows), PAGE):
        page = rows[first : first + PAGE]
        embedder.vectors = dict(zip((row["content"] for row in page), vectors[first:], strict=False))
        store.remember_many(page)
        of_indexes.embed_pending()
    of_indexes.catch_up()


def main() -> None:
    """Build the store, then answer requests until the input ends."""
    folder = Path(sys.argv[1])
    embedder = Embedder()
    with opencode_memory.open(folder / "store", embedder=embedder) as store:
        build(folder, store, embedder)
    rows, vectors = read(folder, "questions")
    embedder.vectors = dict(zip(rows, vectors, strict=True))
    with opencode_memory.open(folder / "store", embedder=embedder, background=False) as store:
        print("ready", flush=True)
        for line in sys.stdin:
            request = json.loads(line)
            embedder.embeds = request["embeds"]
            embedder.search += 1
            project = request["project"] or opencode_memory.ALL_PROJECTS
            begun = time.perf_counter(), time.process_time()
            store.recall(request["question"], project=project)
            ended = time.perf_counter(), time.process_time()
            print(json.dumps([1000 * (end - begin) for begin, end in zip(begun, ended, strict=True)]), flush=True)


if __name__ == "__main__":
    main()
