"""Measures which memories are added to labelled messages: precision, recall and empty results, through a real store.

A memory is right if it is labelled for its message. A memory with the label ``also`` is about the same subject and does
not count. Any other memory is noise. ``python -m benches.quality.injection --help``
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import cache
from itertools import chain, groupby
from pathlib import Path
from statistics import median
from typing import Any, Final

import opencode_memory
from benches.quality.cached_embedder import CachedEmbedder
from benches.quality.data_sets import QUESTION_SETS
from benches.quality.in_sight import SESSION, Sight, format_intervals, see, total
from benches.quality.labelled_messages import FOLDER, SETS, Message, memories, messages
from opencode_memory._core import subject
from opencode_memory.context.block import Group, render
from opencode_memory.context.relevance import POOL, TUNED, Tuning, query_of, select_hits
from opencode_memory.embedding import BundledEmbedder
from opencode_memory.embedding.registry import find_model
from opencode_memory.embedding.tokenization import Tokenization
from opencode_memory.models import Hit, Memory

STORES: Final = ("as written", "fewer memories", "one large project")
"""Distributions of the memories: in their projects; ten unlabelled ones in each project; all in one project."""
TUNINGS: Final = tuple(
    sorted(
        (
            TUNED,
            replace(TUNED, first=0.2, second=0.1, most=6),
            replace(TUNED, first=0.35, second=0.15, most=3),
            replace(TUNED, first=0.5, second=0.25, most=3),
            replace(TUNED, first=0.6, second=0.4, most=3),
        ),
        key=lambda one: one.first,
    )
)
"""The thresholds in use, among others for comparison."""
_CLOCK_MS: Final = 1_780_000_000_000
_DAY_MS: Final = 86_400_000
_UNRELATED: Final = 10
_BUDGET: Final = 2000
_ALL: Final = "all"


@dataclass(frozen=True, slots=True)
class Looked:
    """A message, its query, its hits under the names of the set, and the seconds of the recall."""

    message: Message
    query: str
    hits: tuple[Hit, ...]
    names: tuple[str, ...]
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Results of a set, as counts that can be added.

    Attributes:
        right: Memories that were shown and labelled.
        noise: Memories that were shown and not labelled.
        wanted: Memories that are labelled.
        served: Messages with labelled memories that got at least one of them.
        needy: Messages with labelled memories.
        empty: Messages without labels that got no memory.
        idle: Messages without labels.
        messages: All messages.
        shown: Memories that were shown.
        tokens: Tokens of the blocks, including their frames.
    """

    right: int = 0
    noise: int = 0
    wanted: int = 0
    served: int = 0
    needy: int = 0
    empty: int = 0
    idle: int = 0
    messages: int = 0
    shown: int = 0
    tokens: int = 0

    def __add__(self, other: Figures) -> Figures:
        """Add up two parts."""
        return Figures(**{name: value + getattr(other, name) for name, value in asdict(self).items()})

    @property
    def precision(self) -> float:
        """Share of the shown memories that are right."""
        return self.right / max(1, self.right + self.noise)

    @property
    def recall(self) -> float:
        """Share of the labelled memories that were shown."""
        return self.right / max(1, self.wanted)

    @property
    def silence(self) -> float:
        """Share of the messages without labels that got no memory."""
        return self.empty / max(1, self.idle)

    def __str__(self) -> str:
        return (
            f"precision {self.precision:.3f}, recall {self.recall:.3f}, "
            f"helped {self.served} of {self.needy}, nothing for {self.empty} of {self.idle} ({self.silence:.3f}), "
            f"{self.shown / self.messages:.2f} memories and {self.tokens / self.messages:.0f} tokens a message"
        )


def look(asked: Sequence[Message], embedder: CachedEmbedder, *, stores: str = STORES[0]) -> list[Looked]:
    """Recall memories for each message, as the server does before a message is sent to a model.

    Args:
        asked: The messages.
        embedder: Turns texts into vectors.
        stores: One of ``STORES``.
    """
    rows = list(_memories(asked, stores))
    if stores == STORES[2]:
        rows = [(name, fields | {"project": fields["project"] and _ALL}) for name, fields in rows]
        moved = _looked([replace(message, project=_ALL) for message in asked], rows, embedder, _CLOCK_MS)
        return [replace(found, message=message) for found, message in zip(moved, asked, strict=True)]
    return _looked(asked, rows, embedder, _CLOCK_MS)


