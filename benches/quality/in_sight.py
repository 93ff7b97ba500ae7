"""Measures what a model has in sight at each labelled message: the project brief, and the blocks of the session so far.

Messages of one project, in the order of the set, form sessions. Each message is decided by the code of the server, with
a ledger. ``python -m benches.quality.injection`` prints these figures.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

import opencode_memory
from benches.quality.cached_embedder import CachedEmbedder
from benches.quality.significance import interval
from opencode_memory._core import subject
from opencode_memory.config.load import load
from opencode_memory.context.decide import Request, decide
from opencode_memory.context.reasons import BEFORE, HEADLINE, IN_BRIEF, NOT_IN_FULL
from opencode_memory.context.relevance import query_of
from opencode_memory.store.ledger import Decision, State

if TYPE_CHECKING:
    from benches.quality.labelled_messages import Message

SESSION: Final = 5
"""Messages of one session."""
_GOES_ON: Final = "compacted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """Results of a set, as counts that can be added.

    Attributes:
        wanted: Labelled memories.
        full: Those that the model sees in full.
        headline: Those of which the model sees at least a headline.
        messages: All messages.
        sessions: All sessions.
        tokens: Tokens of all blocks.
        brief_tokens: Tokens of the briefs among them.
        most_tokens: Tokens of the longest session.
        right: Memories that were added beside a message, apart from the brief, and labelled for it.
        noise: Those that were added and not labelled.
        idle: Messages without labels.
        silent: Messages without labels beside which neither memories nor headlines were added.
        further: Headlines that were added beside later messages of a session.
        further_right: Those that are labelled for the message.
        compacted_wanted: Memories that are labelled for any message of a session.
        compacted_full: Those that the model sees in full if the session goes on after a compaction.
        compacted_headline: Those of which it then sees at least a headline.
    """

    wanted: int = 0
    full: int = 0
    headline: int = 0
    messages: int = 0
    sessions: int = 0
    tokens: int = 0
    brief_tokens: int = 0
    most_tokens: int = 0
    right: int = 0
    noise: int = 0
    idle: int = 0
    silent: int = 0
    further: int = 0
    further_right: int = 0
    compacted_wanted: int = 0
    compacted_full: int = 0
    compacted_headline: int = 0

    def __add__(self, other: Sight) -> Sight:
        """Add up two parts."""
        sums = {name: value + getattr(other, name) for name, value in asdict(self).items()}
        return Sight(**sums | {"most_tokens": max(self.most_tokens, other.most_tokens)})

    def __str__(self) -> str:
        beside = self.tokens - self.brief_tokens
        return (
            f"in full {self.in_full:.3f}, in full or as a headline {self.in_sight:.3f}; "
            "tokens: "
            f"{self.tokens / self.sessions:.0f} a session (at most {self.most_tokens}), "
            f"{beside / self.messages:.0f} a message; "
            f"beside messages: precision {self.precision:.3f} ({self.right} of {self.right + self.noise}), "
            f"nothing for {self.silent} of {self.idle} ({self.silence:.3f}), "
            f"{self.further_right} of {self.further} headlines right; "
            f"after a compaction: in full {self.compacted_full / max(1, self.compacted_wanted):.3f}, "
            f"in full or as a headline {self.compacted_headline / max(1, self.compacted_wanted):.3f}"
        )

    @property
    def in_full(self) -> float:
        """Share of the labelled memories that the model sees in full."""
        return self.full / max(1, self.wanted)

    @property
    def in_sight(self) -> float:
        """Share of the labelled memories of which the model sees at least a headline."""
        return self.headline / max(1, self.wanted)

    @property
    def precision(self) -> float:
        """Share of the memories added in full beside messages that are labelled."""
        return self.right / max(1, self.right + self.noise)

    @property
    def silence(self) -> float:
        """Share of the messages without labels beside which nothing was added."""
        return self.silent / max(1, self.idle)


def total(parts: Iterable[Sight]) -> Sight:
    """Add up the parts of a set."""
    return sum(parts, Sight())


def _figure(name: str, parts: Iterable[Sight]) -> float:
    return float(getattr(total(parts), name))


def format_intervals(parts: Sequence[Sight]) -> str:
    """Format the bootstrap intervals of the figures, over sessions."""
    named = {"in full": "in_full", "with headlines": "in_sight", "precision": "precision", "nothing": "silence"}
    told = []
    for name, figure in named.items():
        low, high = interval(parts, partial(_figure, figure))
        told.append(f"{name} {low:.2f} to {high:.2f}")
    return "95 %: " + ", ".join(told)


def see(
    asked: Sequence[Message],
    rows: Sequence[tuple[str, dict[str, Any]]],
    embedder: CachedEmbedder,
    *,
    count: Callable[[str], int],
    clock_ms: int,
    show: bool = False,
    length: int = SESSION,
) -> list[Sight]:
    """Decide the messages of sessions, and count for each session what is in sight.

    Args:
        asked: The messages.
        rows: The memories, by their names in the set.
        embedder: Turns texts into vectors.
        count: Counts the tokens of a text.
        clock_ms: The time of the sessions.
        show: Whether to print the first brief of each project.
        length: Messages of a session.
    """
    embedder.prepare([subject(query) for message in asked if (query := query_of(message.text))])
    with (
        tempfile.TemporaryDirectory(prefix="opencode-memory-sight-") as folder,
        opencode_memory.open(folder, embedder=embedder, background=False, clock_ms=clock_ms) as store,
    ):
        written = store.remember_many(fields for _, fields in rows)
        store.indexes.embed_pending()
        store.indexes.catch_up()
        name_of = {result.id: name for result, (name, _) in zip(written, rows, strict=True)}
        found: list[Sight] = []
        for project, messages in groupby(asked, key=lambda message: message.project):
            ordered = list(messages)
            for number, start in enumerate(range(0, len(ordered), length)):
                session = ordered[start : start + length]
                is_first = show and number == 0
                found.append(_session(store, f"{project}-{number}", session, name_of, count, clock_ms, show=is_first))
        return found


def _session(
    store: opencode_memory.MemoryStore,
    id_: str,
    messages: Sequence[Message],
    name_of: dict[str, str],
    count: Callable[[str], int],
    clock_ms: int,
    *,
    show: bool,
) -> Sight:
    found = Sight(sessions=1)
    decided: list[Decision] = []
    for message, decision in _decide(store, id_, messages, count, clock_ms):
        decided.append(decision)
        if show and decision.about.get("brief"):
            print(decision.text)
        full, sight = _names(decided, name_of)
        beside = {name_of[one.memory] for one in decision.shown if one.why not in {IN_BRIEF, HEADLINE, BEFORE}}
        further = {name_of[one.memory] for one in decision.shown if one.why == HEADLINE}
        if decision.about.get("brief"):
            further.clear()
        is_idle = not message.relevant and not message.also
        found += Sight(
            wanted=len(message.relevant),
            full=len(message.relevant & full),
            headline=len(message.relevant & sight),
            messages=1,
            tokens=decision.tokens,
            brief_tokens=decision.about.get("brief", 0),
            right=len(beside & message.relevant),
            noise=len(beside - message.relevant - message.also),
            idle=is_idle,
            silent=is_idle and not beside and not further,
            further=len(further),
            further_right=len(further & message.relevant),
        )
    # After a compaction, the user goes on with a message that says nothing.
    full, sight = _names([_go_on(store, id_, messages[0].project, count, clock_ms)], name_of)
    relevant = frozenset[str]().union(*(message.relevant for message in messages))
    compacted = Sight(
        compacted_wanted=len(relevant),
        compacted_full=len(relevant & full),
        compacted_headline=len(relevant & sight),
    )
    return replace(found + compacted, most_tokens=found.tokens)


def _names(decided: Iterable[Decision], name_of: dict[str, str]) -> tuple[set[str], set[str]]:
    """Return the names of the memories that are shown in full, and of all that are shown."""
    shown = [one for decision in decided for one in decision.shown]
    full = {name_of[one.memory] for one in shown if one.why not in NOT_IN_FULL}
    return full, {name_of[one.memory] for one in shown}


def _go_on(
    store: opencode_memory.MemoryStore, id_: str, project: str, count: Callable[[str], int], clock_ms: int
) -> Decision:
    config = load(environment={"HOME": str(store.data_dir)})
    request = Request(
        session=id_,
        message=_GOES_ON,
        text="ok, go on",
        project=project,
        visible=frozenset([_GOES_ON]),
        # A summary without a subject. A real one tells more.
        summary="Done.",
    )
    at = datetime.fromtimestamp(clock_ms / 1000, UTC)
    return decide(store, request, config=config.injection, brief=config.brief, count=count, at=at)


def _decide(
    store: opencode_memory.MemoryStore,
    id_: str,
    messages: Sequence[Message],
    count: Callable[[str], int],
    clock_ms: int,
) -> Iterator[tuple[Message, Decision]]:
    config = load(environment={"HOME": str(store.data_dir)})
    for number, message in enumerate(messages):
        request = Request(
            session=id_,
            message=message.id,
            text=message.text,
            project=message.project,
            visible=frozenset(one.id for one in messages[: number + 1]),
        )
        at = datetime.fromtimestamp(clock_ms / 1000, UTC)
        decision = decide(store, request, config=config.injection, brief=config.brief, count=count, at=at)
        store.ledger.settle(id_, message.id, State.SHOWN)
        yield message, decision
