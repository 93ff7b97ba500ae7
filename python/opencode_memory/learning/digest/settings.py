"""Settings of the model behind an OpenAI-compatible server, validated when they are built."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from opencode_memory.config.sections import Digest
from opencode_memory.errors import InvalidInputError
from opencode_memory.http_client.address import parse_address
from opencode_memory.http_client.key import is_sendable, read_key_file

if TYPE_CHECKING:
    from opencode_memory.config.sections import LearningConfig

MOST_SECONDS: Final = 600.0
LEAST_ANSWER_TOKENS: Final = 64
MOST_ANSWER_TOKENS: Final = 32_000
LEAST_TOKENS_PER_DAY: Final = 1_000
MOST_TOKENS_PER_DAY: Final = 1_000_000_000
MOST_CALLS_PER_DAY: Final = 100_000
_LONGEST_MODEL: Final = 200
_COMPLETIONS: Final = "/chat/completions"
_FORM: Final = "http(s)://host[:port][/path], such as http://127.0.0.1:11434/v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class DigestSettings:
    """Settings of an LLM that the user has configured.

    Attributes:
        model: Name of the model, as the server knows it.
        url: Base address of an OpenAI-compatible server, such as ``http://127.0.0.1:11434/v1``.
        key: API key; None if the server needs none. It is left out of ``repr``.
        timeout_seconds: Limit for one request, from connecting to the last byte.
        max_answer_tokens: Upper bound of one answer, including reasoning tokens.
        calls_per_day: Requests per day of UTC.
        tokens_per_day: Input and output tokens per day of UTC.

    Raises:
        InvalidInputError: A value is invalid; ``field`` is its name.
    """

    model: str
    url: str
    key: str | None = field(default=None, repr=False)
    timeout_seconds: float = 120.0
    max_answer_tokens: int = 4_096
    calls_per_day: int = 100
    tokens_per_day: int = 300_000

    def __post_init__(self) -> None:
        if (
            not 0 < len(self.model) <= _LONGEST_MODEL
            or not self.model.isprintable()
            or self.model.strip() != self.model
        ):
            limit = f"1 to {_LONGEST_MODEL} characters"
            raise InvalidInputError(f"model: the name of the LLM must have {limit}", field="model", limit=limit)
        parse_endpoint(self.url)
        # The key is sent in a header. If it did not fit into one, the HTTP library would quote it in its error.
        if self.key is not None and not is_sendable(self.key):
            message = "key: the key of the LLM must consist of visible ASCII characters without spaces"
            raise InvalidInputError(message, field="key")
        _check_range("timeout_seconds", self.timeout_seconds, 0.001, MOST_SECONDS)
        _check_range("max_answer_tokens", self.max_answer_tokens, LEAST_ANSWER_TOKENS, MOST_ANSWER_TOKENS)
        _check_range("calls_per_day", self.calls_per_day, 1, MOST_CALLS_PER_DAY)
        _check_range("tokens_per_day", self.tokens_per_day, LEAST_TOKENS_PER_DAY, MOST_TOKENS_PER_DAY)


def uses_server(config: LearningConfig) -> bool:
    """Return whether sessions are digested by an OpenAI-compatible server.

    Its address and a model in the configuration are the user's consent; they come before OpenCode's model.
    """
    is_set = config.digest_url is not None and config.digest_model is not None
    return config.enabled and config.digest is not Digest.OFF and is_set


def uses_opencode(config: LearningConfig) -> bool:
    """Return whether sessions are digested by a model of OpenCode."""
    return config.enabled and config.digest in {Digest.SMALL, Digest.SESSION} and not uses_server(config)


def is_enabled(config: LearningConfig) -> bool:
    """Return whether sessions are digested at all."""
    return uses_server(config) or uses_opencode(config)


def read_settings(config: LearningConfig) -> DigestSettings:
    """Build the settings of the server.

    Raises:
        InvalidInputError: A value is invalid, or the file of the key cannot be used.
    """
    return DigestSettings(
        model=config.digest_model or "",
        url=config.digest_url or "",
        key=config.digest_key or read_key_file(config.digest_key_file, field="learning.digest_key_file"),
        timeout_seconds=config.digest_timeout_seconds,
        calls_per_day=config.digest_calls_per_day,
        tokens_per_day=config.digest_tokens_per_day,
    )


@dataclass(frozen=True, slots=True)
class Endpoint:
    """URL of a chat-completions endpoint.

    Attributes:
        url: Full URL, including the path.
        origin: Scheme, host and port; used in messages.
        is_loopback: Whether the host is this machine.
    """

    url: str
    origin: str
    is_loopback: bool


def parse_endpoint(base: str) -> Endpoint:
    """Parse the base URL of an OpenAI-compatible server.

    >>> parse_endpoint("http://127.0.0.1:11434/v1/").url
    'http://127.0.0.1:11434/v1/chat/completions'

    Raises:
        InvalidInputError: The URL is invalid, contains a user, a query or a fragment, or would send texts of memories
            to another machine unencrypted.
    """
    address = parse_address(base, field="learning.digest_url", about="the model's server", form=_FORM)
    url = address.origin + address.path.removesuffix(_COMPLETIONS) + _COMPLETIONS
    return Endpoint(url, address.origin, address.is_loopback)


def _check_range(name: str, value: float, least: float, most: float) -> None:
    if not least <= value <= most:
        limit = f"{least:g} to {most:,.0f}"
        raise InvalidInputError(f"{name}: {value} is not within {limit}", field=name, limit=limit)