def sight(asked: Sequence[Message], embedder: CachedEmbedder, *, stores: str, show: bool = False) -> list[Sight]:
    """Return what is in sight in each session of these messages; the arguments as in ``look``."""
    rows = list(_memories(asked, stores))
    if stores == STORES[2]:
        rows = [(name, fields | {"project": fields["project"] and _ALL}) for name, fields in rows]
        asked = [replace(message, project=_ALL) for message in asked]
    return see(asked, rows, embedder, count=count_tokens, clock_ms=_CLOCK_MS, show=show)


def divide(asked: Sequence[Message]) -> Iterator[list[Message]]:
    """Yield the messages in each order that begins the sessions of a project at another message."""
    projects = [list(of) for _, of in groupby(asked, key=lambda message: message.project)]
    for start in range(SESSION):
        yield [message for of in projects for message in (*of[start:], *of[:start])]


def devmembench(folder: Path, embedder: CachedEmbedder, *, as_turns: bool) -> list[Looked]:
    """Recall memories for DevMemBench's questions. Memories of the sessions with the answer count as labelled.

    Args:
        folder: ``devmembench``.
        embedder: Turns texts into vectors.
        as_turns: Whether its messages are stored as turns of conversations instead of facts.
    """
    (sessions,) = QUESTION_SETS["devmembench"].load(folder)
    rows: list[tuple[str, dict[str, Any]]] = []
    for turn in sessions.turns:
        of = {"session": turn.session, "position": turn.position, "speaker": turn.speaker, "category": "conversation"}
        rows.append((turn.id, {"content": turn.text, "time": turn.time, "project": _ALL} | (of if as_turns else {})))
    asked = [
        Message(
            id=question.id,
            project=_ALL,
            kind=question.category,
            text=question.text,
            relevant=frozenset(turn.id for turn in sessions.turns if turn.session in question.sessions)
            if question.is_answerable
            else frozenset(),
            also=frozenset(),
        )
        for question in sessions.questions
    ]
    return _looked(asked, rows, embedder, round(sessions.asked_at.timestamp() * 1000))


def figures(looked: Iterable[Looked], *, by: Tuning = TUNED) -> Figures:
    """Count right and noisy memories of messages."""
    found = Figures()
    for result in looked:
        name_of = {hit.memory.id: name for hit, name in zip(result.hits, result.names, strict=True)}
        kept = [hit.memory for hit, _ in select_hits(result.query, result.hits, by=by).relevant]
        shown = {name_of[memory.id] for memory in kept}
        wanted, may = result.message.relevant, result.message.also
        is_idle = not wanted and not may
        found += Figures(
            right=len(shown & wanted),
            noise=len(shown - wanted - may),
            wanted=len(wanted),
            served=bool(shown & wanted),
            needy=bool(wanted),
            empty=is_idle and not shown,
            idle=is_idle,
            messages=1,
            shown=len(shown),
            tokens=_tokens(kept),
        )
    return found


def bars(by: Tuning) -> str:
    """Format thresholds."""
    return f"{by.first:.2f}/{by.second:.2f}/{by.further:.2f}, at most {by.most}"


def main() -> None:
    """Report the figures."""
    parser = argparse.ArgumentParser(prog="python -m benches.quality.injection", description=__doc__)
    parser.add_argument("--set", choices=SETS, action="append", help="one set; by default both")
    parser.add_argument("--data", type=Path, default=FOLDER.parent / "quality", help="the folder with devmembench")
    parser.add_argument("--cache", type=Path, help="keep vectors in this file from run to run")
    parser.add_argument("--show", action="store_true", help="name what was missed and what was noise (never held out)")
    parser.add_argument("--briefs", action="store_true", help="print the first brief of each project (never held out)")
    given = parser.parse_args()
    with CachedEmbedder.open(BundledEmbedder(), given.cache) as embedder:
        for name in given.set or SETS:
            asked = messages(name)
            for stores in STORES:
                looked = look(asked, embedder, stores=stores)
                print(f"{name}, {stores}: {len(asked)} messages")
                for by in TUNINGS:
                    print(f"  {'*' if by == TUNED else ' '} {bars(by)}: {figures(looked, by=by)}")
                seen = [
                    sight(divided, embedder, stores=stores, show=given.briefs and name != "held_out" and number == 0)
                    for number, divided in enumerate(divide(asked))
                ]
                print(f"    {total(chain.from_iterable(seen))}\n      {format_intervals(seen[0])}")
                if given.show and name != "held_out" and stores == STORES[0]:
                    print("\n".join(_mistakes(looked)))
            print(f"  {_timed(looked)}")
        for as_turns in (True, False):
            print(f"DevMemBench as {'turns' if as_turns else 'facts'}; labelled are all turns of the right sessions")
            print(f"    {figures(devmembench(given.data / 'devmembench', embedder, as_turns=as_turns))}")


