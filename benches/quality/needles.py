"""Asks for short notes in other words, in small and large stores: ``python -m benches.quality.needles``.

A needle is a note of coding work with a question that shares no rare word with it. The store also holds generated
notes about other things. The same questions are ranked by plain cosine of the same model, in the same run. Half of the
needles are for tuning, the other half is for checking. The set ``other`` is about servers, teaching and things at home;
no setting was tuned on it. Each store is also asked about things that none of its notes is about: the share of empty
answers is printed as ``silent``.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np

import opencode_memory
from opencode_memory import MemoryStore
from opencode_memory.embedding import BundledEmbedder

from .cached_embedder import CachedEmbedder

FOLDER: Final = Path(__file__).parents[2] / "tests" / "data" / "quality" / "needles"
HALVES: Final = ("tuning", "held_out")
OTHER: Final = "other"
EXACT: Final = "exact"
SETS: Final = (*HALVES, OTHER, EXACT)
SIZES: Final = (60, 2_000, 10_000)
AGES_DAYS: Final = (0, 400)
DEPTH: Final = 10
_CLOCK_MS: Final = 1_780_000_000_000
_DAY_MS: Final = 86_400_000

_PARTS: Final = (
    "the invoice exporter",
    "the login page",
    "the ticket board",
    "the sync daemon",
    "the photo gallery",
    "the booking form",
    "the report builder",
    "the notification center",
    "the map view",
    "the price calculator",
    "the address book",
    "the inventory screen",
    "the mail gateway",
    "the session store",
    "the video player",
    "the settings dialog",
    "the upload queue",
    "the audit viewer",
    "the tax module",
    "the loyalty program",
    "the chat server",
    "the label printer",
    "the metrics agent",
    "the import wizard",
    "the backup job",
    "the plugin loader",
    "the shopping cart",
    "the calendar widget",
    "the reminder service",
    "the translation editor",
)
_STATEMENTS: Final = (
    "{part} was moved to {place} in {month}",
    "{part} uses {tool} for {task}",
    "{person} rewrote {part} because {reason}",
    "a flaky test of {part} is skipped until {month}",
    "{part} fails with {code} when {condition}",
    "the configuration of {part} is in {place}",
    "{part} needs {number} seconds to start when {condition}",
    "{person} reviews {part} before each demo",
    "the first version of {part} had no {task}",
    "{part} depends on {tool} {number}",
    "the owner of {part} is {person}",
    "{part} writes at most {number} rows at once",
    "{person} measured {part}: {task} takes {number} ms with {tool}",
    "{part} logs {code} about {number} times a day when {condition}",
)
_FILLERS: Final = {
    "part": _PARTS,
    "place": ("src/core", "packages/web", "the tools folder", "infra/live", "the shared library", "apps/desk"),
    "month": ("January", "April", "June", "August", "October", "December"),
    "tool": ("zod", "pandas", "Caddy", "Celery", "esbuild", "SQLAlchemy", "Tokio", "Playwright", "OpenTelemetry"),
    "task": ("validation", "rendering", "paging", "retries", "tracing", "sorting", "compression", "a dry run"),
    "person": ("Tom", "Ines", "Rahul", "Sofia", "Pavel", "Grace", "Luis", "Mei"),
    "reason": ("it was slow", "nobody understood it", "the old one leaked", "of the new layout", "users complained"),
    "code": ("E1042", "ETIMEDOUT", "exit code 3", "a segmentation fault", "HTTP 502", "a null pointer"),
    "condition": ("the disk is full", "two users save", "the proxy restarts", "a name is empty", "the clock jumps"),
    "number": ("3", "12", "40", "75", "250", "900"),
}


_TOKENS: Final = ("ERR_QX{n}", "OPS-{n}", "kx{n}.internal", "flush_{n}_rows", "v{n}.4.2", "Zorblat{n}", "--max-{n}")
_TOKEN_NOTES: Final = (
    "The job runner stops with {token} when the lease file is missing.",
    "{token} was agreed with the partner for the yearly export.",
    "Keep {token} in the list, because the old scanners ask for it.",
)
_TOKEN_QUESTIONS: Final = ("{token}", "what is {token} about?", "why do we still have {token} in the nightly batch?")


@dataclass(frozen=True, slots=True)
class Needle:
    """A note and a question for it in other words."""

    note: str
    question: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Share of the questions whose needle is the first hit, and among the first ten.

    ``silent`` is the share of the unrelated questions that get an empty answer; None for plain cosine.
    """

    half: str
    size: int
    age_days: int
    method: str
    first: float
    ten: float
    mrr: float
    silent: float | None = None


def read_needles(half: str) -> list[Needle]:
    """Return one half of the needles, whose lines alternate, or the other set."""
    name, lines_of_half = (
        ("other.tsv", slice(None)) if half == OTHER else ("needles.tsv", slice(HALVES.index(half), None, 2))
    )
    lines = (FOLDER / name).read_text(encoding="utf-8").splitlines()
    return [Needle(*line.split("\t")) for line in lines[lines_of_half]]


