"""Measures precision and recall of learning from labelled sessions, through the learner and a real store.

A memory is right if its category is acceptable and it contains the necessary words. Any other active memory is noise.
Summaries of sessions are left out. ``python -m benches.quality.extraction --help``
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import opencode_memory
from benches.quality import labelled_sessions, memory_extraction
from benches.quality.labelled_sessions import Labelled
from opencode_memory.learning.learner import Learner
from opencode_memory.models import ALL_PROJECTS, Category, Memory, Trust

_ALL = 10_000


@dataclass(slots=True)
class Score:
    """Numbers of right, noisy and missed memories."""

    right: int = 0
    noise: int = 0
    found: int = 0
    wanted: int = 0
    by_category: Counter[tuple[str, bool]] = field(default_factory=Counter)
    clean: int = 0
    empty: int = 0
    told: list[str] = field(default_factory=list)

    @property
    def precision(self) -> float:
        """Share of the learned memories that are right."""
        return self.right / max(1, self.right + self.noise)

    @property
    def recall(self) -> float:
        """Share of the expected memories that were learned."""
        return self.found / max(1, self.wanted)


def judged(sequences: Sequence[Labelled], *, with_waiting: bool = False, of_people: bool = False) -> Score:
    """Learn from each sequence in its own store, and compare with the labels.

    Args:
        sequences: The labelled sequences.
        with_waiting: Whether candidates for review count as learned.
        of_people: Whether only memories in the words of the person are judged.
    """
    score = Score()
    for sequence in sequences:
        memories = [
            memory
            for memory in learned(sequence, with_waiting=with_waiting)
            if memory.category is not Category.CONVERSATION and (memory.trust is Trust.USER or not of_people)
        ]
        noise = [
            memory
            for memory in memories
            if not any(label.fits(memory.category, memory.content) for label in sequence.expected)
        ]
        score.right += len(memories) - len(noise)
        score.noise += len(noise)
        if not any(not label.optional for label in sequence.expected):
            score.empty += 1
            score.clean += not noise
        score.told += [
            f"noise  {sequence.id}: {memory.category} {memory.confidence} ({memory.metadata.get('rule')}): "
            f"{memory.content}"
            for memory in noise
        ]
        for label in sequence.expected:
            if label.optional:
                continue
            hit = any(label.fits(memory.category, memory.content) for memory in memories)
            score.wanted += 1
            score.found += hit
            score.by_category[label.categories[0], hit] += 1
            if not hit:
                near = next((memory.category for memory in memories if label.says(memory.content)), None)
                score.told.append(
                    f"missed {sequence.id}: {label.categories} {label.words}{f' (is a {near})' if near else ''}"
                )
    return score


def learned(sequence: Labelled, *, with_waiting: bool = False) -> list[Memory]:
    """Return the memories that were learned from a sequence."""
    with (
        tempfile.TemporaryDirectory() as folder,
        opencode_memory.open(Path(folder) / "store", background=False) as store,
    ):
        learner = Learner(store)
        for session in sequence.sessions:
            learner.process(
                session.info, session.messages, project=session.project, at_ms=1_780_000_900_000, is_idle=True
            )
        status = ("active", "candidate") if with_waiting else "active"
        return store.list(project=ALL_PROJECTS, status=status, limit=_ALL)


def lines(name: str, score: Score) -> Iterator[str]:
    """Format a score."""
    yield (
        f"{name:<22} precision {score.precision:.3f} ({score.right} of {score.right + score.noise})   "
        f"recall {score.recall:.3f} ({score.found} of {score.wanted})   "
        f"nothing learned of {score.clean} of {score.empty} where nothing must be"
    )
    for category in sorted({category for category, _ in score.by_category}):
        hits = score.by_category[category, True]
        yield f"    {category:<12} {hits} of {hits + score.by_category[category, False]}"


def main() -> None:
    """Report precision and recall."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--set", choices=labelled_sessions.SETS, action="append", help="one set; by default all")
    parser.add_argument("--memory-extraction", type=Path, metavar="FOLDER", help="the folder of that set")
    parser.add_argument("--show", action="store_true", help="name what was missed and what was noise (never of frozen)")
    given = parser.parse_args()
    for name in given.set or labelled_sessions.SETS:
        sequences = list(labelled_sessions.read(name))
        score = judged(sequences)
        print("\n".join(lines(name, score)))
        print("    people's words alone: " + next(lines("", judged(sequences, of_people=True))).strip())
        print(lines_of_waiting(judged(sequences, with_waiting=True)))
        if given.show and name != "frozen":
            print("\n".join(score.told))
    if given.memory_extraction:
        print("\n".join(memory_extraction.report(given.memory_extraction)))


def lines_of_waiting(score: Score) -> str:
    """Report precision and recall if candidates for review count as learned."""
    return f"    with what waits: precision {score.precision:.3f}, recall {score.recall:.3f}"


if __name__ == "__main__":
    main()
