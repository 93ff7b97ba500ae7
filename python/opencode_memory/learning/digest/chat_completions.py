"""Chat-completions format of OpenAI-compatible servers: renders requests and parses answers.

Servers differ. Some know ``json_schema``, some ``json_object``, some both or neither. Newer models refuse
``max_tokens`` and any ``temperature``. A request starts in the strictest dialect and falls back when the server refuses
it. Tool calls in an answer are ignored.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

from opencode_memory.http_client.strict_json import parse_json
from opencode_memory.learning.digest.prompt import ANSWER_SCHEMA

_NEW_LIMIT: Final = "max_completion_tokens"
# Larger numbers are not plausible for one request, so they are ignored.
_MOST_TOKENS: Final = 10_000_000


class AnswerFormat(StrEnum):
    """Format that the server has to enforce; ``free`` relies on the instructions alone."""

    JSON_SCHEMA = "json_schema"
    JSON_OBJECT = "json_object"
    FREE = "free"


_NEXT_FORMAT: Final = {
    AnswerFormat.JSON_SCHEMA: AnswerFormat.JSON_OBJECT,
    AnswerFormat.JSON_OBJECT: AnswerFormat.FREE,
}
_RESPONSE_FORMATS: Final[Mapping[AnswerFormat, Mapping[str, Any]]] = {
    AnswerFormat.JSON_SCHEMA: {
        "type": "json_schema",
        "json_schema": {"name": "digest", "strict": True, "schema": ANSWER_SCHEMA},
    },
    AnswerFormat.JSON_OBJECT: {"type": "json_object"},
}


@dataclass(frozen=True, slots=True)
class Dialect:
    """A variant of the request format."""

    format: AnswerFormat = AnswerFormat.JSON_SCHEMA
    limit_key: str = "max_tokens"
    with_temperature: bool = True

    def render(self, *, model: str, messages: Sequence[Mapping[str, str]], max_tokens: int) -> str:
        """Render a request as JSON; it offers no tools."""
        request: dict[str, Any] = {"model": model, "messages": messages, "stream": False, self.limit_key: max_tokens}
        if self.with_temperature:
            request["temperature"] = 0
        if self.format in _RESPONSE_FORMATS:
            request["response_format"] = _RESPONSE_FORMATS[self.format]
        return json.dumps(request, ensure_ascii=False)

    def fallback(self, refusal: str) -> Dialect | None:
        """Return the dialect to try after the server refused this one.

        Each step drops one feature for good, so there are at most four.

        Args:
            refusal: Body of the refusal; only searched for the names of parameters.

        Returns:
            The next dialect; None if there is none.
        """
        if self.limit_key != _NEW_LIMIT and _NEW_LIMIT in refusal:
            return replace(self, limit_key=_NEW_LIMIT)
        if self.with_temperature and "temperature" in refusal:
            return replace(self, with_temperature=False)
        following = _NEXT_FORMAT.get(self.format)
        return None if following is None else replace(self, format=following)


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """Answer of the LLM.

    Attributes:
        text: Its text; None if there is none, for example because it refuses or only calls tools.
        is_cut: Whether the text was cut off at ``max_tokens``.
        tokens: Input and output tokens of the request; None if the server does not report them.
    """

    text: str | None
    is_cut: bool
    tokens: int | None


def parse_completion(body: bytes) -> Completion:
    """Parse the body of a chat completion; missing members and members of another type are ignored.

    Raises:
        ValueError: The body is not valid JSON.
    """
    answer = parse_json(body.decode())
    choices = _get_member(answer, "choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    text = _get_member(_get_member(choice, "message"), "content")
    return Completion(
        text=text if isinstance(text, str) else None,
        is_cut=_get_member(choice, "finish_reason") == "length",
        tokens=_count_tokens(_get_member(answer, "usage")),
    )


def _count_tokens(usage: Any) -> int | None:
    total = _get_member(usage, "total_tokens")
    if total is None:
        parts = [_get_member(usage, "prompt_tokens"), _get_member(usage, "completion_tokens")]
        total = sum(parts) if all(type(part) is int for part in parts) else None
    return total if type(total) is int and 0 <= total <= _MOST_TOKENS else None


def _get_member(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None
