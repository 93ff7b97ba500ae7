"""The dialects of OpenAI-compatible servers: in which form a request is sent, and in which next when it was refused.

The strictest form comes first. Servers know ``json_schema``, ``json_object``, both or neither; newer models refuse
``max_tokens`` and any ``temperature``, and say so in the refusal.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

from opencode_memory.learning.digest.prompt import ANSWER_SCHEMA

_NEW_LIMIT: Final = "max_completion_tokens"


class AnswerFormat(StrEnum):
    """How the server is asked to hold the model to JSON; ``free`` leaves it to the instructions."""

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
        "json_schema": {"name": "notes", "strict": True, "schema": ANSWER_SCHEMA},
    },
    AnswerFormat.JSON_OBJECT: {"type": "json_object"},
}


@dataclass(frozen=True, slots=True)
class Dialect:
    """A form of request."""

    format: AnswerFormat = AnswerFormat.JSON_SCHEMA
    limit_key: str = "max_tokens"
    with_temperature: bool = True

    def body(self, *, model: str, messages: Sequence[Mapping[str, str]], max_tokens: int) -> str:
        """Write a request as JSON; it offers no tools."""
        request: dict[str, Any] = {"model": model, "messages": messages, "stream": False, self.limit_key: max_tokens}
        if self.with_temperature:
            request["temperature"] = 0
        if self.format in _RESPONSE_FORMATS:
            request["response_format"] = _RESPONSE_FORMATS[self.format]
        return json.dumps(request, ensure_ascii=False)

    def after(self, refusal: str) -> Dialect | None:
        """Return the form to try when the server refused this one.

        Each step leaves something behind for good, so there are four at most.

        Args:
            refusal: What the server said; only looked through for the names of parameters.

        Returns:
            The next form; None when there is none.
        """
        if self.limit_key != _NEW_LIMIT and _NEW_LIMIT in refusal:
            return replace(self, limit_key=_NEW_LIMIT)
        if self.with_temperature and "temperature" in refusal:
            return replace(self, with_temperature=False)
        following = _NEXT_FORMAT.get(self.format)
        return None if following is None else replace(self, format=following)
