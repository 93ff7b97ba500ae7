"""What a check of recall found: plain frozen values, complete enough to be printed as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Self


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySummary:
    """As much of a memory as it takes to recognise it.

    Attributes:
        id: Its id.
        category: Its category.
        project: Its project, None for a global memory.
        created_at: When it was first written.
        touched_at: When it was last changed, verified or used.
        excerpt: Its first words, on one line.
    """

    id: str
    category: str
    project: str | None
    created_at: datetime
    touched_at: datetime
    excerpt: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question for one memory.

    Attributes:
        memory: The memory that should answer.
        query: What was asked.
        project: The project that was asked in, None for the global memories alone.
        rank: Its place among the first ten answers, counted from 1; None when it is not among them.
        first: Id of the memory that came first; None when the answer was empty.
    """

    memory: MemorySummary
    query: str
    project: str | None
    rank: int | None
    first: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HitRate:
    """How many memories were asked for, and how many of them came first, or among the first ten."""

    asked: int
    hits_at_1: int
    hits_at_10: int

    @classmethod
    def from_questions(cls, questions: Iterable[Question]) -> Self:
        """Count the answers."""
        ranks = [question.rank for question in questions]
        return cls(asked=len(ranks), hits_at_1=ranks.count(1), hits_at_10=len(ranks) - ranks.count(None))


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallScore:
    """How well memories are found in one way.

    Attributes:
        overall: The hit rate of all that were asked for.
        by_category: The hit rate of each category that was asked for, by name.
        missed: Questions whose memory was not among the first ten answers.
    """

    overall: HitRate
    by_category: Mapping[str, HitRate]
    missed: tuple[Question, ...]

    @classmethod
    def from_questions(cls, questions: Iterable[Question]) -> Self:
        """Sum up the answers."""
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
    """Two active memories that are linked.

    Attributes:
        newer: The one that was written later.
        older: The other.
        weight: Weight of the link, for near duplicates their cosine.
        reason: Why they are linked.
    """

    newer: MemorySummary
    older: MemorySummary
    weight: float
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallCheck:
    """What a check of recall found.

    Attributes:
        project: The project that was looked at, with the global memories; ``*`` for all.
        memories: Active memories that were read.
        sampled: How many of them were asked for and had their links looked at.
        without_words: How many of the sampled have no word to be asked for by, and were not asked for by words.
        by_meaning: Whether recall goes by meaning too; else by words only.
        words: Asked by the rarest part of their own texts.
        topics: Asked by their topics.
        similar: Near duplicates among the sampled, and of them, the nearest first.
        contradicting: Pairs that say the opposite, or another number, in the same words; as ``similar``.
        never_recalled: All memories but conversations that are older than 30 days and were never used, oldest first.
        stale: All memories but conversations that were not changed, verified or used for 180 days, longest first.
        pending_embeddings: Memories that wait for their vectors, and have no links to near ones yet.
        model_mismatch: Why recall goes by words only although there are vectors.
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
