"""What became of the statements that were given to the memory model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from opencode_memory.learning.digest.budget import BudgetExceeded
from opencode_memory.models import Category

MAX_CONTENT: Final = 500
"""Characters of a verdicts text: one or two sentences."""


class DropReason(StrEnum):
    """Why a part of the model's answer was not used."""

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
    """What the model made of one marked statement.

    Attributes:
        id: The id that the statement was given with.
        keep: Whether it is worth keeping.
        content: A better wording, 1 to ``MAX_CONTENT`` characters on one line; None to leave what the rules
            wrote.
        category: What kind of statement it is; ``directive`` and ``conversation`` only if the rules said so.
        topic: Always None. A topic decides which memory is overwritten, and that is not for a model to say.
    """

    id: str
    keep: bool
    content: str | None
    category: Category
    topic: None = None


@dataclass(frozen=True, slots=True)
class Completed:
    """The model answered, in so many requests; more than one when the server did not take the form of the first."""

    requests: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DigestReport:
    """What came of one call.

    Attributes:
        verdicts: What can be used, in the order in which it was given; what is missing stays as the rules wrote it.
        dropped: How many parts of the answer were not used, by reason; marked statements that the answer does not
            mention count as ``unanswered``.
        tokens: What was charged to the day's budget.
        outcome: Whether the model answered, or which budget is spent and until when.
    """

    verdicts: tuple[Verdict, ...]
    dropped: Mapping[DropReason, int]
    tokens: int
    outcome: Completed | BudgetExceeded
