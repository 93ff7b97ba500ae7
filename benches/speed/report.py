"""Renders benchmark runs as tables, for the terminal or as markdown for ``docs/benchmarks.md``.

``python -m benches.speed.report benches/results/*.json`` renders saved results of every kind as markdown.
"""

from __future__ import annotations

import argparse
import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from .results import NOTHING, EngineFigures, Figure, Run, Timing, number

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

OURS: Final = "ours"
NAMES: Final = {
    OURS: "opencode-memory",
    "lancedb": "LanceDB",
    "chroma": "Chroma",
    "sqlite_vec": "sqlite-vec + FTS5",
    "zvec": "zvec",
    "qdrant_edge": "qdrant-edge",
    "bare_sqlite": "SQLite, bare",
}
LABELS: Final = {
    "vector": "vector",
    "vector_filtered": "vector, rare project",
    "lexical": "words (BM25)",
    "hybrid": "hybrid",
    "hybrid_project": "hybrid in a project",
}
TIMES: Final = "\N{MULTIPLICATION SIGN}"

Table = list[list[str]]


def tables(run: Run) -> list[tuple[str, Table]]:
    """Return the tables of a run with their titles; the first row of each is its head."""
    return [
        ("Median in ms, hydrated, k = 10. The factor in brackets is relative to opencode-memory", _latencies(run)),
        (
            "Recall@10 against exact search, and the share of queries for which the source memory was among the ten",
            _quality(run),
        ),
        ("p99 and processor time per call, ms", _tails(run)),
        ("One acknowledged insert", _inserts(run)),
        ("Build time, start time, memory and disk", _weights(run)),
        ("Configuration of each engine", _setups(run)),
    ]


def markdown(run: Run) -> str:
    """Render a run as markdown, machine included."""
    n, share = run.shape["n"], run.shape["filter_share"]
    about = ", ".join(str(value) for value in run.machine.values() if value)
    parts = [f"### {n:,} memories", f"{about}. Rare project: {share:.2%} of all; medians of {run.rounds} rounds."]
    for title, table in tables(run):
        head, *rows = table
        lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
        parts += [f"{title}:", "\n".join(f"| {' | '.join(cells)} |" for cells in lines)]
    parts += [f"{NAMES[f.engine]} was left out: {f.failure}" for f in run.engines.values() if f.failure]
    return "\n\n".join(parts) + "\n"


def plain(run: Run) -> str:
    """Render a run for a terminal, in aligned columns."""
    parts = []
    for title, table in tables(run):
        widths = [max(len(row[column]) for row in table) for column in range(len(table[0]))]
        lines = [
            "  ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))])
            for row in table
        ]
        parts.append("\n".join([f"-- {title}", *lines]))
    parts += [f"{NAMES[f.engine]} was left out: {f.failure}" for f in run.engines.values() if f.failure]
    return "\n\n".join(parts) + "\n"


def ratio(value: float | None, ours: float | None) -> str:
    """Format the ratio of a figure to ours; empty if either is missing."""
    return "" if value is None or not ours else f" ({TIMES}{number(value / ours, 2)})"


def _asked(run: Run) -> list[EngineFigures]:
    return [figures for figures in run.engines.values() if figures.operations]


def _p50(operation: str, figures: EngineFigures | None) -> float | None:
    timing = figures.operations.get(operation) if figures else None
    return timing.p50_ms if timing and timing.samples else None


def _compared(run: Run, figures: EngineFigures, of: Callable[[EngineFigures], float | None]) -> str:
    ours = run.engines.get(OURS)
    value = of(figures)
    return number(value) + (ratio(value, of(ours)) if ours and figures.engine != OURS else "")


def _latencies(run: Run) -> Table:
    rows = [["", *LABELS.values()]]
    for figures in _asked(run):
        cells = [_compared(run, figures, partial(_p50, operation)) for operation in LABELS]
        rows.append([NAMES[figures.engine], *cells])
    return rows


def _quality(run: Run) -> Table:
    vectors = ("vector", "vector_filtered")
    rows = [["", *(f"recall, {LABELS[op]}" for op in vectors), *(f"found, {label}" for label in LABELS.values())]]
    for figures in _asked(run):
        recalls = [_share(figures.recall.get(operation)) for operation in vectors]
        rows.append([NAMES[figures.engine], *recalls, *(_share(figures.found.get(op)) for op in LABELS)])
    return rows


def _share(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.3f}"


def _tails(run: Run) -> Table:
    rows = [["", *(f"{label}: p99 / CPU" for label in LABELS.values())]]
    for figures in _asked(run):
        timings = [figures.operations.get(operation) for operation in LABELS]
        rows.append([NAMES[figures.engine], *(_tail(timing) for timing in timings)])
    return rows


def _tail(timing: Timing | None) -> str:
    return f"{number(timing.p99_ms)} / {number(timing.cpu_ms)}" if timing and timing.samples else NOTHING


def _inserts(run: Run) -> Table:
    rows = [["", "p50 ms", "p99 ms", "CPU ms", "syncs", "p50 against bare SQLite"]]
    bare = run.engines.get("bare_sqlite")
    yardstick = bare.insert.p50_ms if bare and bare.insert else None
    for figures in run.engines.values():
        if figures.insert:
            insert = figures.insert
            times = [number(insert.p50_ms), number(insert.p99_ms), number(insert.cpu_ms)]
            against = ratio(insert.p50_ms, yardstick).strip(" ()") or NOTHING
            rows.append([NAMES[figures.engine], *times, number(figures.syncs_per_insert), against])
    return rows


def _weights(run: Run) -> Table:
    rows = [
        [
            "",
            "build memories/s",
            "build peak MB",
            "bytes/memory on disk",
            "import ms",
            "open to first answer ms",
            "resident MB",
            "of it anonymous MB",
        ]
    ]
    for figures in _asked(run):
        build, start = figures.build, figures.start
        rows.append(
            [
                NAMES[figures.engine],
                number(build.per_second if build else None),
                number(build.peak_mb if build else None),
                number(build.bytes_per_memory if build else None),
                number(start.import_ms if start else None),
                _compared(run, figures, lambda f: f.start.open_to_first_ms if f.start else None),
                _compared(run, figures, lambda f: f.resident_mb),
                number(figures.anonymous_mb),
            ]
        )
    return rows


def _setups(run: Run) -> Table:
    return [
        ["", "version", "configuration"],
        *([NAMES[f.engine], f.version, f.configuration] for f in run.engines.values()),
    ]


def _render(path: Path) -> str:
    raw = json.loads(path.read_text())
    if "engines" in raw:
        return markdown(Run.load(path))
    figures = [Figure(**figure) for figure in raw["figures"]]
    rows = [f"| {f.name} | {number(f.value)} {f.unit} | {f.goal} |" for f in figures]
    return "\n".join([f"### {raw['title']}", "", "| | measured | goal |", "| --- | ---: | --- |", *rows, ""])


def main(arguments: Sequence[str] | None = None) -> None:
    """Print each result file as markdown."""
    parser = argparse.ArgumentParser(description="Render saved results as markdown tables.")
    parser.add_argument("results", type=Path, nargs="+", help="JSON files that a benchmark wrote")
    print("\n".join(map(_render, parser.parse_args(arguments).results)))


if __name__ == "__main__":
    main()
