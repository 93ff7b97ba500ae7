"""Texts to vectors.

Read ``base`` for what the store asks of an embedder, then ``bundled`` for the one that is shipped. It splits a text
with ``tokenization`` and ``chunking``, and runs batches with ``batching``; ``registry`` knows the files, and the model
itself is computed in ``rust/embed``. ``folder`` and ``served`` are embedders of other models; ``rows`` holds vectors.
Importing this package does not load the engine.
"""

from opencode_memory.embedding.base import Embedder
from opencode_memory.embedding.bundled import BundledEmbedder
from opencode_memory.embedding.registry import DEFAULT_MODEL, Model, find_model, verify_model

__all__ = ["DEFAULT_MODEL", "BundledEmbedder", "Embedder", "Model", "find_model", "verify_model"]
