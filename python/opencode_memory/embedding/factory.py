"""Builds the embedders that the configuration asks for."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from opencode_memory.config.embedding import EmbeddingConfig, EmbeddingProvider
from opencode_memory.embedding.bundled import BundledEmbedder, usable_cpus
from opencode_memory.errors import ConfigError, InvalidInputError, ModelNotFoundError

if TYPE_CHECKING:
    from opencode_memory.embedding.base import Embedder

_OTHERS: Final = (EmbeddingProvider.OPENAI, EmbeddingProvider.VOYAGE, EmbeddingProvider.FOLDER)


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
        ConfigError: A setting of the model is missing.
        InvalidInputError: A setting of the model is invalid.
        ModelNotFoundError: A file of the model in the folder is missing or damaged.
    """
    bundled = BundledEmbedder(threads=config.threads or None)
    if config.provider is not EmbeddingProvider.LOCAL:
        return Embedders(of_memories=_build(config, environment, bundled), of_sessions=bundled, others=(bundled,))
    if config.model is None and config.folder is None:
        return Embedders(of_memories=bundled, of_sessions=bundled)
    others = []
    for provider in _OTHERS:
        # A model that is described wrongly is not used, so it must not stop the bundled one.
        with suppress(ConfigError, InvalidInputError, ModelNotFoundError):
            others.append(_build(replace(config, provider=provider), environment, bundled))
    return Embedders(of_memories=bundled, of_sessions=bundled, others=tuple(others))


def _build(config: EmbeddingConfig, environment: Mapping[str, str], bundled: Embedder) -> Embedder:
    if config.provider is EmbeddingProvider.FOLDER:
        from opencode_memory.embedding.folder.description import read_folder  # noqa: PLC0415  used by few
        from opencode_memory.embedding.folder.embedder import FolderEmbedder  # noqa: PLC0415

        return FolderEmbedder(read_folder(config), threads=config.threads or usable_cpus(), cutter=bundled)
    # Most users have no server, and the HTTP client takes long to import.
    from opencode_memory.embedding.served.client import Client  # noqa: PLC0415
    from opencode_memory.embedding.served.embedder import ServedEmbedder  # noqa: PLC0415
    from opencode_memory.embedding.served.settings import read_model  # noqa: PLC0415

    model = read_model(config, environment)
    return ServedEmbedder(model, Client(model), cutter=bundled)
