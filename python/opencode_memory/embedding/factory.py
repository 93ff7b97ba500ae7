"""Builds the embedders that the configuration asks for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from opencode_memory.config.embedding import EmbeddingConfig, EmbeddingProvider
from opencode_memory.embedding.onnx import OnnxEmbedder

if TYPE_CHECKING:
    from opencode_memory.embedding.base import Embedder


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedders:
    """Embedders of a store.

    Attributes:
        of_memories: Embeds memories and their queries.
        of_sessions: Embeds turns of sessions and their queries; always the bundled model, because sessions hold far
            more text than memories.
    """

    of_memories: Embedder
    of_sessions: Embedder


def build_embedders(config: EmbeddingConfig, environment: Mapping[str, str]) -> Embedders:
    """Build the embedders; loads no model and sends nothing.

    Raises:
        ConfigError: A setting of the server is missing.
        InvalidInputError: A setting of the server is invalid.
    """
    bundled = OnnxEmbedder(threads=config.threads or None)
    if config.provider is EmbeddingProvider.LOCAL:
        return Embedders(of_memories=bundled, of_sessions=bundled)
    # Most users have no server, and the HTTP client takes long to import.
    from opencode_memory.embedding.served.client import Client  # noqa: PLC0415
    from opencode_memory.embedding.served.embedder import ServedEmbedder  # noqa: PLC0415
    from opencode_memory.embedding.served.settings import read_model  # noqa: PLC0415

    model = read_model(config, environment)
    return Embedders(of_memories=ServedEmbedder(model, Client(model), cutter=bundled), of_sessions=bundled)
