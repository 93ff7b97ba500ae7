"""Builds the embedders that the configuration asks for."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from opencode_memory.config.embedding import EmbeddingConfig, EmbeddingProvider
from opencode_memory.embedding.onnx import OnnxEmbedder
from opencode_memory.errors import ConfigError, InvalidInputError

if TYPE_CHECKING:
    from opencode_memory.embedding.base import Embedder

_SERVED: Final = (EmbeddingProvider.OPENAI, EmbeddingProvider.VOYAGE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedders:
    """Embedders of a store.

    Attributes:
        of_memories: Embeds memories and their queries.
        of_sessions: Embeds turns of sessions and their queries; always the bundled model, because sessions hold far
            more text than memories.
        others: Other models that the configuration describes. The vectors of a store may be of one of these, until they
            are changed to ``of_memories``.
    """

    of_memories: Embedder
    of_sessions: Embedder
    others: tuple[Embedder, ...] = ()


def build_embedders(config: EmbeddingConfig, environment: Mapping[str, str]) -> Embedders:
    """Build the embedders; loads no model and sends nothing.

    Raises:
        ConfigError: A setting of the server is missing.
        InvalidInputError: A setting of the server is invalid.
    """
    bundled = OnnxEmbedder(threads=config.threads or None)
    if config.provider is not EmbeddingProvider.LOCAL:
        return Embedders(of_memories=_served(config, environment, bundled), of_sessions=bundled, others=(bundled,))
    if config.model is None:
        return Embedders(of_memories=bundled, of_sessions=bundled)
    others = []
    for provider in _SERVED:
        # A server that is described wrongly is not used, so it must not stop the bundled model.
        with suppress(ConfigError, InvalidInputError):
            others.append(_served(replace(config, provider=provider), environment, bundled))
    return Embedders(of_memories=bundled, of_sessions=bundled, others=tuple(others))


def _served(config: EmbeddingConfig, environment: Mapping[str, str], bundled: Embedder) -> Embedder:
    # Most users have no server, and the HTTP client takes long to import.
    from opencode_memory.embedding.served.client import Client  # noqa: PLC0415
    from opencode_memory.embedding.served.embedder import ServedEmbedder  # noqa: PLC0415
    from opencode_memory.embedding.served.settings import read_model  # noqa: PLC0415

    model = read_model(config, environment)
    return ServedEmbedder(model, Client(model), cutter=bundled)