def count_tokens(text: str) -> int:
    """Count the tokens of a text with the tokenizer of the bundled model."""
    return sum(word.tokens for word in _tokenization().words(text))


def _tokens(memories: Sequence[Memory]) -> int:
    block = render(
        [Group("Found for this message:", tuple(memories))],
        max_tokens=_BUDGET,
        count=count_tokens,
        at=datetime.fromtimestamp(_CLOCK_MS / 1000, UTC),
    )
    return block.tokens


@cache
def _tokenization() -> Tokenization:
    return Tokenization(find_model().vocabulary)


def _timed(looked: Sequence[Looked]) -> str:
    recalls = median(result.seconds for result in looked if result.query)
    start = time.perf_counter()
    for result in looked:
        select_hits(query_of(result.message.text), result.hits)
    judging = (time.perf_counter() - start) / len(looked)
    return f"a message: recall {1e3 * recalls:.1f} ms (median, vector given), judging {1e3 * judging:.2f} ms (mean)"


def _mistakes(looked: Sequence[Looked]) -> Iterator[str]:
    for result in looked:
        name_of = {hit.memory.id: name for hit, name in zip(result.hits, result.names, strict=True)}
        why = {name_of[hit.memory.id]: reason for hit, reason in select_hits(result.query, result.hits).relevant}
        noise = sorted(why.keys() - result.message.relevant - result.message.also)
        missed = sorted(result.message.relevant - why.keys())
        if noise or missed:
            told = [f"noise {name} ({why[name]})" for name in noise] + [f"missed {name}" for name in missed]
            yield f"    {result.message.id} {result.message.kind}: {'; '.join(told)}: {result.query[:80]!r}"


def _memories(asked: Sequence[Message], stores: str) -> Iterator[tuple[str, dict[str, Any]]]:
    kept = frozenset[str]().union(*(message.relevant | message.also for message in asked))
    unrelated: Counter[str] = Counter()
    for found in memories():
        project = found["project"]
        if stores == STORES[1] and project is not None and found["id"] not in kept:
            unrelated[project] += 1
            if unrelated[project] > _UNRELATED:
                continue
        yield (
            found["id"],
            {
                "content": found["content"],
                "category": found["category"],
                "scope": "global" if project is None else "project",
                "project": project,
                "time": _CLOCK_MS - found["age_days"] * _DAY_MS,
            },
        )


def _looked(
    asked: Sequence[Message], rows: Sequence[tuple[str, dict[str, Any]]], embedder: CachedEmbedder, clock_ms: int
) -> list[Looked]:
    with tempfile.TemporaryDirectory(prefix="opencode-memory-injection-") as folder:
        with opencode_memory.open(folder, embedder=embedder, background=False, clock_ms=clock_ms) as store:
            written = store.remember_many(fields for _, fields in rows)
            store.indexes.embed_pending()
            store.indexes.catch_up()
        name_of = {result.id: name for result, (name, _) in zip(written, rows, strict=True)}
        # Read-only. Otherwise the hits of one message would count as uses and change the next result.
        with opencode_memory.open(
            folder, embedder=embedder, read_only=True, background=False, clock_ms=clock_ms
        ) as store:
            return [_looked_up(store, message, embedder, name_of) for message in asked]


def _looked_up(
    store: opencode_memory.MemoryStore, message: Message, embedder: CachedEmbedder, name_of: dict[str, str]
) -> Looked:
    query = query_of(message.text)
    if not query:
        return Looked(message, query, (), (), 0.0)
    embedder.prepare([subject(query)])
    start = time.perf_counter()
    hits = store.recall(query, limit=POOL, project=message.project, explain=True)
    seconds = time.perf_counter() - start
    return Looked(message, query, tuple(hits), tuple(name_of[hit.memory.id] for hit in hits), seconds)


if __name__ == "__main__":
    main()
