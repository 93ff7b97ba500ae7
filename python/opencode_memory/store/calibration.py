"""Measures the scale of a model once, and keeps it in the store; see ``embedding.calibration``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opencode_memory.embedding.calibration import ScaledEmbedder, measure_scale

if TYPE_CHECKING:
    from opencode_memory._core import Engine
    from opencode_memory.embedding.base import Embedder


def is_calibrated(engine: Engine, embedder: Embedder) -> bool:
    """Return whether the limits of relevance fit the model of an embedder."""
    return not isinstance(embedder, ScaledEmbedder) or engine.cosine_scale(embedder.model_id) is not None


def calibrate(engine: Engine, embedder: Embedder) -> None:
    """Measure the scale of a model that the store knows, unless that was done before.

    Raises:
        EmbeddingError: The model fails.
    """
    if isinstance(embedder, ScaledEmbedder) and engine.cosine_scale(embedder.model_id) is None:
        engine.set_cosine_scale(embedder.model_id, measure_scale(embedder))
