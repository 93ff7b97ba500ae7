"""The doctor's check of the models that embed memories and sessions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from opencode_memory.cli.doctor.checks import Check, Level
from opencode_memory.config.embedding import EmbeddingConfig
from opencode_memory.embedding import BundledEmbedder, verify_model
from opencode_memory.embedding.factory import build_embedders
from opencode_memory.errors import EmbeddingBudgetError, EmbeddingError
from opencode_memory.text.formatting import format_count

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore

_QUESTION = "Is the model there?"
_NOT_CALIBRATED = "its cosines are not measured yet, so the limits of relevance may not fit them"


def check_change(store: MemoryStore, config: EmbeddingConfig) -> Iterator[Check]:
    """Report that the memories have vectors of another model than the configured one, which recall still uses."""
    status = store.indexes.models.status()
    if status.active in (None, status.wanted) or not status.is_usable:
        return
    far = "" if status.next is None else f"; {status.embedded:,} of {format_count(status.memories, 'memory')} changed"
    text = f"recall uses {status.active}, and {status.wanted} is configured{far}"
    yield Check("embed_model", Level.NOTE, text, f"opencode-memory embedding use {config.provider}")


def check_model(
    config: EmbeddingConfig, environment: Mapping[str, str], store: MemoryStore | None = None
) -> Iterator[Check]:
    """Check the bundled model, which embeds sessions in any case, and the server if one is configured.

    Args:
        config: The configured model.
        environment: The variables that may hold the key of the server.
        store: Counts the tokens of the server if they have a limit; None if there is no store yet.
    """
    bundled = BundledEmbedder(verify_model())
    vector = bundled.embed_query(_QUESTION)
    yield Check("model", Level.OK, f"{bundled.model_id}, {len(vector)} dimensions")
    embedder = build_embedders(config, environment).of_memories
    if embedder.model_id == bundled.model_id:
        return
    if store is not None:
        embedder = store.indexes.models.count_tokens(embedder)
    try:
        embedder.embed_query(_QUESTION)
    except EmbeddingBudgetError as error:
        text = f"{embedder.model_id} is not asked: {error}; queries find memories by words only"
        yield Check("embed_server", Level.NOTE, text, error.hint)
        return
    except EmbeddingError as error:
        text = f"{error}; until it answers, memories are found by words only"
        yield Check("embed_server", Level.PROBLEM, text, error.hint or "check the settings embedding.*")
        return
    if store is not None and store.indexes.models.is_calibrated():
        yield Check("embed_server", Level.OK, f"{embedder.model_id} answers")
        return
    text = f"{embedder.model_id} answers; {_NOT_CALIBRATED}"
    yield Check("embed_server", Level.NOTE, text, "the worker of a running server measures it: opencode-memory serve")
