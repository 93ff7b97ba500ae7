"""Clustered unit vectors that behave like sentence embeddings.

Two levels of clusters, and noise whose variance falls off along the axes, as in real embeddings, where most directions
carry little: independent Gaussian vectors have no meaningful neighbours and mislead every index. A fixed rotation
spreads the axes over all dimensions, so that per-dimension quantisation is not flattered either.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

DIMENSION: Final = 384
CLUSTERS_PER_THEME: Final = 25
CLUSTER_SPREAD: Final = 0.9
MEMORY_SPREAD: Final = 0.7
QUERY_SPREAD: Final = 0.7
DECAY: Final = 0.5


def normalised(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Scale each row to length 1."""
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)


@dataclass(frozen=True, slots=True)
class Space:
    """Positions of the clusters of one data set; ``centres`` is (clusters, 384), rows of length 1."""

    centres: NDArray[np.float32]
    shape: NDArray[np.float32]

    @classmethod
    def create(cls, clusters: int, rng: np.random.Generator) -> Space:
        """Place the clusters around themes, about 25 to a theme."""
        rotation, _ = np.linalg.qr(rng.standard_normal((DIMENSION, DIMENSION)))
        scale = (1.0 + np.arange(DIMENSION)) ** -DECAY
        # Rows of noise times this matrix have length 1 on average: spreads are then plain ratios of lengths.
        shape = np.asarray((scale / np.linalg.norm(scale))[:, None] * rotation, dtype=np.float32)
        themes = max(1, clusters // CLUSTERS_PER_THEME)
        theme_centres = normalised(rng.standard_normal((themes, DIMENSION), dtype=np.float32) @ shape)
        offsets = rng.standard_normal((clusters, DIMENSION), dtype=np.float32) @ shape
        return cls(normalised(theme_centres[rng.integers(0, themes, clusters)] + CLUSTER_SPREAD * offsets), shape)

    def near(self, centres: NDArray[np.float32], spread: float, rng: np.random.Generator) -> NDArray[np.float32]:
        """Return one unit vector near each row of ``centres``, some closer, some farther.

        Args:
            centres: (k, 384), rows of length 1.
            spread: Mean length of the noise.
            rng: Source of the noise.
        """
        noise = rng.standard_normal((len(centres), DIMENSION), dtype=np.float32) @ self.shape
        lengths = spread * rng.uniform(0.5, 1.5, (len(centres), 1)).astype(np.float32)
        return normalised(centres + lengths * noise)
