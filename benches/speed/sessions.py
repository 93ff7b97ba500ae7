"""Compares a search of memories and sessions with a search of memories: ``python -m benches.speed.sessions``.

The store has memories and the turns of sessions, whose texts stand in a database with OpenCode's schema. The two
searches alternate, so other load of the machine affects both. Vectors are looked up, once alone, and once after the
model has embedded the query too, as for a question that was not asked before. The processor time of the process depends
less on other load than the time from start to end. With ``--earlier PYTHON``, an earlier version searches memories in
the same run; PYTHON is the interpreter of its environment.
"""

from __future__ import annotations

import argparse
import shutil
import time
from collections import defaultdict
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Final, TypeVar

import opencode_memory
from benches.quality.transcripts.data import PERSON, Message, Session
from benches.quality.transcripts.opencode_database import write
from opencode_memory.embedding import BundledEmbedder, find_model
from opencode_memory.hosts.opencode.turns.reading import DatabaseTexts
from opencode_memory.learning.switches import Switches
from opencode_memory.models import Sources
from opencode_memory.store.turns import NewTurn, SessionPage

from .data import Dataset, DataShape, Query, prepare
from .earlier_version import EarlierVersion, run
from .embedders import PrecomputedEmbedder
from .options import add_options
from .process import machine
from .results import Figure, save_figures

if TYPE_CHECKING:
    from collections.abc import Sequence

    from opencode_memory import MemoryStore
    from opencode_memory.embedding.base import Vector

_OF_SESSION: Final = 100
"""Turns of one session."""
_BEGIN: Final = datetime(2026, 1, 1, tzinfo=UTC)
_QUESTIONS: Final = 150
_SCOPES: Final = (("one project", "atlas"), ("all projects", opencode_memory.ALL_PROJECTS))
_ALONE: Final = "memories"
_BOTH: Final = "all"
_EARLIER: Final = "memories by an earlier version"
_CLOCKS: Final = {"from start to end": time.perf_counter, "processor": time.process_time}
_Row = TypeVar("_Row")


class _AlsoModel(PrecomputedEmbedder):
    """Looks vectors up; if ``embeds`` is set, the model embeds each query before, for the time that this takes.

    ``search`` is the number of the search. Within one search, the model remembers the query.
    """

    embeds = False
    search = 0

    def __init__(self, model_id: str) -> None:
        super().__init__(model_id)
        self._model = BundledEmbedder()
        self._model.load()

    def embed_query(self, text: str) -> Vector:
        if self.embeds:
            self._model.embed_query(f"{text} {self.search}")
        return super().embed_query(text)


