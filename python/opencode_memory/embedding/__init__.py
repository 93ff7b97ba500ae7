"""Texts to vectors.

Read ``base`` for what the store asks of an embedder, then ``onnx`` for the one that is shipped. It splits a text with
``tokenization`` and ``chunking``, plans with ``batching``, and runs the batches with ``session``; ``registry`` knows
the files. Importing this package loads neither onnxruntime nor numpy nor the tokenizer.
"""

from opencode_memory.embedding.base import Embedder
from opencode_memory.embedding.onnx import OnnxEmbedder
from opencode_memory.embedding.registry import DEFAULT_MODEL, Model, find_model, verify_model

__all__ = ["DEFAULT_MODEL", "Embedder", "Model", "OnnxEmbedder", "find_model", "verify_model"]
