"""Results of a run and their file format: plain dataclasses, written to and read from JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

NS_PER_MS: Final = 1e6
NOTHING: Final = "-"


def number(value: float | None, digits: int = 3) -> str:
    """Write a figure with three significant digits, or a dash if it was not measured."""
    if value is None:
        return NOTHING
    if abs(value) >= 10 ** (digits - 1):
        return f"{value:,.0f}"
    return f"{value:.{digits}g}"


@dataclass(frozen=True, slots=True)
class Build:
    """Building a store with complete indexes, and its size on disk."""

    seconds: float
    cpu_seconds: float
    per_second: float
    peak_mb: float
    bytes_per_memory: float


@dataclass(frozen=True, slots=True)
class Start:
    """A fresh process: importing the library, opening the store, and the first answer; medians of several starts."""

    import_ms: float
    open_ms: float
    first_ms: float

    @property
    def open_to_first_ms(self) -> float:
        """From before the store is opened to the first answer."""
        return self.open_ms + self.first_ms


@dataclass(frozen=True, slots=True)
class Timing:
    """Latencies of one operation: medians over the rounds of each round's p50, p99 and processor time per call."""

    p50_ms: float
    p99_ms: float
    cpu_ms: float
    samples: int

    @classmethod
    def of(cls, rounds: Sequence[dict[str, Any]]) -> Timing:
        """Summarise rounds as a worker returns them."""
        taken = [np.asarray(round_["taken_ns"]) / NS_PER_MS for round_ in rounds]
        return cls(
            p50_ms=median(float(np.percentile(t, 50)) for t in taken),
            p99_ms=median(float(np.percentile(t, 99)) for t in taken),
            cpu_ms=median(round_["cpu_ns"] / NS_PER_MS / len(t) for round_, t in zip(rounds, taken, strict=True)),
            samples=sum(len(t) for t in taken),
        )


@dataclass(slots=True)
class EngineFigures:
    """Figures of one engine. Operations that it does not support, or did not reach, are missing."""

    engine: str
    version: str
    configuration: str = ""
    build: Build | None = None
    start: Start | None = None
    resident_mb: float | None = None
    anonymous_mb: float | None = None
    operations: dict[str, Timing] = field(default_factory=dict)
    recall: dict[str, float] = field(default_factory=dict)
    found: dict[str, float] = field(default_factory=dict)
    insert: Timing | None = None
    syncs_per_insert: float | None = None
    failure: str | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """One run: the data, the machine, and each engine; the yardstick of inserts is the engine ``bare_sqlite``."""

    shape: dict[str, Any]
    machine: dict[str, Any]
    rounds: int
    engines: dict[str, EngineFigures]

    def save(self, path: Path) -> None:
        """Write the run as JSON."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(asdict(self), indent=1) + "\n")

    @classmethod
    def load(cls, path: Path) -> Run:
        """Read a run back."""
        raw = json.loads(path.read_text())
        raw["engines"] = {name: _figures(value) for name, value in raw["engines"].items()}
        return cls(**raw)


def _figures(raw: dict[str, Any]) -> EngineFigures:
    raw["build"] = Build(**raw["build"]) if raw["build"] else None
    raw["start"] = Start(**raw["start"]) if raw["start"] else None
    raw["insert"] = Timing(**raw["insert"]) if raw["insert"] else None
    raw["operations"] = {name: Timing(**value) for name, value in raw["operations"].items()}
    return EngineFigures(**raw)


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of the smaller benchmarks, with the goal it is held against, if there is one."""

    name: str
    value: float
    unit: str
    goal: str = ""

    def __str__(self) -> str:
        """Write the figure on one line."""
        goal = f" (goal: {self.goal})" if self.goal else ""
        return f"{self.name}: {number(self.value)} {self.unit}{goal}"


def save_figures(path: Path, title: str, machine: dict[str, Any], figures: Sequence[Figure]) -> None:
    """Write the figures of a smaller benchmark as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {"title": title, "machine": machine, "figures": [asdict(figure) for figure in figures]}
    path.write_text(json.dumps(content, indent=1) + "\n")
