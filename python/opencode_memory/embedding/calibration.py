"""Measures the scale of a model's cosines, by texts that have nothing to do with each other.

The limits of relevance were measured with the bundled model. Other models have other cosines for unrelated texts: some
give 0.7. The factor maps their distances (1 - cosine) to those of the bundled model, so equal texts keep the cosine 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import mul
from typing import TYPE_CHECKING, Final, Protocol, cast, runtime_checkable

if TYPE_CHECKING:
    from opencode_memory.embedding.base import Vectors

BUNDLED_UNRELATED: Final = 0.1505
"""Cosine of the bundled model that one in twenty of the pairs below exceeds; a test measures it again."""
_RANK: Final = 0.95
"""The limits decide on the nearest of many unrelated texts, so the upper end of the cosines is compared."""
_LARGEST: Final = 50.0
"""Greatest factor. A model beyond it gives nearly the same vector to all texts."""

QUESTIONS: Final = (
    "which package manager do we use",
    "how long is bread baked",
    "who won the chess tournament",
    "what does the lighthouse keeper do in winter",
    "when does the train to the coast leave",
    "why was the login page slow",
    "how are tomatoes watered",
    "where is the key of the garage",
    "what colour did she choose for the kitchen",
    "how is the database backed up",
    "which medicine helps against hay fever",
    "who wrote the novel about the desert",
    "how many pupils are in the class",
    "what is the tax on used cars",
    "where do whales spend the summer",
    "which strings fit a cello",
)
"""Questions that have nothing to do with any of the texts."""
TEXTS: Final = (
    "Use tabs in Makefiles and four spaces everywhere else.",
    "The API gateway rejects bodies above two megabytes.",
    "Never force-push to main; open a pull request instead.",
    "The cache is Redis 7 with an eviction policy of allkeys-lru.",
    "Prefer composition over inheritance in the billing module.",
    "Run the linter before each commit.",
    "The staging database is copied from production every Sunday.",
    "Blobs larger than a megabyte go to object storage.",
    "Sessions expire after thirty minutes without a request.",
    "Logs are structured as JSON and shipped to Loki.",
    "The front end is written in TypeScript with React 19.",
    "Secrets are mounted from Vault and never committed.",
    "Retries use exponential backoff with jitter.",
    "The release branch is cut on the first Monday of a month.",
    "Unit tests must not open network connections.",
    "The worker pool has eight threads by default.",
    "Error messages name the field and the limit.",
    "Docker images are built with BuildKit and tagged by commit.",
    "The user prefers short answers without emojis.",
    "Dates are stored as UTC milliseconds.",
    "The scheduler was moved from cron to Temporal.",
    "Old migrations are squashed once a year.",
    "The payment webhook is idempotent by event id.",
    "GraphQL was dropped in favour of plain REST.",
    "The build fails if a dependency has a known vulnerability.",
    "Images are resized to at most 1,600 pixels.",
    "Python 3.11 is the oldest version that CI tests.",
    "The search index is rebuilt after each deployment.",
    "Public functions have docstrings with an example.",
    "Kubernetes probes call /healthz every ten seconds.",
    "Translations are kept in one file for each language.",
    "The on-call engineer restarts the queue consumer first.",
)
"""Notes of development work, because most memories are such notes. Statements of everyday life were tried instead:
e5-small-v2 gives them lower cosines than it gives to notes, so it still answered 37 of 40 unrelated questions."""


@runtime_checkable
class ScaledEmbedder(Protocol):
    """An embedder whose cosines have a scale of their own, which has to be measured."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        """See ``Embedder``."""

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Embed queries at once; a server gets one request for all of them.

        Raises:
            EmbeddingError: As for ``embed``.
        """


def measure_scale(embedder: ScaledEmbedder) -> float:
    """Measure the factor by which distances of an embedder must be multiplied.

    Raises:
        EmbeddingError: The model fails.
    """
    distance = 1 - find_unrelated_cosine(embedder.embed(TEXTS), embedder.embed_queries(QUESTIONS))
    return min((1 - BUNDLED_UNRELATED) / max(distance, 1e-6), _LARGEST)


def find_unrelated_cosine(texts: Vectors, questions: Vectors) -> float:
    """Return the cosine that one in twenty pairs of a question and a text exceeds, given their vectors."""
    # The type of a memoryview does not tell that two dimensions give lists of lists.
    rows, others = cast("list[list[float]]", texts.tolist()), cast("list[list[float]]", questions.tolist())
    cosines: list[float] = sorted(sum(map(mul, row, other)) for row in rows for other in others)
    return cosines[int(_RANK * len(cosines))]
