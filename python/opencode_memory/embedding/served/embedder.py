"""Embedder that asks a server; the bundled tokenizer cuts the texts."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from opencode_memory._core import redact
from opencode_memory.embedding.budget import TokenBudget
from opencode_memory.embedding.rows import Rows, first_row
from opencode_memory.errors import EmbeddingError
from opencode_memory.text.pasted import strip_private

if TYPE_CHECKING:
    from opencode_memory.embedding.base import Embedder, Vector, Vectors
    from opencode_memory.embedding.budget import TokenLedger
    from opencode_memory.embedding.served.client import Client
    from opencode_memory.embedding.served.settings import ServedModel

MOST_TEXTS: Final = 64
"""Texts in one request. Servers on a CPU need about a second for this many."""
QUERY_CACHE_SIZE: Final = 512
LONGEST_QUERY: Final = 2_000
"""Characters. Of a longer query, only the beginning is embedded, because the caller waits."""


class ServedEmbedder:
    """Embeds with a model behind a server; satisfies ``Embedder``.

    Args:
        model: The model.
        client: Sends the requests.
        cutter: Cuts texts. The tokenizer of the server is not known, and pieces of the bundled model's window (256
            tokens) fit into the window of any current model.
        ledger: Counts the tokens of a model with a limit; without it nothing is sent.
    """

    def __init__(
        self, model: ServedModel, client: Client, *, cutter: Embedder, ledger: TokenLedger | None = None
    ) -> None:
        self._model = model
        self._budget = TokenBudget(model.tokens_per_day, ledger) if model.tokens_per_day else None
        self._client = client if self._budget is None else client.with_budget(self._budget)
        self._cutter = cutter
        self._cached_query = functools.lru_cache(QUERY_CACHE_SIZE)(self._embed_query)

    @property
    def model_id(self) -> str:
        """See ``ServedModel.model_id``."""
        return self._model.model_id

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return self._model.dimension

    @property
    def budget(self) -> TokenBudget | None:
        """The budget of tokens; None without a limit."""
        return self._budget

    def counted_by(self, ledger: TokenLedger) -> ServedEmbedder:
        """Return the same embedder whose tokens a ledger counts; see ``CountedEmbedder``."""
        if self._budget is None:
            return self
        return ServedEmbedder(self._model, self._client, cutter=self._cutter, ledger=ledger)

    def chunk(self, text: str) -> list[str]:
        """Cut a text into pieces; see ``Embedder.chunk``."""
        return self._cutter.chunk(text)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embed texts; see ``Embedder.embed``."""
        every = [self._model.text_prefix + _sendable(text) for text in texts]
        if len(every) > MOST_TEXTS:
            # Otherwise the budget could end between two requests, and the vectors of the first would be lost.
            self._client.check_budget(every)
        vectors = Rows(len(texts), self.dimension)
        for start, batch in _split(every):
            vectors.put(range(start, start + len(batch)), self._client.embed_texts(batch))
        return vectors.view()

    def embed_query(self, text: str) -> Vector:
        """Embed a query; see ``Embedder.embed_query``."""
        return self._cached_query(_sendable_query(text))

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Embed queries in one request; see ``ScaledEmbedder``."""
        return self._client.embed_queries([self._model.query_prefix + _sendable_query(text) for text in texts])

    def _embed_query(self, text: str) -> Vector:
        return first_row(self._client.embed_queries([self._model.query_prefix + text]), self.dimension)


def _sendable(text: str) -> str:
    """Remove what must not leave this process.

    Raises:
        EmbeddingError: Nothing is left.
    """
    cleaned = redact(strip_private(text))[0].strip()
    if not cleaned:
        raise EmbeddingError("the whole text is private, so it is not sent to the embedding server")
    return cleaned


def _sendable_query(text: str) -> str:
    # Redact first, because the cut could leave a part of a secret that is no longer recognised.
    return _sendable(text)[:LONGEST_QUERY]


def _split(texts: Sequence[str]) -> Iterator[tuple[int, Sequence[str]]]:
    for start in range(0, len(texts), MOST_TEXTS):
        yield start, texts[start : start + MOST_TEXTS]
