"""Section ``embedding``: the model that embeds memories, bundled or behind a server."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Final

from opencode_memory.config.setting import Setting, always
from opencode_memory.config.value_kinds import FOLDER, KEY, PREFIX, TEXT, URL, one_of, whole_number

MOST_DIMENSIONS: Final = 8192


class EmbeddingProvider(StrEnum):
    """Program that computes the vectors of memories."""

    LOCAL = "local"
    OPENAI = "openai"
    VOYAGE = "voyage"
    FOLDER = "folder"


class Pooling(StrEnum):
    """How a vector is made of the vectors of a text's tokens."""

    AUTO = "auto"
    MEAN = "mean"
    CLS = "cls"
    LAST = "last"


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingConfig:
    """Settings of the model that embeds memories.

    Attributes:
        threads: Threads of the bundled model; 0 means one thread for each core.
        provider: The bundled model, a model in a folder, or a server that speaks the format of OpenAI or of Voyage.
        model: Name of the model, as the server knows it; of a folder, its ONNX file.
        folder: Folder of an ONNX model.
        pooling: How the model of the folder makes one vector of those of the tokens.
        base_url: Base address of the server.
        allowed_host: Host of another machine to which the user lets texts go; None if no text may leave this one.
        dimensions: Length of the vectors that the server returns; 0 if it is not set.
        api_key_env: Environment variable that holds the key of the server.
        api_key_file: File that holds that key.
        api_key: That key itself; left out of ``repr``.
        query_prefix: Text that the model expects in front of a query.
        text_prefix: Text that the model expects in front of a memory.
        tokens_per_day: Most tokens that servers get in a day of UTC; 0 for no limit.
    """

    threads: int
    provider: EmbeddingProvider
    model: str | None
    folder: Path | None
    pooling: Pooling
    base_url: str | None
    allowed_host: str | None
    dimensions: int
    api_key_env: str | None
    api_key_file: Path | None
    api_key: str | None = field(repr=False)
    query_prefix: str
    text_prefix: str
    tokens_per_day: int


EMBEDDING_SETTINGS: Final = (
    Setting(
        "embedding.threads", "threads of the bundled model; 0 for all cores, at most 4", always(0), whole_number(0, 256)
    ),
    Setting(
        "embedding.provider",
        "the bundled model, a server with the format of OpenAI or Voyage, or a model in a folder",
        always(EmbeddingProvider.LOCAL),
        one_of(*EmbeddingProvider),
    ),
    Setting("embedding.model", "embedding model of that server, or ONNX file in the folder", always(None), TEXT),
    Setting("embedding.folder", "folder with an ONNX model and its tokenizer", always(None), FOLDER),
    Setting(
        "embedding.pooling",
        "how the model in the folder makes one vector of a text; auto reads its files",
        always(Pooling.AUTO),
        one_of(*Pooling),
    ),
    Setting("embedding.base_url", "address of that server, for example http://127.0.0.1:11434/v1", always(None), URL),
    Setting(
        "embedding.allowed_host",
        "host of another machine to which the texts of memories and queries may be sent",
        always(None),
        TEXT,
    ),
    Setting(
        "embedding.dimensions",
        "length of the vectors of that model; 0 if it is not set",
        always(0),
        whole_number(0, MOST_DIMENSIONS),
    ),
    Setting("embedding.api_key_env", "environment variable that holds the key of that server", always(None), TEXT),
    Setting("embedding.api_key_file", "file that holds that key, with mode 0600", always(None), FOLDER),
    Setting(
        "embedding.api_key",
        "that key itself, for example from memory-config.jsonc",
        always(None),
        KEY,
        secret=True,
    ),
    Setting("embedding.query_prefix", "text that the model expects in front of a query", always(""), PREFIX),
    Setting("embedding.text_prefix", "text that the model expects in front of a memory", always(""), PREFIX),
    Setting(
        "embedding.tokens_per_day",
        "tokens that embedding servers get in a day of UTC at most; 0 for no limit",
        always(0),
        whole_number(0, 10**12),
    ),
)
