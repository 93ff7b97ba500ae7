"""Measures what a model has in sight at each labelled message: the project brief, and the blocks of the session so far.

Messages of one project, in the order of the set, form sessions. Each message is decided by the code of the server, with
a ledger. ``python -m benches.quality.injection`` prints these figures.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

import opencode_memory
from benches.quality.cached_embedder import CachedEmbedder
from opencode_memory._core import subject
from opencode_memory.config.load import load
from opencode_memory.context.decide import BEFORE, HEADLINE, IN_BRIEF, Request, decide
from opencode_memory.context.relevance import query_of
from opencode_memory.store.ledger import Decision, State

if TYPE_CHECKING:
    from benches.quality.injection import Message

SESSION: Final = 5
"""Messages of one session."""


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
        silent: Messages without labels beside which no memory was added.
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

    def __add__(self, other: Sight) -> Sight:
        """Add up two parts."""
        sums = {name: value + getattr(other, name) for name, value in asdict(self).items()}
        return Sight(**sums | {"most_tokens": max(self.most_tokens, other.most_tokens)})

    def __str__(self) -> str:
        beside = self.tokens - self.brief_tokens
        return (
            f"in full {self.full / self.wanted:.3f}, in full or as a headline {self.headline / self.wanted:.3f}; "
            "tokens: "
            f"{self.tokens / self.sessions:.0f} a session (at most {self.most_tokens}), "
            f"{beside / self.messages:.0f} a message; "
            f"beside messages: precision {self.right / max(1, self.right + self.noise):.3f}, "
            f"nothing for {self.silent} of {self.idle} ({self.silent / max(1, self.idle):.3f})"
        )


def see(
    asked: Sequence[Message],
    rows: Sequence[tuple[str, dict[str, Any]]],
    embedder: CachedEmbedder,
    *,
    count: Callable[[str], int],
    clock_ms: int,
    show: bool = False,
    length: int = SESSION,
) -> Sight:
    """Decide the messages of sessions, and count what is in sight.

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
        found = Sight()
        for project, messages in groupby(asked, key=lambda message: message.project):
            ordered = list(messages)
            for number, start in enumerate(range(0, len(ordered), length)):
                session = ordered[start : start + length]
                is_first = show and number == 0
                found += _session(store, f"{project}-{number}", session, name_of, count, clock_ms, show=is_first)
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
        full = {name_of[one.memory] for past in decided for one in past.shown if one.why not in {HEADLINE, BEFORE}}
        sight = full | {name_of[one.memory] for past in decided for one in past.shown}
        beside = {name_of[one.memory] for one in decision.shown if one.why not in {IN_BRIEF, HEADLINE, BEFORE}}
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
            silent=is_idle and not beside,
        )
    return replace(found, most_tokens=found.tokens)


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
