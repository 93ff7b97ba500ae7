"""Result of one digest: what was stored, what was dropped, and why."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum


class DropReason(StrEnum):
    """Reason why an item was not stored."""

    MALFORMED = "malformed"
    TOO_MANY = "too_many"
    KIND = "unknown_kind"
    TOO_LONG = "too_long"
    QUOTE = "quote_not_found"
    SHORT_QUOTE = "quote_too_short"
    NOT_PERSONS = "not_said_by_the_person"
    NAMES = "new_names"
    UNSUPPORTED = "unsupported"
    NEGATION = "negation"
    INJECTED = "repeats_a_given_memory"
    UNKNOWN_ID = "supersedes_unknown_memory"
    REJECTED = "rejected_before"
    DOUBLED = "doubled"


@dataclass(frozen=True, slots=True, kw_only=True)
class DroppedItem:
    """An item that was not stored.

    Attributes:
        text: Its text as the model wrote it, cut; empty if it had none.
        reason: The reason.
    """

    text: str
    reason: DropReason


@dataclass(frozen=True, slots=True, kw_only=True)
class DigestReport:
    """Result of one digest.

    Attributes:
        active: Ids of memories that are active now.
        waiting: Ids of memories that wait for the user's review.
        replaced: Ids of memories that they replace.
        dropped: Items that were not stored.
        has_summary: Whether the summary of the session was stored.
        tokens: Tokens of the request and its answer.
    """

    active: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()
    dropped: tuple[DroppedItem, ...] = ()
    has_summary: bool = False
    tokens: int = 0

    @property
    def reasons(self) -> Counter[DropReason]:
        """Number of dropped items by reason."""
        return Counter(item.reason for item in self.dropped)
