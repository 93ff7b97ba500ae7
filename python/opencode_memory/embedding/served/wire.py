"""Embeddings formats of OpenAI-compatible servers and of Voyage: renders requests and validates answers.

The answers have the same form. Requests to Voyage say whether a text is a query, and name the length of the vectors:
https://docs.voyageai.com/reference/embeddings-api.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from opencode_memory.config.embedding import EmbeddingProvider
from opencode_memory.embedding.rows import to_rows
from opencode_memory.errors import EmbeddingError
from opencode_memory.http_client.strict_json import parse_json

if TYPE_CHECKING:
    from opencode_memory.embedding.base import Vectors
    from opencode_memory.embedding.served.settings import ServedModel

_VOYAGE_DIMENSIONS: Final = 1024
"""Length of the vectors of Voyage's current models, unless a request names another."""

_MOST_TOKENS: Final = 10**12
"""Greatest number of tokens of an answer. The count of a day must not overflow."""


def render_request(model: ServedModel, texts: Sequence[str], *, is_query: bool = False) -> str:
    """Render a request as JSON."""
    request: dict[str, Any] = {"model": model.name, "input": list(texts)}
    if model.provider is EmbeddingProvider.VOYAGE:
        request["input_type"] = "query" if is_query else "document"
        # Models with a single length refuse the member.
        if model.dimension != _VOYAGE_DIMENSIONS:
            request["output_dimension"] = model.dimension
    else:
        request["encoding_format"] = "float"
    # JSON can hold lone surrogates, but UTF-8 cannot, so they are escaped.
    return json.dumps(request)


def parse_vectors(model: ServedModel, body: bytes, *, count: int) -> Vectors:
    """Parse an answer.

    Args:
        model: The model that was asked.
        body: The body of the answer.
        count: Number of texts in the request.

    Returns:
        float32, shape (count, dimension), in the order of the request, each row of length 1.

    Raises:
        EmbeddingError: The answer has another form, lacks a vector, or has a vector that cannot be compared.
    """
    try:
        answer = parse_json(body.decode())
    except ValueError as error:
        raise _refuse(model, "is not JSON") from error
    data = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(data, list) or not all(isinstance(item, dict) for item in data):
        raise _refuse(model, "has no list `data` of objects")
    indexes = [item.get("index") for item in data]
    # Each vector must belong to a known text. Another order or number would store vectors with the wrong texts.
    if any(type(index) is not int for index in indexes) or indexes != list(range(count)):
        raise _refuse(model, f"does not have the indexes 0 to {count - 1} in their order ({len(data)} vectors)")
    values: list[float] = []
    for item in data:
        row = _parse_vector(model, item.get("embedding"))
        length = math.hypot(*row)
        # The comparison is false for NaN, too.
        if not 0 < length < math.inf:
            raise _refuse(model, "has a vector of zeros, or with a number that is not finite")
        values += (value / length for value in row)
    return to_rows(values, model.dimension)


def parse_usage(body: bytes) -> int | None:
    """Return the number of tokens that an answer reports; None if it reports none that can be used."""
    try:
        answer = parse_json(body.decode())
    except ValueError:
        return None
    usage = answer.get("usage") if isinstance(answer, dict) else None
    if not isinstance(usage, dict):
        return None
    # Servers that do not count report 0.
    counts = [usage.get(name) for name in ("total_tokens", "prompt_tokens")]
    return next((count for count in counts if type(count) is int and 0 < count <= _MOST_TOKENS), None)


def _parse_vector(model: ServedModel, written: Any) -> list[float]:
    if not isinstance(written, list) or any(type(value) not in (int, float) for value in written):
        raise _refuse(model, "has a vector that is not a list of numbers")
    if len(written) != model.dimension:
        error = _refuse(model, f"has vectors of {len(written)} dimensions instead of {model.dimension}")
        error.hint = "set embedding.dimensions to the length of the model's vectors"
        raise error
    try:
        return [float(value) for value in written]
    except OverflowError as error:
        raise _refuse(model, "has a number that is too large") from error


def _refuse(model: ServedModel, reason: str) -> EmbeddingError:
    error = EmbeddingError(f"the answer of {model.name} at {model.origin} {reason}; nothing was kept")
    error.hint = "check that embedding.model names an embedding model of this server"
    return error
