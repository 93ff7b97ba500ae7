"""The error about a library of the extra ``onnx`` that is not installed."""

from __future__ import annotations

from typing import Final

from opencode_memory.errors import EmbeddingError

_HINT: Final = "a model in a folder needs the extra: pip install 'ocm-memory[onnx]'"


def missing_library(name: str, reason: ImportError) -> EmbeddingError:
    """Build the error for a library that cannot be imported; its hint names the extra."""
    error = EmbeddingError(f"{name} cannot be imported: {reason}")
    error.hint = _HINT
    return error
