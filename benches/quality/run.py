"""Ask the question sets and print how good the answers are: ``python -m benches.quality.run --data DIR``.

The data directory holds a folder for each set: ``locomo``, ``beam-100k``, ``devmembench``, ``longmemeval``.
README.md in this folder names their origin and explains how they are read.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from opencode_memory.embedding import BundledEmbedder

from .asking import Answered, ask
from .cached_embedder import CachedEmbedder
from .conversations import DataError, QuestionSet
from .data_sets import DEFAULT_SETS, QUESTION_SETS
from .report import SetFigures, as_json, as_text, figures
from .results import write_results

NO_CACHE: Final = "none"
LEAST_DEPTH: Final = 10
DEPTH: Final = 100
"""Minimum number of hits; metrics at 10 need ten hits."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Ask all questions, print and write the results. Return 2 if the data cannot be read."""
    options = _parser().parse_args(arguments)
    chosen = list(dict.fromkeys(options.set.split(",")))
    if unknown := sorted(set(chosen) - set(QUESTION_SETS)):
        print(f"unknown sets: {', '.join(unknown)}; there are {', '.join(QUESTION_SETS)}", file=sys.stderr)
        return 2
    if options.limit_depth < LEAST_DEPTH:
        print(f"--limit-depth: must be at least {LEAST_DEPTH}, not {options.limit_depth}", file=sys.stderr)
        return 2
    cache = None if options.cache == NO_CACHE else Path(options.cache)
    measured: list[SetFigures] = []
    results = []
    try:
        with CachedEmbedder.open(BundledEmbedder(), cache) as embedder:
            for name in chosen:
                start = time.perf_counter()
                answered = ask_set(QUESTION_SETS[name], options.data, embedder, limit=options.limit_depth)
                measured.append(figures(QUESTION_SETS[name].title, answered, time.perf_counter() - start))
                results += [answer.result for answer in answered]
    except DataError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if options.out is not None:
        write_results(options.out, results)
    print(json.dumps(as_json(measured), indent=1) if options.json else as_text(measured))
    return 0


def ask_set(set_: QuestionSet, data: Path, embedder: CachedEmbedder, *, limit: int = DEPTH) -> list[Answered]:
    """Ask all questions of a set.

    Args:
        set_: The set.
        data: The data directory, which contains the folder of the set.
        embedder: Turns texts into vectors.
        limit: Number of hits of an answer, at least 10.

    Raises:
        DataError: The set does not exist or cannot be read.
    """
    answered: list[Answered] = []
    for conversation in set_.load(data / set_.folder):
        _tell(f"{set_.title}, {conversation.id}: {len(conversation.turns):,} turns")
        answered += ask(set_.name, conversation, embedder, limit=limit)
    _tell("")
    if not answered:
        raise DataError(f"{data / set_.folder} holds no questions")
    return answered


def _tell(line: str) -> None:
    """Show the progress on one line of a terminal."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{line}", end="", file=sys.stderr, flush=True)


def default_cache() -> Path:
    """Return the file that keeps vectors from run to run."""
    home = Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache")
    return Path(os.environ.get("XDG_CACHE_HOME") or home) / "opencode-memory" / "quality-vectors.db"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benches.quality.run", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="the data directory")
    parser.add_argument("--set", default=",".join(DEFAULT_SETS), help="comma-separated (default %(default)s)")
    parser.add_argument("--out", type=Path, help="write what came of each question here, as JSON lines")
    parser.add_argument("--limit-depth", type=int, default=DEPTH, help="hits of an answer (default %(default)s)")
    parser.add_argument(
        "--cache",
        default=str(default_cache()),
        help="keep vectors in this file from run to run, or 'none' (default in the user's cache folder)",
    )
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    return parser


if __name__ == "__main__":
    sys.exit(main())
