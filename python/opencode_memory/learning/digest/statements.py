"""Statements for the LLM: validated, redacted and truncated before they leave this machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from opencode_memory._core import redact
from opencode_memory.errors import InvalidInputError
from opencode_memory.models import Category
from opencode_memory.text.unicode import replace_surrogates

MAX_STATEMENTS: Final = 8
"""Maximum number of statements in one call. With their answer they fit into the 4,096 tokens of many local servers."""

MAX_ID: Final = 64
_CATEGORIES: Final = frozenset(Category)
_LONGEST_CONTENT: Final = 2_000
_LONGEST_EVIDENCE: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A statement that the rules found worth keeping.

    Attributes:
        id: Id within the call, 1 to ``MAX_ID`` characters. The LLM has to repeat it, which it does more reliably
            if the id is short.
        category: A ``Category`` or its name.
        content: Wording of the rules, without ``<private>`` parts.
        evidence: A short quotation of the source, without ``<private>`` parts.
    """

    id: str
    category: str
    content: str
    evidence: str


def prepare(statements: Sequence[Statement]) -> tuple[Statement, ...]:
    """Return copies of statements with secrets redacted, truncated to the length that is sent.

    Raises:
        InvalidInputError: There are too many; an id is empty, too long or duplicate; or a category is unknown.
    """
    if len(statements) > MAX_STATEMENTS:
        limit = f"at most {MAX_STATEMENTS} in one call"
        raise InvalidInputError(
            f"statements: {len(statements)} statements, and {limit}", field="statements", limit=limit
        )
    ids = {statement.id for statement in statements}
    if len(ids) < len(statements) or not all(0 < len(given) <= MAX_ID for given in ids):
        limit = f"1 to {MAX_ID} characters, each id once"
        raise InvalidInputError(f"statements: the ids have {limit}", field="statements", limit=limit)
    return tuple(_fit(statement) for statement in statements)


def _fit(statement: Statement) -> Statement:
    if statement.category not in _CATEGORIES:
        raise InvalidInputError(f"statements: {statement.category!r} is not a category", field="statements")
    return Statement(
        id=statement.id,
        category=Category(statement.category),
        content=_without_secrets(statement.content)[:_LONGEST_CONTENT],
        evidence=_without_secrets(statement.evidence)[:_LONGEST_EVIDENCE],
    )


def _without_secrets(text: str) -> str:
    # Redact before truncating, because a truncated secret no longer matches its pattern. Logs may contain lone
    # surrogates, which cannot be encoded.
    redacted, _ = redact(replace_surrogates(text))
    return redacted
