"""Scale of a model's cosines: the bundled model is the reference, other models are mapped to it."""

from __future__ import annotations

import numpy as np
import pytest

from opencode_memory.embedding import BundledEmbedder, Embedder
from opencode_memory.embedding.calibration import (
    BUNDLED_UNRELATED,
    QUESTIONS,
    TEXTS,
    ScaledEmbedder,
    find_unrelated_cosine,
    measure_scale,
)
from support.embedders import ConstantEmbedder, SqueezedEmbedder


def measure_unrelated(embedder: Embedder) -> float:
    questions = np.stack([embedder.embed_query(question) for question in QUESTIONS])
    return find_unrelated_cosine(embedder.embed(TEXTS), questions)


def test_reference_is_what_the_bundled_model_gives() -> None:
    assert measure_unrelated(BundledEmbedder()) == pytest.approx(BUNDLED_UNRELATED, abs=0.001)


def test_squeezed_cosines_are_measured_exactly() -> None:
    embedder = SqueezedEmbedder(BundledEmbedder())
    assert measure_unrelated(embedder) == pytest.approx(0.7 + 0.3 * BUNDLED_UNRELATED, abs=0.001)
    assert measure_scale(embedder) == pytest.approx(1 / 0.3, rel=0.01)


def test_model_that_gives_one_vector_has_a_finite_scale() -> None:
    embedder = SqueezedEmbedder(ConstantEmbedder(0.25))
    assert 1 < measure_scale(embedder) <= 50


def test_bundled_model_is_not_mapped() -> None:
    assert not isinstance(BundledEmbedder(), ScaledEmbedder)
    assert isinstance(SqueezedEmbedder(BundledEmbedder()), ScaledEmbedder)


def test_texts_of_the_measurement_are_different() -> None:
    assert len(set(QUESTIONS)) == len(QUESTIONS)
    assert len(set(TEXTS)) == len(TEXTS)
