"""Judges time series of a soak: a value that keeps growing while the load is steady has no bound."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

_LEAST: Final = 12
"""Least number of samples of a steady load that can be judged."""
_UNBOUNDED: Final = {
    "rows: history": "kept until 30 days after the deletion of its memory",
    "rows: embedding": "vectors of deleted texts are dropped by the hourly maintenance",
    "rows: chunk": "as memory, by the number of chunks of a text",
    "rows: change": "trimmed by the indexer to 10,000 rows behind the slower index",
    "rows: link": "as memory, by near neighbours",
    "rows: use_count": "dropped with the history of its memory",
    "rows: use_day": "kept for 8 days",
    "files: store.db MB": "as the rows above",
}
"""Series that grow with the number of writes within the hours of a soak, and the bound that they have."""
_SLACK: Final = {"anonymous MB": 40.0, "descriptors": 12.0, "threads": 8.0, "WAL": 8.0, "segments": 12.0}
_ROWS: Final = 200.0
_RATIO: Final = 1.2


@dataclass(frozen=True, slots=True)
class Verdict:
    """The median of a series at the beginning and at the end of the steady load, and whether it has a bound."""

    name: str
    begin: float
    end: float
    note: str
    is_bounded: bool


def judge(series: Mapping[str, Sequence[tuple[float, float]]], *, steady_from: float) -> list[Verdict]:
    """Compare the first and the last quarter of the samples since the load is steady.

    Args:
        series: Samples by name, as seconds and values.
        steady_from: Seconds from which on no process is killed and the number of memories stays the same.
    """
    verdicts = []
    for name, samples in sorted(series.items()):
        values = [value for seconds, value in samples if seconds >= steady_from]
        if len(values) < _LEAST or name.endswith("resident MB"):
            continue
        quarter = len(values) // 4
        begin, end = statistics.median(values[:quarter]), statistics.median(values[-quarter:])
        note = _UNBOUNDED.get(name, "")
        slack = _ROWS if name.startswith("rows:") else next((_SLACK[part] for part in _SLACK if part in name), 8.0)
        verdicts.append(Verdict(name, begin, end, note, bool(note) or end <= max(begin * _RATIO, begin + slack)))
    return verdicts
