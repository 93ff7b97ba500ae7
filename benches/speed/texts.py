"""Made-up developer notes: a Zipf vocabulary with identifiers, paths and error codes mixed in.

Texts are built from whole blocks of random numbers, so a million of them take seconds, and the same seed gives the same
texts on every machine. A text has common words, words of its cluster (so that words and vectors agree about
neighbours), and details of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

WORDS: Final = Path(__file__).parent / "words"
FREQUENT: Final = (WORDS / "frequent.txt").read_text().split()
ROOTS: Final = (WORDS / "roots.txt").read_text().split()
SUFFIXES: Final = ("", "s", "ed", "ing", "er", "able")
PREFIXES: Final = ("", "re", "un", "pre", "auto")
FOLDERS: Final = ("src", "lib", "tests", "app", "core", "server", "scripts")
EXTENSIONS: Final = ("py", "rs", "ts", "go", "toml", "yaml")
ERROR_FAMILIES: Final = ("E", "TS", "HTTP ", "SQLSTATE ", "ORA-", "CVE-2024-")

WORDS_PER_CLUSTER: Final = 48
TOPICAL_SHARE: Final = 0.33
DETAIL_SHARE: Final = 0.06
MEAN_WORDS: Final = 30
QUERY_WORDS: Final = (4, 8)


def _inflected(prefix: str, root: str, suffix: str) -> str:
    stem = root[:-1] if root.endswith("e") and suffix[:1] in {"e", "i", "a"} else root
    return prefix + stem + suffix


def vocabulary() -> list[str]:
    """Return about 5,000 words, most frequent first: function words, then roots, then their inflections."""
    derived = [_inflected(prefix, root, suffix) for prefix in PREFIXES for suffix in SUFFIXES for root in ROOTS]
    return list(dict.fromkeys([*FREQUENT, *derived]))


def identifier(rng: np.random.Generator) -> str:
    """Make one name as it stands in code: camelCase, snake_case, a path, a flag or an error code."""
    first, second, third = (ROOTS[i] for i in rng.integers(0, len(ROOTS), 3))
    number = int(rng.integers(100, 9999))
    folder, extension = FOLDERS[number % len(FOLDERS)], EXTENSIONS[number % len(EXTENSIONS)]
    return (
        f"{first}{second.title()}{third.title()}",
        f"{first}_{second}_{third}",
        f"{folder}/{first}/{second}_{third}.{extension}",
        f"--{first}-{second}",
        f"{ERROR_FAMILIES[number % len(ERROR_FAMILIES)]}{number}",
        f"{first.title()}{second.title()}",
    )[int(rng.integers(0, 6))]


def detail(number: int) -> str:
    """Make a small fact of one text from a number: an issue, a duration, a version, a short hash, a size."""
    kind, value = number % 5, number // 5
    return (
        f"!{value % 9000}",
        f"{value % 4000}ms",
        f"v{value % 9}.{value // 9 % 30}.{value // 270 % 12}",
        f"{value % 0xFFFFFFF:07x}",
        f"{value % 512}MB",
    )[kind]


@dataclass(frozen=True, slots=True)
class Writer:
    """Writes the texts of one data set. Clusters have their own words and share a common vocabulary."""

    words: list[str]
    cumulative: NDArray[np.float64]
    cluster_words: list[list[str]]

    @classmethod
    def create(cls, clusters: int, rng: np.random.Generator) -> Writer:
        """Choose the words of each cluster: 40 of the middle of the vocabulary and 8 identifiers."""
        words = vocabulary()
        weights = (np.arange(len(words)) + 2.7) ** -1.1
        cumulative = np.cumsum(weights) / weights.sum()
        names = [identifier(rng) for _ in range(max(200, clusters * 2))]
        # Squared, so that most are ordinary words and a few are rare ones.
        depth = rng.random((clusters, WORDS_PER_CLUSTER - 8)) ** 2
        middle = len(FREQUENT) + (depth * (len(words) - len(FREQUENT))).astype(np.int64)
        chosen = rng.integers(0, len(names), (clusters, 8))
        cluster_words = [
            [*(words[i] for i in common), *(names[i] for i in own)] for common, own in zip(middle, chosen, strict=True)
        ]
        return cls(words, cumulative, cluster_words)

    def write(self, clusters: NDArray[np.int64], rng: np.random.Generator) -> list[str]:
        """Write one text of about 30 words for each entry of ``clusters``."""
        lengths = np.clip(rng.normal(MEAN_WORDS, 7, len(clusters)).round().astype(np.int64), 10, 60)
        total = int(lengths.sum())
        kinds = rng.random(total)
        general = np.searchsorted(self.cumulative, rng.random(total)).tolist()
        topical = (rng.random(total) ** 2 * WORDS_PER_CLUSTER).astype(np.int64).tolist()
        details = rng.integers(0, 1 << 31, total).tolist()
        is_topical = (kinds < TOPICAL_SHARE).tolist()
        is_detail = (kinds > 1 - DETAIL_SHARE).tolist()
        texts = []
        start = 0
        for cluster, length in zip(clusters.tolist(), lengths.tolist(), strict=True):
            own = self.cluster_words[cluster]
            tokens = [
                own[topical[i]] if is_topical[i] else detail(details[i]) if is_detail[i] else self.words[general[i]]
                for i in range(start, start + length)
            ]
            texts.append(f"{tokens[0].title() if tokens[0].isalpha() else tokens[0]} {' '.join(tokens[1:])}.")
            start += length
        return texts


def question(text: str, rng: np.random.Generator) -> str:
    """Take 4 to 8 words of a text, in their order, as an agent would ask for it.

    Function words are left out: an engine without a stop list would pay for them, and the ratios flatter the others.
    """
    words = [word for word in text.removesuffix(".").split() if word.lower() not in FREQUENT]
    count = min(len(words), int(rng.integers(QUERY_WORDS[0], QUERY_WORDS[1] + 1)))
    return " ".join(words[i] for i in sorted(rng.choice(len(words), count, replace=False)))
