"""Arrays of numpy as the buffers that an embedder returns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from opencode_memory.embedding.base import Vectors


def to_buffer(values: npt.NDArray[np.float32]) -> Vectors:
    """Return the values as a buffer of the same shape. If there are none, it has one dimension."""
    if not values.size:
        return memoryview(b"").cast("f")
    return np.ascontiguousarray(values, np.float32).data.cast("B").cast("f", values.shape)
