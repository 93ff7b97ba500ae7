"""Result of one digest call: verdicts, reasons for dropped verdicts, and the outcome."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from opencode_memory.learning.digest.budget import BudgetExceeded
from opencode_memory.models import Category

MAX_CONTENT: Final = 500
"""Maximum length of a rewording in characters: one or two sentences."""


class DropReason(StrEnum):
    """Reason why a part of the answer was not used."""

    MALFORMED = "malformed"
    UNKNOWN_ID = "unknown_id"
    DOUBLED_ID = "doubled_id"
    UNANSWERED = "unanswered"
    CATEGORY = "category"
    DIRECTIVE = "directive"
    TOO_LONG = "too_long"
    UNSUPPORTED = "unsupported"
    UNRELATED = "unrelated"
    NEGATION = "negation"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The LLM's verdict about one statement.

    Attributes:
        id: The id of the statement.
        keep: Whether the statement is worth keeping.
        content: A better wording on one line, 1 to ``MAX_CONTENT`` characters; None to keep the wording of the rules.
        category: Category of the statement; ``directive`` and ``conversation`` only if the rules said so.
        topic: Always None. A topic decides which memory is overwritten, and the LLM must not decide that.
    """

    id: str
    keep: bool
    content: str | None
    category: Category
    topic: None = None


@dataclass(frozen=True, slots=True)
class Completed:
    """The LLM answered. More than one request was needed if the server refused the first dialect."""

    requests: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DigestReport:
    """Result of one call.

    Attributes:
        verdicts: Usable verdicts, in the order of the statements; the other statements stay as the rules wrote them.
        dropped: Number of unused parts of the answer, by reason; statements that the answer does not mention count as
            ``unanswered``.
        tokens: Tokens charged to the day's budget.
        outcome: Whether the LLM answered, or which budget is used up and until when.
    """

    verdicts: tuple[Verdict, ...]
    dropped: Mapping[DropReason, int]
    tokens: int
    outcome: Completed | BudgetExceeded
