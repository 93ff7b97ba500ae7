"""Settings of the model behind an embedding server, validated when they are built."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from opencode_memory.errors import ConfigError, InvalidInputError
from opencode_memory.http_client.address import parse_address
from opencode_memory.http_client.key import is_sendable, read_key_file

if TYPE_CHECKING:
    from opencode_memory.config.embedding import EmbeddingConfig

_PATH: Final = "/embeddings"
_FORM: Final = "http(s)://host[:port][/path], such as http://127.0.0.1:11434/v1"
_LONGEST_MODEL: Final = 200
_SHOWN_DIGITS: Final = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedModel:
    """A model behind a server.

    Attributes:
        name: Its name, as the server knows it.
        dimension: Length of its vectors.
        url: The endpoint.
        origin: Scheme, host and port; used in messages.
        key: API key; None if the server needs none. It is left out of ``repr``.
        query_prefix: Text in front of each query.
        text_prefix: Text in front of each text.
    """

    name: str
    dimension: int
    url: str
    origin: str
    key: str | None = field(default=None, repr=False)
    query_prefix: str = ""
    text_prefix: str = ""

    @property
    def model_id(self) -> str:
        """Provider, model, dimensions and a hash of the prefixes; the server does the pooling.

        The address is not part of the id, so that a server may move to another port.
        """
        recipe = json.dumps({"pooling": "server", "query": self.query_prefix, "text": self.text_prefix})
        digest = hashlib.sha256(recipe.encode()).hexdigest()[:_SHOWN_DIGITS]
        return f"openai:{self.name}:{self.dimension}@{digest}"


def read_model(config: EmbeddingConfig, environment: Mapping[str, str]) -> ServedModel:
    """Build the description of the configured model.

    Raises:
        ConfigError: A setting is missing.
        InvalidInputError: A setting is invalid, the server is not on this machine, or the key cannot be used.
    """
    name, base_url = config.model, config.base_url
    if name is None:
        raise _missing("model", "name the model as the server knows it, for example nomic-embed-text")
    if base_url is None:
        raise _missing("base_url", "for example http://127.0.0.1:11434/v1")
    if not config.dimensions:
        raise _missing("dimensions", "the description of the model has the length of its vectors, for example 768")
    if len(name) > _LONGEST_MODEL or not name.isprintable():
        limit = f"at most {_LONGEST_MODEL} printable characters"
        raise InvalidInputError(f"embedding.model: the name must have {limit}", field="embedding.model", limit=limit)
    address = parse_address(base_url, field="embedding.base_url", about="the embedding server", form=_FORM)
    if not address.is_loopback:
        # Memories must not leave the machine before the user was asked.
        message = f"embedding.base_url: {address.host} is another machine; memories are embedded on this machine only"
        raise InvalidInputError(message, field="embedding.base_url", limit="a loopback address")
    return ServedModel(
        name=name,
        dimension=config.dimensions,
        url=address.origin + address.path.removesuffix(_PATH) + _PATH,
        origin=address.origin,
        key=_read_key(config, environment),
        query_prefix=config.query_prefix,
        text_prefix=config.text_prefix,
    )


def _read_key(config: EmbeddingConfig, environment: Mapping[str, str]) -> str | None:
    key, field_name = read_key_file(config.api_key_file, field="embedding.api_key_file"), "embedding.api_key_file"
    if config.api_key_env is not None:
        key, field_name = environment.get(config.api_key_env, "").strip(), "embedding.api_key_env"
        if not key:
            message = f"{field_name}: the variable {config.api_key_env} is not set"
            raise InvalidInputError(message, field=field_name)
    if key is not None and not is_sendable(key):
        message = f"{field_name}: the key must consist of visible ASCII characters without spaces"
        raise InvalidInputError(message, field=field_name)
    return key


def _missing(name: str, hint: str) -> ConfigError:
    key = f"embedding.{name}"
    error = ConfigError(f"{key} is not set, but embedding.provider is openai", key=key, origin="default")
    error.hint = hint
    return error
