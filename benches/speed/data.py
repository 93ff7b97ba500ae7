"""The data of one benchmark run: made once from a seed, kept on disk, read in batches.

Every engine reads the same files, and reads them with plain reads instead of a mapping, so that the harness does not
show up in an engine's resident memory. Rows are numbered from 0; a row number is how answers of different engines are
compared.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from .texts import Writer, question
from .vectors import DIMENSION, MEMORY_SPREAD, QUERY_SPREAD, Space

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from typing import TextIO

    from numpy.typing import NDArray

PROJECTS: Final = [
    "atlas",
    "beacon",
    "cedar",
    "delta",
    "ember",
    "falcon",
    "granite",
    "harbor",
    "iris",
    "juniper",
    "krypton",
    "lumen",
    "mosaic",
    "nimbus",
    "onyx",
    "prism",
    "quartz",
    "raven",
    "saffron",
    "tundra",
]
RARE_PROJECT: Final = "zenith"
"""The project with a fixed share of all memories (1 % unless told otherwise), for the selective filter."""

CATEGORIES: Final = ("fact", "decision", "solution", "convention", "procedure", "preference", "event", "plan")
CATEGORY_SHARES: Final = (0.3, 0.15, 0.15, 0.1, 0.1, 0.05, 0.1, 0.05)

LAST_TIME_MS: Final = 1_767_225_600_000
TWO_YEARS_MS: Final = 730 * 86_400_000
MEMORIES_PER_CLUSTER: Final = 50
HOME_SHARE: Final = 0.7
BLOCK: Final = 10_000
FORMAT: Final = 1


@dataclass(frozen=True, slots=True)
class DataShape:
    """Parameters of a data set; the same parameters give the same bytes."""

    n: int
    filter_share: float = 0.01
    queries: int = 200
    inserts: int = 400
    seed: int = 7


@dataclass(frozen=True, slots=True)
class Memory:
    """A memory to store. An engine has to return it without its vector."""

    row: int
    content: str
    project: str
    category: str
    time_ms: int


@dataclass(frozen=True, slots=True)
class Query:
    """A question about the memory ``source``: some of its words, and a noisy copy of its vector, float32 (384,)."""

    number: int
    text: str
    project: str
    source: int
    vector: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Batch:
    """Consecutive memories, and their vectors as float32 (len(memories), 384)."""

    memories: list[Memory]
    vectors: NDArray[np.float32]


class Dataset:
    """A data set on disk; ``prepare`` makes it."""

    def __init__(self, directory: Path) -> None:
        """Read the manifest of ``directory``."""
        self.directory = directory
        manifest = json.loads((directory / "manifest.json").read_text())
        self.shape = DataShape(**manifest["shape"])

    def batches(self, size: int) -> Iterator[Batch]:
        """Yield all memories in order, ``size`` at a time."""
        yield from _read_batches(self.directory, "memories", size)

    def inserts(self) -> Batch:
        """Return the memories that are added one by one after the build."""
        return next(_read_batches(self.directory, "inserts", self.shape.inserts))

    def queries(self, kind: str) -> list[Query]:
        """Return the queries: ``general`` ask about any memory, ``rare`` about one of the rare project."""
        rows = json.loads((self.directory / f"{kind}.json").read_text())
        vectors = np.fromfile(self.directory / f"{kind}.f32", dtype=np.float32).reshape(-1, DIMENSION)
        return [Query(vector=vector, **row) for row, vector in zip(rows, vectors, strict=True)]

    def vectors(self) -> NDArray[np.float32]:
        """Map all vectors, (n, 384); for exact search, not for engines."""
        return np.memmap(self.directory / "memories.f32", dtype=np.float32, mode="r").reshape(-1, DIMENSION)

    def rare_rows(self) -> NDArray[np.int64]:
        """Return the rows of the rare project, in order."""
        return np.fromfile(self.directory / "rare.i64", dtype=np.int64)


def prepare(root: Path, shape: DataShape) -> Dataset:
    """Return the data set of ``shape`` under ``root``; make it if it is not there yet."""
    name = f"data-{shape.n}-{shape.filter_share:g}-{shape.queries}-{shape.inserts}-{shape.seed}"
    directory = root / name
    manifest = directory / "manifest.json"
    stamp = {"format": FORMAT, "shape": asdict(shape)}
    # The manifest is written last: without it, or with another stamp, the files are made anew.
    if not manifest.exists() or json.loads(manifest.read_text()) != stamp:
        directory.mkdir(parents=True, exist_ok=True)
        _generate(directory, shape)
        manifest.write_text(json.dumps(stamp))
    return Dataset(directory)


def _generate(directory: Path, shape: DataShape) -> None:
    space_rng, text_rng, row_rng, query_rng = (
        np.random.default_rng(seed) for seed in np.random.SeedSequence(shape.seed).spawn(4)
    )
    clusters = max(1, shape.n // MEMORIES_PER_CLUSTER)
    space = Space.create(clusters, space_rng)
    writer = Writer.create(clusters, text_rng)
    total = shape.n + shape.inserts
    cluster_of = row_rng.integers(0, clusters, total)
    project_of = _projects(cluster_of, clusters, row_rng)
    rare = _rare_rows(cluster_of[: shape.n], round(shape.n * shape.filter_share), row_rng)
    project_of[rare] = len(PROJECTS)
    rare.tofile(directory / "rare.i64")
    sources = {
        "general": query_rng.choice(shape.n, shape.queries, replace=shape.queries > shape.n),
        "rare": query_rng.choice(rare, shape.queries, replace=shape.queries > len(rare)),
    }
    wanted = {int(row) for rows in sources.values() for row in rows}
    kept: dict[int, tuple[Memory, NDArray[np.float32]]] = {}
    seen: set[int] = set()
    for name, first, last in (("memories", 0, shape.n), ("inserts", shape.n, total)):
        with (directory / f"{name}.jsonl").open("w") as lines, (directory / f"{name}.f32").open("wb") as floats:
            for start in range(first, last, BLOCK):
                rows = range(start, min(start + BLOCK, last))
                members = cluster_of[rows.start : rows.stop]
                vectors = space.near(space.centres[members], MEMORY_SPREAD, space_rng)
                memories = _memories(rows, writer.write(members, text_rng), project_of, row_rng, seen)
                vectors.tofile(floats)
                _write_lines(lines, memories)
                kept.update({m.row: (m, v) for m, v in zip(memories, vectors, strict=True) if m.row in wanted})
    for kind, chosen in sources.items():
        _write_queries(directory, kind, [kept[int(row)] for row in chosen], space, query_rng)


def _projects(cluster_of: NDArray[np.int64], clusters: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Give each memory a project: mostly its cluster's, project sizes after Zipf."""
    shares = 1.0 / (1 + np.arange(len(PROJECTS)))
    shares /= shares.sum()
    homes = rng.choice(len(PROJECTS), clusters, p=shares)
    elsewhere = rng.choice(len(PROJECTS), len(cluster_of), p=shares)
    return np.where(rng.random(len(cluster_of)) < HOME_SHARE, homes[cluster_of], elsewhere)


