"""Recall check: queries a store for its own memories, and lists memories that need the user's attention.

The store must be opened read-only, so that the queries do not count as uses. The sample is deterministic: the same
store gives the same result. The check reads each active memory once and keeps little of it, so that it works on large
stores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import pairwise
from random import Random
from typing import Final

from opencode_memory.errors import InvalidInputError, NotFoundError
from opencode_memory.maintenance.rarity import Rarity, find_rarest_part
from opencode_memory.maintenance.recall_report import MemorySummary, Pair, Question, RecallCheck, RecallScore
from opencode_memory.models import ALL_PROJECTS, Category, Memory, Scope, Status
from opencode_memory.store.memory_store import MemoryStore
from opencode_memory.store.pages import list_all

DEFAULT_SAMPLE: Final = 200
UNUSED_AFTER: Final = timedelta(days=30)
STALE_AFTER: Final = timedelta(days=180)

Progress = Callable[[str, int, int], None]

_SEED: Final = 5
_ANSWERS: Final = 10
_EXCERPT: Final = 100
# The engine links a memory with at most four others, but more of them may link to it.
_LINKS: Final = 50


def check_recall(
    store: MemoryStore,
    *,
    at: datetime,
    project: str = ALL_PROJECTS,
    sample: int = DEFAULT_SAMPLE,
    progress: Progress | None = None,
) -> RecallCheck:
    """Query for a sample of memories by their own words and topics; find linked pairs, unused and stale memories.

    Each memory is queried in its own project, or in ``project`` if that is given.

    Args:
        store: A store opened with ``read_only``.
        at: The current time, from which ages are computed.
        project: Restrict the check to this project and the global memories; by default all projects.
        sample: Number of memories to query for; all if there are fewer.
        progress: Called with a stage (``reading``, ``asking``), the number of processed memories, and their total.

    Raises:
        InvalidInputError: The store is writable, or ``sample`` is less than 1.
    """
    if store.is_writable:
        raise InvalidInputError(
            "store: must be opened with read_only, or the queries would count as uses", field="store"
        )
    if sample < 1:
        raise InvalidInputError(f"sample: {sample} is not at least 1", field="sample", limit="at least 1")
    listing = _read(store, project, at, sample=sample, progress=progress)
    links = _Links(project, at)
    questions = _Questions()
    for done, memory in enumerate(listing.sampled, start=1):
        if links.look(store, memory):
            questions.ask(store, memory, listing.rarity, project)
        if progress is not None:
            progress("asking", done, len(listing.sampled))
    stats = store.stats()
    return RecallCheck(
        project=project,
        memories=listing.read,
        sampled=questions.memories,
        without_words=questions.without_words,
        by_meaning=stats.model is not None and stats.model_mismatch is None,
        words=RecallScore.from_questions(questions.words),
        topics=RecallScore.from_questions(questions.topics),
        similar=links.pairs("similar"),
        contradicting=links.pairs("contradicts"),
        never_recalled=tuple(sorted(listing.unused, key=lambda summary: (summary.created_at, summary.id))),
        stale=tuple(sorted(listing.stale, key=lambda summary: (summary.touched_at, summary.id))),
        pending_embeddings=stats.pending_embeddings,
        model_mismatch=stats.model_mismatch,
    )


@dataclass(slots=True)
class _Listing:
    """The memories of a store, read once.

    Attributes:
        rarity: Counts the words of all memories.
        sampled: The memories to query for.
        unused: Memories that were never used.
        stale: Memories that were not changed, verified or used for long.
        read: Number of all memories.
    """

    rarity: Rarity = field(default_factory=Rarity)
    sampled: list[Memory] = field(default_factory=list)
    unused: list[MemorySummary] = field(default_factory=list)
    stale: list[MemorySummary] = field(default_factory=list)
    read: int = 0


def _read(store: MemoryStore, project: str, at: datetime, *, sample: int, progress: Progress | None) -> _Listing:
    total = store.count(project=project)
    places = set(sample_places(total, sample))
    listing = _Listing()
    for memory in list_all(store, project=project):
        listing.rarity.add(memory.content)
        if listing.read in places:
            listing.sampled.append(memory)
        if is_unused(memory, at=at):
            listing.unused.append(summarize(memory))
        if is_stale(memory, at=at):
            listing.stale.append(summarize(memory))
        listing.read += 1
        if progress is not None and listing.read % 100 == 0:
            progress("reading", listing.read, total)
    return listing


@dataclass(slots=True)
class _Questions:
    """Queries for memories, by their own words and by their topics.

    Attributes:
        memories: Number of memories that were queried for.
        without_words: Number of memories without a word to query for.
        words: Queries by the rarest words of a memory.
        topics: Queries by the topic of a memory.
    """

    memories: int = 0
    without_words: int = 0
    words: list[Question] = field(default_factory=list)
    topics: list[Question] = field(default_factory=list)

    def ask(self, store: MemoryStore, memory: Memory, rarity: Rarity, project: str) -> None:
        """Query for a memory."""
        self.memories += 1
        part = find_rarest_part(memory.content, rarity)
        if part is None:
            self.without_words += 1
        else:
            self.words.append(_ask(store, memory, part, project))
        if memory.topic:
            self.topics.append(_ask(store, memory, memory.topic, project))


def sample_places(total: int, wanted: int) -> Sequence[int]:
    """Choose ``wanted`` indexes that are spread evenly: one random index in each of equal intervals, with a fixed seed.

    A fixed step would be biased for periodic data, such as the answers of a conversation.

    >>> sample_places(3, 5)
    range(0, 3)
    >>> [place // 25 for place in sample_places(100, 4)]
    [0, 1, 2, 3]
    """
    if wanted >= total:
        return range(total)
    random = Random(_SEED)  # noqa: S311  a sample is no secret
    bounds = [number * total // wanted for number in range(wanted + 1)]
    return [random.randrange(first, end) for first, end in pairwise(bounds)]


def is_unused(memory: Memory, *, at: datetime) -> bool:
    """Return whether a memory is older than 30 days and was never used.

    Conversations are excluded, because they are stored as a whole and most of their text is never needed.
    """
    return memory.uses == 0 and at - memory.created_at > UNUSED_AFTER and memory.category is not Category.CONVERSATION


def is_stale(memory: Memory, *, at: datetime) -> bool:
    """Return whether a memory other than a conversation was not changed, verified or used for 180 days."""
    return at - last_touched_at(memory) > STALE_AFTER and memory.category is not Category.CONVERSATION


def last_touched_at(memory: Memory) -> datetime:
    """Return when a memory was last changed, verified or used."""
    return max(filter(None, (memory.updated_at, memory.verified_at, memory.used_at)))


def summarize(memory: Memory) -> MemorySummary:
    """Summarize a memory for a report."""
    # Cut long texts before collapsing blanks. A text seldom has more than nine blanks for each other character.
    start = " ".join(memory.content[: 10 * _EXCERPT].split())
    return MemorySummary(
        id=memory.id,
        category=memory.category.value,
        project=memory.project,
        created_at=memory.created_at,
        touched_at=last_touched_at(memory),
        excerpt=start if len(start) <= _EXCERPT else start[: _EXCERPT - 1].rstrip() + "…",
    )


def _ask(store: MemoryStore, memory: Memory, query: str, project: str) -> Question:
    asked_in = memory.project if project == ALL_PROJECTS else project
    hits = store.recall(query, scope=Scope.seen_from(asked_in), limit=_ANSWERS)
    return Question(
        memory=summarize(memory),
        query=query,
        project=asked_in,
        rank=next((hit.rank for hit in hits if hit.memory.id == memory.id), None),
        first=hits[0].memory.id if hits else None,
    )


class _Links:
    """Collects the links of memories, each link once."""

    def __init__(self, project: str, at: datetime) -> None:
        self._project = project
        self._at = at
        self._found: dict[tuple[str, frozenset[str]], Pair] = {}

    def look(self, store: MemoryStore, memory: Memory) -> bool:
        """Collect the links of a memory; return False if the memory does not exist any more."""
        try:
            neighbours = store.related(memory.id, limit=_LINKS)
        except NotFoundError:
            # Another process has deleted the memory since it was read.
            return False
        for neighbour in neighbours:
            if self._counts(neighbour.memory):
                older, newer = sorted((memory, neighbour.memory), key=lambda linked: (linked.created_at, linked.key))
                key = (neighbour.kind, frozenset((older.id, newer.id)))
                self._found[key] = Pair(
                    newer=summarize(newer), older=summarize(older), weight=neighbour.weight, reason=neighbour.reason
                )
        return True

    def pairs(self, kind: str) -> tuple[Pair, ...]:
        """Return the pairs of one kind of link, the heaviest first."""
        found: Iterable[Pair] = (pair for (its_kind, _), pair in self._found.items() if its_kind == kind)
        return tuple(sorted(found, key=lambda pair: (-pair.weight, pair.newer.id, pair.older.id)))

    def _counts(self, other: Memory) -> bool:
        """Return whether a recall could return a memory; a superseded or archived memory does not contradict others."""
        return (
            other.status is Status.ACTIVE
            and (other.expires_at is None or other.expires_at > self._at)
            and (self._project == ALL_PROJECTS or other.project in {None, self._project})
        )
