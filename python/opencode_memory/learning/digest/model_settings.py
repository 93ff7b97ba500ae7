"""Which model is asked, how, and for how much; checked when it is built."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from opencode_memory.errors import InvalidInputError
from opencode_memory.learning.digest.model_url import endpoint_of

MOST_SECONDS: Final = 600.0
LEAST_ANSWER_TOKENS: Final = 64
MOST_ANSWER_TOKENS: Final = 32_000
LEAST_TOKENS_PER_DAY: Final = 1_000
MOST_TOKENS_PER_DAY: Final = 1_000_000_000
MOST_CALLS_PER_DAY: Final = 100_000
_LONGEST_MODEL: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class DistillerSettings:
    """The memory model of a person who wants one.

    Attributes:
        model: Its name, as the server knows it.
        url: Base address of an OpenAI-compatible server, such as ``http://127.0.0.1:11434/v1``.
        key: What the server asks for; None for one that asks for nothing. In no ``repr``.
        timeout_seconds: For one request, from connecting to the last byte.
        max_answer_tokens: Upper bound of one answer, with the thinking of a model that thinks.
        calls_per_day: Requests per day of UTC.
        tokens_per_day: Tokens per day of UTC, in and out.

    Raises:
        InvalidInputError: A value is not acceptable; ``field`` is its name here.
    """

    model: str
    url: str
    key: str | None = field(default=None, repr=False)
    timeout_seconds: float = 30.0
    max_answer_tokens: int = 2_048
    calls_per_day: int = 200
    tokens_per_day: int = 200_000

    def __post_init__(self) -> None:
        if (
            not 0 < len(self.model) <= _LONGEST_MODEL
            or not self.model.isprintable()
            or self.model.strip() != self.model
        ):
            limit = f"1 to {_LONGEST_MODEL} characters"
            raise InvalidInputError(f"model: the name of the memory model has {limit}", field="model", limit=limit)
        endpoint_of(self.url)
        # A header carries it, and a library would quote one that does not fit into a header in its error.
        if self.key is not None and not (
            self.key and self.key.isascii() and self.key.isprintable() and " " not in self.key
        ):
            message = "key: the key of the memory model is not of visible ASCII characters without spaces"
            raise InvalidInputError(message, field="key")
        _check_range("timeout_seconds", self.timeout_seconds, 0.001, MOST_SECONDS)
        _check_range("max_answer_tokens", self.max_answer_tokens, LEAST_ANSWER_TOKENS, MOST_ANSWER_TOKENS)
        _check_range("calls_per_day", self.calls_per_day, 1, MOST_CALLS_PER_DAY)
        _check_range("tokens_per_day", self.tokens_per_day, LEAST_TOKENS_PER_DAY, MOST_TOKENS_PER_DAY)


def _check_range(name: str, value: float, least: float, most: float) -> None:
    if not least <= value <= most:
        limit = f"{least:g} to {most:,.0f}"
        raise InvalidInputError(f"{name}: {value} is not within {limit}", field=name, limit=limit)
