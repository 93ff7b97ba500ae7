"""Scale of a model's cosines: the bundled model is the reference, other models are mapped to it."""

from __future__ import annotations

import pytest

from opencode_memory.embedding import BundledEmbedder
from opencode_memory.embedding.calibration import (
    BUNDLED_UNRELATED,
    QUESTIONS,
    TEXTS,
    measure_scale,
    measure_unrelated,
    needs_scale,
)
from support.embedders import ConstantEmbedder, SqueezedEmbedder


def test_reference_is_what_the_bundled_model_gives() -> None:
    assert measure_unrelated(BundledEmbedder()) == pytest.approx(BUNDLED_UNRELATED, abs=0.001)


def test_squeezed_cosines_are_measured_exactly() -> None:
    embedder = SqueezedEmbedder(BundledEmbedder())
    assert measure_unrelated(embedder) == pytest.approx(0.7 + 0.3 * BUNDLED_UNRELATED, abs=0.001)
    assert measure_scale(embedder) == pytest.approx(1 / 0.3, rel=0.01)


def test_model_that_gives_one_vector_has_a_finite_scale() -> None:
    assert 1 < measure_scale(ConstantEmbedder(0.25)) <= 50


def test_bundled_model_is_not_mapped() -> None:
    assert not needs_scale(BundledEmbedder())
    assert needs_scale(SqueezedEmbedder(BundledEmbedder()))


def test_texts_of_the_measurement_are_different() -> None:
    assert len(set(QUESTIONS)) == len(QUESTIONS)
    assert len(set(TEXTS)) == len(TEXTS)