def read_unrelated_questions() -> list[str]:
    """Return questions that no note of any set is about."""
    return (FOLDER / "unrelated.txt").read_text(encoding="utf-8").splitlines()


def make_exact_needles() -> list[Needle]:
    """Return notes that contain a token of their own, with questions that name the token."""
    combinations = itertools.product(_TOKENS, _TOKEN_NOTES, _TOKEN_QUESTIONS)
    needles = []
    for number, (token, note, question) in enumerate(combinations):
        name = token.format(n=4100 + 37 * number)
        needles.append(Needle(note.format(token=name), question.format(token=name)))
    return needles


def generate_notes(count: int) -> list[str]:
    """Return distinct generated notes, the same in every run."""
    chooser = random.Random(7)
    found: dict[str, None] = {}
    while len(found) < count:
        names = {name: chooser.choice(values) for name, values in _FILLERS.items()}
        text = chooser.choice(_STATEMENTS).format(**names)
        found[f"{text[:1].upper()}{text[1:]}."] = None
    return list(found)


def measure(half: str, size: int, age_days: int, embedder: CachedEmbedder) -> Iterator[Figures]:
    """Measure one store by recall and by plain cosine."""
    needles = make_exact_needles() if half == EXACT else read_needles(half)
    notes = [*(needle.note for needle in needles), *generate_notes(size - len(needles))]
    unrelated = read_unrelated_questions()
    embedder.prepare([*(needle.question for needle in needles), *unrelated])
    with tempfile.TemporaryDirectory(prefix="opencode-memory-needles-") as folder:
        fill(Path(folder) / "store", notes, len(needles), age_days, embedder)
        with open_store(Path(folder) / "store", embedder, read_only=True) as store:
            ranks = [rank_by_recall(store, needle) for needle in needles]
            silent = sum(not store.recall(question, limit=1) for question in unrelated) / len(unrelated)
    yield replace(summarize(ranks, half, size, age_days, "recall"), silent=silent)
    yield summarize(rank_by_cosine(needles, notes, embedder), half, size, age_days, "plain cosine")


def open_store(folder: Path, embedder: CachedEmbedder, *, read_only: bool = False) -> MemoryStore:
    """Open a store at a fixed time."""
    return opencode_memory.open(
        folder, project="needles", embedder=embedder, read_only=read_only, background=False, clock_ms=_CLOCK_MS
    )


def fill(folder: Path, notes: Sequence[str], aged: int, age_days: int, embedder: CachedEmbedder) -> None:
    """Write all notes with their vectors; the first ones are ``age_days`` old."""
    with open_store(folder, embedder) as store:
        old = _CLOCK_MS - age_days * _DAY_MS
        store.remember_many(
            {"content": note, "category": "fact", "time": old if number < aged else _CLOCK_MS - _DAY_MS}
            for number, note in enumerate(notes)
        )
        store.indexes.embed_pending()
        store.indexes.catch_up()


def rank_by_recall(store: MemoryStore, needle: Needle) -> int | None:
    """Return the rank of a needle among the first hits of its question, from 1."""
    hits = store.recall(needle.question, limit=DEPTH)
    return next((rank for rank, hit in enumerate(hits, 1) if hit.memory.content == needle.note), None)


def rank_by_cosine(needles: Sequence[Needle], notes: Sequence[str], embedder: CachedEmbedder) -> list[int]:
    """Return the rank of each needle by cosine alone."""
    texts = np.asarray(embedder.embed(notes))
    ranks = []
    for number, needle in enumerate(needles):
        cosines = texts @ embedder.embed_query(needle.question)
        ranks.append(1 + int((cosines > cosines[number]).sum()))
    return ranks


def summarize(ranks: Sequence[int | None], half: str, size: int, age_days: int, method: str) -> Figures:
    """Compute the figures of one method."""
    found = [rank for rank in ranks if rank is not None and rank <= DEPTH]
    count = len(ranks)
    return Figures(
        half=half,
        size=size,
        age_days=age_days,
        method=method,
        first=found.count(1) / count,
        ten=len(found) / count,
        mrr=sum(1 / rank for rank in found) / count,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure all stores and print a table, or JSON lines."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--half", choices=SETS, action="append", help="default: all")
    parser.add_argument("--size", type=int, action="append", help=f"default: {SIZES}")
    parser.add_argument("--age-days", type=int, action="append", help=f"default: {AGES_DAYS}")
    parser.add_argument("--cache", type=Path, help="file for vectors")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    with CachedEmbedder.open(BundledEmbedder(), options.cache) as embedder:
        for half, size, age in itertools.product(
            options.half or SETS, options.size or SIZES, options.age_days or AGES_DAYS
        ):
            for figures in measure(half, size, age, embedder):
                if options.json:
                    print(json.dumps(asdict(figures)))
                else:
                    silent = "" if figures.silent is None else f"  silent {figures.silent:.3f}"
                    print(
                        f"{half:9} {size:6} notes {age:4} d  {figures.method:13} hit@1 {figures.first:.3f}  "
                        f"hit@10 {figures.ten:.3f}  MRR {figures.mrr:.3f}{silent}"
                    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