def main() -> None:
    """Build the store, measure, print, and save the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser, 50_000)
    parser.add_argument("--turns", type=int, default=100_000, help="turns of sessions (default %(default)s)")
    parser.add_argument("--earlier", type=Path, metavar="PYTHON", help="also measure the version in this environment")
    options = parser.parse_args()
    memories = prepare(options.work, DataShape(options.n))
    turns = prepare(options.work, DataShape(options.turns, seed=8))
    folder = options.work / f"sessions-{options.n}-{options.turns}"
    database = folder.with_suffix(".db")
    embedder = _AlsoModel(find_model().model_id)
    if not (options.reuse and folder.exists()):
        shutil.rmtree(folder, ignore_errors=True)
        _write_sessions(turns, database, options.work / "folders")
        _build(folder, database, memories, turns, embedder)
    questions = [*memories.queries("general")[:_QUESTIONS], *turns.queries("general")[:_QUESTIONS]]
    embedder.give([one.text for one in questions], [one.vector for one in questions])
    figures: list[Figure] = []
    with (
        opencode_memory.open(folder, embedder=embedder, background=False) as store,
        run(options.earlier, options.work / "earlier", memories, questions)
        if options.earlier is not None
        else nullcontext() as earlier,
    ):
        store.turns.texts = DatabaseTexts(store, Switches(enabled=True, sources=frozenset(["opencode"])))
        for embeds in (False, True):
            for name, project in _SCOPES:
                embedder.embeds = embeds
                measured = _measure(store, embedder, questions, project, earlier)
                for kind in _CLOCKS:
                    label = f"{name}, {'with the model' if embeds else 'vectors given'}, {kind}"
                    alone, both = measured[kind, _ALONE], measured[kind, _BOTH]
                    print(
                        f"{label}: memories {alone:.2f} ms, memories and sessions {both:.2f} ms,"
                        f" {both / alone:.2f} times"
                    )
                    if (before := measured.get((kind, _EARLIER))) is not None:
                        print(f"  memories by the earlier version {before:.2f} ms, {both / before:.2f} times")
                    figures += [
                        Figure(f"{label}, {what}", measured[of, what], "ms") for of, what in measured if of == kind
                    ]
    save_figures(options.results / "sessions.json", "Search of memories and sessions", machine(), figures)


def _measure(
    store: MemoryStore,
    embedder: _AlsoModel,
    questions: list[Query],
    project: str,
    earlier: EarlierVersion | None,
) -> dict[tuple[str, str], float]:
    """Return the median milliseconds of each kind of search, by each clock."""
    times: dict[tuple[str, str], list[float]] = defaultdict(list)

    def search(question: Query, what: str) -> list[float]:
        if earlier is not None and what == _EARLIER:
            of = None if project == opencode_memory.ALL_PROJECTS else project
            return earlier.search(question.text, project=of, embeds=embedder.embeds)
        embedder.search += 1
        begun = [clock() for clock in _CLOCKS.values()]
        store.search(question.text, sources=Sources.ALL if what == _BOTH else Sources.MEMORIES, project=project)
        return [1000 * (clock() - begin) for clock, begin in zip(_CLOCKS.values(), begun, strict=True)]

    kinds = (_ALONE, _BOTH) if earlier is None else (_ALONE, _BOTH, _EARLIER)
    for warm in (True, False):
        for question in questions[:10] if warm else questions:
            for what in kinds:
                for kind, taken in zip(_CLOCKS, search(question, what), strict=True):
                    if not warm:
                        times[kind, what].append(taken)
    return {of: median(taken) for of, taken in times.items()}


def _write_sessions(turns: Dataset, database: Path, folders: Path) -> None:
    def sessions() -> list[Session]:
        texts = ((memory.row, memory.content) for batch in turns.batches(5000) for memory in batch.memories)
        return [
            Session(
                _session(number),
                "bench+sessions",
                f"Session {number}",
                tuple(_message(row, text) for row, text in of),
            )
            for number, of in enumerate(_cut(list(texts)))
        ]

    write(database, sessions(), folders)


def _build(folder: Path, database: Path, memories: Dataset, turns: Dataset, embedder: PrecomputedEmbedder) -> None:
    with opencode_memory.open(folder, embedder=embedder) as store:
        for batch in memories.batches(5000):
            embedder.give((memory.content for memory in batch.memories), batch.vectors)
            store.remember_many(
                {"content": one.content, "project": one.project, "category": one.category} for one in batch.memories
            )
            store.indexes.embed_pending()
            embedder.forget()
        store.indexes.catch_up()
        for batch in turns.batches(5000):
            embedder.give((memory.content for memory in batch.memories), batch.vectors)
            pages = [
                SessionPage(
                    database=str(database.resolve()),
                    session=_session(of[0].row // _OF_SESSION),
                    project=of[0].project,
                    turns=[
                        NewTurn(message=f"msg_{one.row}", speaker=PERSON, time=_time(one.row), text=one.content)
                        for one in of
                    ],
                )
                for of in _cut(batch.memories)
            ]
            if not store.turns.add(pages):
                raise RuntimeError("the session index was not written")
            embedder.forget()


def _cut(rows: Sequence[_Row]) -> list[Sequence[_Row]]:
    return [rows[first : first + _OF_SESSION] for first in range(0, len(rows), _OF_SESSION)]


def _message(row: int, text: str) -> Message:
    return Message(f"msg_{row}", PERSON, round(_time(row).timestamp() * 1000), text, ())


def _session(number: int) -> str:
    return f"ses_{number}"


def _time(row: int) -> datetime:
    return _BEGIN + timedelta(seconds=row)


if __name__ == "__main__":
    main()
