"""Report of a recall check: frozen values that can be printed as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Self


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySummary:
    """Short form of a memory.

    Attributes:
        id: Id of the memory.
        category: Category of the memory.
        project: Project of the memory; None for a global memory.
        created_at: Time of its creation.
        touched_at: Time of its last change, verification or use.
        excerpt: First words of the text, on one line.
    """

    id: str
    category: str
    project: str | None
    created_at: datetime
    touched_at: datetime
    excerpt: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One query for one memory.

    Attributes:
        memory: The memory that should be found.
        query: Text of the query.
        project: Project of the query; None for global memories only.
        rank: Rank of the memory among the first ten results, starting at 1; None if it is not among them.
        first: Id of the first result; None if there are no results.
    """

    memory: MemorySummary
    query: str
    project: str | None
    rank: int | None
    first: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HitRate:
    """Number of queries, and how many of them found their memory first or among the first ten results."""

    asked: int
    hits_at_1: int
    hits_at_10: int

    @classmethod
    def from_questions(cls, questions: Iterable[Question]) -> Self:
        """Count the hits of queries."""
        ranks = [question.rank for question in questions]
        return cls(asked=len(ranks), hits_at_1=ranks.count(1), hits_at_10=len(ranks) - ranks.count(None))


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallScore:
    """Hit rates of one kind of query.

    Attributes:
        overall: Hit rate of all queries.
        by_category: Hit rate of each category, by name.
        missed: Queries whose memory was not among the first ten results.
    """

    overall: HitRate
    by_category: Mapping[str, HitRate]
    missed: tuple[Question, ...]

    @classmethod
    def from_questions(cls, questions: Iterable[Question]) -> Self:
        """Compute the hit rates of queries."""
        asked = tuple(questions)
        categories = sorted({question.memory.category for question in asked})
        return cls(
            overall=HitRate.from_questions(asked),
            by_category={
                category: HitRate.from_questions(question for question in asked if question.memory.category == category)
                for category in categories
            },
            missed=tuple(question for question in asked if question.rank is None),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two linked active memories.

    Attributes:
        newer: The newer memory.
        older: The older memory.
        weight: Weight of the link; for near duplicates their cosine.
        reason: Reason of the link.
    """

    newer: MemorySummary
    older: MemorySummary
    weight: float
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallCheck:
    """Result of a recall check.

    Attributes:
        project: The checked project, including global memories; ``*`` for all projects.
        memories: Number of active memories.
        sampled: Number of memories that were queried for and whose links were checked.
        without_words: Number of sampled memories without a searchable word, which were not queried for by words.
        by_meaning: Whether recall uses embeddings; otherwise only full-text search.
        words: Hit rates for queries with the rarest words of the memories.
        topics: Hit rates for queries with the topics of the memories.
        similar: Near duplicates of sampled memories, the nearest first.
        contradicting: Pairs with the same words but the opposite meaning or another number; sorted as ``similar``.
        never_recalled: Memories, except conversations, that are older than 30 days and were never used; oldest first.
        stale: Memories, except conversations, that were not changed, verified or used for 180 days; oldest first.
        pending_embeddings: Memories without embeddings, which have no links to similar memories yet.
        model_mismatch: Reason why recall uses full-text search only although there are embeddings.
    """

    project: str
    memories: int
    sampled: int
    without_words: int
    by_meaning: bool
    words: RecallScore
    topics: RecallScore
    similar: tuple[Pair, ...]
    contradicting: tuple[Pair, ...]
    never_recalled: tuple[MemorySummary, ...]
    stale: tuple[MemorySummary, ...]
    pending_embeddings: int
    model_mismatch: str | None
