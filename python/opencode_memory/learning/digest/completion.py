"""The envelope of an answer: the text of its first choice, and what it took. Tool calls in it are not looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from opencode_memory.learning.digest.strict_json import parse

# No model takes more at once; a server that says so is not believed.
_MOST_TOKENS: Final = 10_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """What the model wrote.

    Attributes:
        text: Its text; None when there is none, as when it refuses or only wants to call tools.
        is_cut: Whether it had to end in the middle because of ``max_tokens``.
        tokens: What the request took in and out; None when the server does not say.
    """

    text: str | None
    is_cut: bool
    tokens: int | None


def read_completion(body: bytes) -> Completion:
    """Read the answer of a chat completion; what is missing or of another type counts as not there.

    Raises:
        ValueError: It is no JSON.
    """
    answer = parse(body.decode())
    choices = _member(answer, "choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    text = _member(_member(choice, "message"), "content")
    return Completion(
        text=text if isinstance(text, str) else None,
        is_cut=_member(choice, "finish_reason") == "length",
        tokens=_tokens(_member(answer, "usage")),
    )


def _tokens(usage: Any) -> int | None:
    total = _member(usage, "total_tokens")
    if total is None:
        parts = [_member(usage, "prompt_tokens"), _member(usage, "completion_tokens")]
        total = sum(parts) if all(type(part) is int for part in parts) else None
    return total if type(total) is int and 0 <= total <= _MOST_TOKENS else None


def _member(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None
