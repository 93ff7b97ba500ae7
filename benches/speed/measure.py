"""The schedule of a run: build each engine in turn, then let all answer in alternating rounds.

All engines live at the same time, each in its own process, and answer one after the other within a round. Other load
of the machine affects all of them, so a ratio of two medians means more than either median.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from sqlite3 import sqlite_version
from statistics import median
from typing import TYPE_CHECKING, Final

from .exact import found, nearest, recall
from .peers import PACKAGES
from .peers.base import OPERATIONS, Operation
from .process import last_core, machine
from .remote import EngineFailedError, Remote
from .results import Build, EngineFigures, Run, Start, Timing
from .stores import Stores
from .syncs import count_syncs
from .worker import K

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .data import Dataset

YARDSTICK: Final = "bare_sqlite"
TRACED_INSERTS: Final = 20
MB: Final = 1e6


@dataclass(frozen=True, slots=True)
class Plan:
    """Options of a run."""

    engines: tuple[str, ...]
    rounds: int
    starts: int
    seconds: float
    reuse: bool


class Measurement:
    """One run in progress."""

    def __init__(self, dataset: Dataset, plan: Plan, say: Callable[[str], None]) -> None:
        """Prepare a run without starting it; ``say`` receives progress messages."""
        self._dataset = dataset
        self._plan = plan
        self._say = say
        self._core = last_core()
        self._stores = Stores(dataset, reuse=plan.reuse, core=self._core)
        self._figures = {name: EngineFigures(name, _version(name)) for name in plan.engines}

    def run(self) -> Run:
        """Build, ask and insert. An engine that fails is reported and left out from then on."""
        for name in self._plan.engines:
            self._try(name, partial(self._build, name))
        with ExitStack() as stack:
            remotes = [remote for name in self._alive() if (remote := self._start(name, stack))]
            self._warm_up(remotes)
            self._ask_in_rounds(remotes)
            self._insert_in_rounds(remotes)
            for remote in remotes:
                self._try(remote.engine, partial(remote.ask, "close"))
        return Run(asdict(self._dataset.shape), machine(), self._plan.rounds, self._figures)

    def _alive(self) -> list[str]:
        return [name for name, figures in self._figures.items() if figures.failure is None]

    def _try(self, name: str, action: Callable[[], object]) -> None:
        if self._figures[name].failure is None:
            try:
                action()
            except EngineFailedError as error:
                self._figures[name].failure = str(error)
                self._say(f"{name} failed and is left out: {error}")

    def _build(self, name: str) -> None:
        self._say(f"building {name}")
        built = self._stores.built(name)
        n = self._dataset.shape.n
        self._figures[name].configuration = built["configuration"]
        self._figures[name].build = Build(
            seconds=built["seconds"],
            cpu_seconds=built["cpu_seconds"],
            per_second=n / built["seconds"],
            peak_mb=built["peak_bytes"] / MB,
            bytes_per_memory=built["disk_bytes"] / n,
        )

    def _start(self, name: str, stack: ExitStack) -> Remote | None:
        """Start ``name`` several times on a copy of its store, and keep the last process."""
        copy = self._stores.copy(name)
        starts = []
        remote: Remote | None = None
        try:
            for i in range(self._plan.starts):
                remote = Remote(name, self._dataset, copy, self._core)
                if i + 1 == self._plan.starts:
                    stack.enter_context(remote)
                    starts.append(remote.ask("open"))
                else:
                    with remote:
                        starts.append(remote.ask("open"))
                        remote.ask("close")
        except EngineFailedError as error:
            self._figures[name].failure = str(error)
            self._say(f"{name} failed and is left out: {error}")
            return None
        keys = ("import_ms", "open_ms", "first_ms")
        self._figures[name].start = Start(*(median(start[key] for start in starts) for key in keys))
        # The report shows an operation without samples as not measured.
        self._figures[name].operations = dict.fromkeys(starts[-1]["operations"], Timing(0, 0, 0, 0))
        return remote

    def _warm_up(self, remotes: Sequence[Remote]) -> None:
        """Ask every query once; those answers are compared with the exact ones, and memory is read after them."""
        truth = {op: nearest(self._dataset, op, K) for op in OPERATIONS if op.startswith("vector")}
        for remote in remotes:
            self._say(f"warming up {remote.engine}")
            self._try(remote.engine, partial(self._check, remote, truth))

    def _check(self, remote: Remote, truth: dict[Operation, list[set[int]]]) -> None:
        figures = self._figures[remote.engine]
        # ``lexical`` comes last: we answer it from a second handle, which is not what a user's process holds.
        for operation in (op for op in OPERATIONS if op in figures.operations):
            if operation == "lexical":
                self._read_memory(remote)
            answers = remote.ask("answers", operation=operation)
            queries = self._dataset.queries("rare" if operation == "vector_filtered" else "general")
            figures.found[operation] = found(answers, queries)
            if operation in truth:
                figures.recall[operation] = recall(answers, truth[operation])
        if "lexical" not in figures.operations:
            self._read_memory(remote)

    def _read_memory(self, remote: Remote) -> None:
        memory = remote.ask("memory")
        figures = self._figures[remote.engine]
        figures.resident_mb, figures.anonymous_mb = memory["resident"] / MB, memory["anonymous"] / MB

    def _ask_in_rounds(self, remotes: Sequence[Remote]) -> None:
        taken: dict[tuple[str, Operation], list[dict[str, object]]] = {}
        queries = self._dataset.shape.queries
        for number in range(self._plan.rounds):
            self._say(f"queries, round {number + 1} of {self._plan.rounds}")
            offset = number * queries // self._plan.rounds
            for operation in OPERATIONS:
                for remote in _rotated(remotes, number):
                    if operation in self._figures[remote.engine].operations:
                        rounds = taken.setdefault((remote.engine, operation), [])
                        ask = partial(remote.ask, "ask", operation=operation, offset=offset, seconds=self._plan.seconds)
                        self._try(remote.engine, partial(_append, rounds, ask))
        for (name, operation), rounds in taken.items():
            if self._figures[name].failure is None:
                self._figures[name].operations[operation] = Timing.of(rounds)

    def _insert_in_rounds(self, remotes: Sequence[Remote]) -> None:
        count = (self._dataset.shape.inserts - TRACED_INSERTS) // self._plan.rounds
        taken: dict[str, list[dict[str, object]]] = {remote.engine: [] for remote in remotes}
        for number in range(self._plan.rounds):
            self._say(f"inserts, round {number + 1} of {self._plan.rounds}")
            for remote in _rotated(remotes, number):
                ask = partial(remote.ask, "insert", first=number * count, count=count)
                self._try(remote.engine, partial(_append, taken[remote.engine], ask))
        for remote in remotes:
            if self._figures[remote.engine].failure is None:
                self._figures[remote.engine].insert = Timing.of(taken[remote.engine])
                self._try(remote.engine, partial(self._count_syncs, remote))

    def _count_syncs(self, remote: Remote) -> None:
        first = self._dataset.shape.inserts - TRACED_INSERTS
        syncs = count_syncs(remote.pid, lambda: remote.ask("insert", first=first, count=TRACED_INSERTS))
        if syncs is not None:
            self._figures[remote.engine].syncs_per_insert = syncs / TRACED_INSERTS


def _rotated(remotes: Sequence[Remote], by: int) -> list[Remote]:
    """Let another engine begin each round, so that none always comes after the same neighbour."""
    by %= max(1, len(remotes))
    return [*remotes[by:], *remotes[:by]]


def _append(rounds: list[dict[str, object]], ask: Callable[[], dict[str, object]]) -> None:
    rounds.append(ask())


def _version(engine: str) -> str:
    if engine not in PACKAGES:
        return sqlite_version
    try:
        return version(PACKAGES[engine])
    except PackageNotFoundError:
        return "not installed"
