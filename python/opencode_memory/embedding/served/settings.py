"""Settings of the model behind an embedding server, validated when they are built."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from opencode_memory.config.embedding import EmbeddingProvider
from opencode_memory.errors import ConfigError, InvalidInputError
from opencode_memory.http_client.address import Address, parse_address
from opencode_memory.http_client.key import is_sendable, read_key_file

if TYPE_CHECKING:
    from opencode_memory.config.embedding import EmbeddingConfig

_PATH: Final = "/embeddings"
_ADDRESSES: Final = {
    EmbeddingProvider.OPENAI: "https://api.openai.com/v1",
    EmbeddingProvider.VOYAGE: "https://api.voyageai.com/v1",
}
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
        is_loopback: Whether the server is on this machine.
        provider: The format of requests.
        key: API key; None if the server needs none. It is left out of ``repr``.
        query_prefix: Text in front of each query.
        text_prefix: Text in front of each text.
        tokens_per_day: Most tokens that the server gets in a day of UTC; 0 for no limit.
    """

    name: str
    dimension: int
    url: str
    origin: str
    is_loopback: bool = True
    provider: EmbeddingProvider = EmbeddingProvider.OPENAI
    key: str | None = field(default=None, repr=False)
    query_prefix: str = ""
    text_prefix: str = ""
    tokens_per_day: int = 0

    @property
    def model_id(self) -> str:
        """Provider, model, dimensions and a hash of the prefixes; the server does the pooling.

        The address is not part of the id, so that a server may move to another port.
        """
        recipe = json.dumps({"pooling": "server", "query": self.query_prefix, "text": self.text_prefix})
        digest = hashlib.sha256(recipe.encode()).hexdigest()[:_SHOWN_DIGITS]
        return f"{self.provider}:{self.name}:{self.dimension}@{digest}"


def read_model(config: EmbeddingConfig, environment: Mapping[str, str]) -> ServedModel:
    """Build the description of the configured model.

    Raises:
        ConfigError: A setting is missing.
        InvalidInputError: A setting is invalid, the key cannot be used, or the user has not allowed texts to be sent to
            the server.
    """
    model = describe_model(config, environment)
    if not model.is_loopback:
        check_allowed(config)
    return model


def check_allowed(config: EmbeddingConfig) -> None:
    """Check that the user lets texts go to the configured server.

    Raises:
        InvalidInputError: The user has not allowed it.
    """
    address = _address(config)
    if not address.is_loopback and config.allowed_host != address.host:
        message = f"embedding.allowed_host: texts may not be sent to {address.host}, which is another machine"
        problem = InvalidInputError(message, field="embedding.allowed_host", limit=address.host)
        problem.hint = (
            f"`opencode-memory embedding use {config.provider}` asks; or: opencode-memory config set "
            f"embedding.allowed_host {address.host}"
        )
        raise problem


def remote_host(config: EmbeddingConfig) -> str | None:
    """Return the host of the configured server if it is another machine; None if it is this one.

    Raises:
        InvalidInputError: The address is invalid.
    """
    address = _address(config)
    return None if address.is_loopback else address.host


def _address(config: EmbeddingConfig) -> Address:
    base_url = config.base_url or _ADDRESSES[config.provider]
    return parse_address(base_url, field="embedding.base_url", about="the embedding server", form=_FORM)


def describe_model(config: EmbeddingConfig, environment: Mapping[str, str]) -> ServedModel:
    """Build the description of the configured model, also if no text may be sent to its server.

    Raises:
        ConfigError: A setting is missing.
        InvalidInputError: A setting is invalid, or the key cannot be used.
    """
    name = config.model
    if name is None:
        raise _explain_missing(config, "model", "name the model as the server knows it, for example nomic-embed-text")
    address = _address(config)
    if not config.dimensions:
        raise _explain_missing(
            config, "dimensions", "the description of the model has the length of its vectors, for example 768"
        )
    if len(name) > _LONGEST_MODEL or not name.isprintable():
        limit = f"at most {_LONGEST_MODEL} printable characters"
        raise InvalidInputError(f"embedding.model: the name must have {limit}", field="embedding.model", limit=limit)
    return ServedModel(
        name=name,
        dimension=config.dimensions,
        url=address.origin + address.path.removesuffix(_PATH) + _PATH,
        origin=address.origin,
        is_loopback=address.is_loopback,
        provider=config.provider,
        key=_read_key(config, environment),
        query_prefix=config.query_prefix,
        text_prefix=config.text_prefix,
        tokens_per_day=config.tokens_per_day,
    )


def _read_key(config: EmbeddingConfig, environment: Mapping[str, str]) -> str | None:
    key, field_name = config.api_key, "embedding.api_key"
    if config.api_key_file is not None:
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


def _explain_missing(config: EmbeddingConfig, name: str, hint: str) -> ConfigError:
    key = f"embedding.{name}"
    error = ConfigError(f"{key} is not set, but embedding.provider is {config.provider}", key=key, origin="default")
    error.hint = hint
    return error
