"""Drives a search of memories by an earlier version of the package, which runs in a process of its own environment."""

from __future__ import annotations

import json
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .data import Dataset, Query

_WORKER: Final = Path(__file__).with_name("earlier_worker.py")
_PAGE: Final = 5_000


class EarlierVersion:
    """A running process of the earlier version, whose store has the same memories."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def search(self, question: str, *, project: str | None, embeds: bool) -> list[float]:
        """Search, and return the milliseconds from start to end, and of the processor.

        Args:
            question: One of the questions that were given.
            project: The project; None for all.
            embeds: Whether the model embeds the question before.
        """
        return list(map(float, self._ask(json.dumps({"question": question, "project": project, "embeds": embeds}))))

    def _ask(self, line: str) -> list[float]:
        if self._process.stdin is None:
            raise RuntimeError("the process has no standard input")
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()
        answer: list[float] = json.loads(self._read())
        return answer

    def _read(self) -> str:
        line = "" if self._process.stdout is None else self._process.stdout.readline()
        if not line:
            raise RuntimeError("the earlier version ended")
        return line

    def wait(self) -> None:
        """Wait until the store is built."""
        self._read()


@contextmanager
def run(python: Path, folder: Path, memories: Dataset, questions: Sequence[Query]) -> Iterator[EarlierVersion]:
    """Start the earlier version with its own copy of the memories, and end it.

    Args:
        python: The interpreter of an environment with that version and numpy.
        folder: Where the store is built. A store that exists there is deleted.
        memories: The memories.
        questions: All questions that will be asked.
    """
    # It may be of other memories, or of another version.
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    rows = [one for batch in memories.batches(_PAGE) for one in batch.memories]
    _write(
        folder / "memories",
        [{"content": one.content, "project": one.project, "category": one.category} for one in rows],
        np.concatenate([batch.vectors for batch in memories.batches(_PAGE)]),
    )
    _write(folder / "questions", [one.text for one in questions], np.stack([one.vector for one in questions]))
    # In the folder of the store, so that the sources of this repository are not imported.
    with subprocess.Popen(
        [python, "-P", _WORKER, folder],
        cwd=folder,
        env={},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        earlier = EarlierVersion(process)
        earlier.wait()
        try:
            yield earlier
        finally:
            process.terminate()


def _write(path: Path, rows: object, vectors: np.ndarray) -> None:
    path.with_suffix(".json").write_text(json.dumps(rows), encoding="utf-8")
    np.save(path.with_suffix(".npy"), vectors.astype(np.float32))
