"""Counts what later messages do to earlier statements: ``python -m benches.quality.corrections``.

Each pair of ``tests/data/corrections`` is learned in a project of its own, with the shipped model: the statements are
stored, and the user types the message in a later session. The columns of a set are the pairs that were looked at while
the rules were made, and those that were only counted.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import opencode_memory
from opencode_memory.learning.extraction.events import Message, SessionInfo, UserText
from opencode_memory.learning.learner import Learner
from opencode_memory.models import Status
from opencode_memory.store.memory_store import MemoryStore

FOLDER: Final = Path(__file__).parents[2] / "tests" / "data" / "corrections"
SETS: Final = ("lifted", "near", "withdrawn", "unchanged")
OUTCOMES: Final = ("replaced", "linked", "quoted", "nothing")
"""What becomes of a statement, the strongest first: "linked" as contradicting, "quoted" with the message below it."""
_STORED_AT: Final = 1_790_000_000_000
_SAID_AT: Final = _STORED_AT + 86_400_000


@dataclass(frozen=True, slots=True)
class Pair:
    """A later message, and the statements before it.

    Attributes:
        stored: Earlier statements of the user.
        says: The message.
        changes: Place of the statement that the message changes; None if it changes none.
    """

    stored: tuple[str, ...]
    says: str
    changes: int | None


def read_pairs(name: str) -> Iterator[Pair]:
    """Read the pairs of a set."""
    for line in (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if "first" in row:
            yield Pair((row["first"],), row["then"], 0 if row["wanted"] in {"replaces", "change"} else None)
        elif "withdraws" in row:
            yield Pair(tuple(row["stored"]), row["says"], row["withdraws"])
        else:
            yield Pair(tuple(row["stored"]), row["says"], 0 if row["changes"] else None)


def count_outcomes(pairs: Sequence[Pair]) -> Counter[tuple[bool, bool, str]]:
    """Count outcomes, by whether the message changes a statement, and whether the pair was looked at.

    If a message changes none, the strongest outcome of any statement counts.
    """
    counts: Counter[tuple[bool, bool, str]] = Counter()
    with (
        tempfile.TemporaryDirectory() as folder,
        opencode_memory.open(folder, background=False, clock_ms=_STORED_AT) as store,
    ):
        stored = [
            [store.remember(text, category="convention", project=f"p{number}").id for text in pair.stored]
            for number, pair in enumerate(pairs)
        ]
        store.indexes.embed_pending()
        for number, (pair, ids) in enumerate(zip(pairs, stored, strict=True)):
            _say(store, f"p{number}", pair.says)
            asked = ids if pair.changes is None else [ids[pair.changes]]
            outcomes = (_find_outcome(store, f"p{number}", id_, set(ids)) for id_ in asked)
            outcome = min(outcomes, key=OUTCOMES.index)
            counts[pair.changes is not None, number % 2 == 0, outcome] += 1
    return counts


def _say(store: MemoryStore, project: str, text: str) -> None:
    told = [
        Message(
            id=f"msg_{project}_{number}",
            at_ms=_SAID_AT + number,
            events=(UserText(text=said),),
            digest=f"{project}_{number}",
        )
        for number, said in enumerate((text, "ok"))
    ]
    info = SessionInfo(id=f"ses_{project}", directory="/work")
    Learner(store).process(info, told, project=project, at_ms=_SAID_AT, is_idle=True)


def _find_outcome(store: MemoryStore, project: str, id_: str, earlier: set[str]) -> str:
    if store.get(id_).status is Status.SUPERSEDED:
        return "replaced"
    if any(found.kind == "contradicts" and found.memory.id not in earlier for found in store.related(id_)):
        return "linked"
    is_quoted = any(link.target == id_ for link in store.links(["said_later"], project=project))
    return "quoted" if is_quoted else "nothing"


def format_table(name: str, counts: Counter[tuple[bool, bool, str]]) -> Iterator[str]:
    """Format the counts of a set: pairs looked at + pairs only counted."""
    for changes in (True, False):
        by_outcome = {
            outcome: (counts[changes, True, outcome], counts[changes, False, outcome]) for outcome in OUTCOMES
        }
        figures = ", ".join(
            f"{outcome} {seen + unseen} ({seen} + {unseen})" for outcome, (seen, unseen) in by_outcome.items()
        )
        total = sum(map(sum, by_outcome.values()))
        yield f"{name:<10} {'change' if changes else 'no change':<10} of {total}: {figures}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print what becomes of the statements of each set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", choices=SETS, action="append", help="one set; by default all")
    for name in parser.parse_args(arguments).set or SETS:
        print("\n".join(format_table(name, count_outcomes(list(read_pairs(name))))), flush=True)


if __name__ == "__main__":
    main()