def _rare_rows(cluster_of: NDArray[np.int64], count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Choose exactly ``count`` rows for the rare project: mostly whole clusters, the rest scattered over all others."""
    order = rng.permutation(int(cluster_of.max()) + 1)
    by_cluster = np.argsort(order[cluster_of], kind="stable")
    home = by_cluster[: int(count * HOME_SHARE)]
    scattered = rng.choice(by_cluster[len(home) :], count - len(home), replace=False)
    return np.sort(np.concatenate([home, scattered])).astype(np.int64)


def _memories(
    rows: range, texts: Sequence[str], project_of: NDArray[np.int64], rng: np.random.Generator, seen: set[int]
) -> list[Memory]:
    names = [*PROJECTS, RARE_PROJECT]
    categories = rng.choice(len(CATEGORIES), len(rows), p=CATEGORY_SHARES).tolist()
    times = (LAST_TIME_MS - rng.integers(0, TWO_YEARS_MS, len(rows))).tolist()
    memories = []
    for row, text, category, time_ms in zip(rows, texts, categories, times, strict=True):
        # Equal texts would be merged by us and stored twice by others; then row numbers could not be compared.
        content = text if hash(text) not in seen else f"{text} (again, {row})"
        seen.add(hash(content))
        memories.append(Memory(row, content, names[int(project_of[row])], CATEGORIES[category], time_ms))
    return memories


def _write_queries(
    directory: Path,
    kind: str,
    sources: Sequence[tuple[Memory, NDArray[np.float32]]],
    space: Space,
    rng: np.random.Generator,
) -> None:
    space.near(np.stack([vector for _, vector in sources]), QUERY_SPREAD, rng).tofile(directory / f"{kind}.f32")
    rows = [
        {"number": i, "text": question(m.content, rng), "project": m.project, "source": m.row}
        for i, (m, _) in enumerate(sources)
    ]
    (directory / f"{kind}.json").write_text(json.dumps(rows))


def _write_lines(lines: TextIO, memories: Sequence[Memory]) -> None:
    lines.writelines(json.dumps([m.row, m.content, m.project, m.category, m.time_ms]) + "\n" for m in memories)


def _read_batches(directory: Path, name: str, size: int) -> Iterator[Batch]:
    with (directory / f"{name}.jsonl").open() as lines, (directory / f"{name}.f32").open("rb") as floats:
        while True:
            vectors = np.fromfile(floats, dtype=np.float32, count=size * DIMENSION).reshape(-1, DIMENSION)
            if not len(vectors):
                return
            yield Batch([Memory(*json.loads(next(lines))) for _ in range(len(vectors))], vectors)
