"""What extraction proposes, and by which rule: whether it becomes a memory is decided by admission."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final, Self

from opencode_memory.models import Category

LONGEST_CONTENT: Final = 600
LONGEST_EVIDENCE: Final = 240


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """Something that may be worth keeping.

    Attributes:
        category: What kind of statement it is.
        content: The text, in the words of the session.
        confidence: 0 to 1; what the rules give.
        rule: Name of the rule that found it, shown to people.
        evidence: What was said or done, quoted.
        message: Id of the message that holds the evidence.
        at_ms: When that was.
        topic: What it replaces; None where nothing can be replaced.
        normal_form: What counts as the same thing in another session; None where a repetition says nothing.
        tags: Labels.
        is_persons: Whether it is what the person themself said.
        may_repeat: Whether it says something new although the session has said it already: what commands show, what was
            chosen among offers, the end of a blocker.
        is_copy: Whether its message was copied from the session that this one was forked from.
    """

    category: Category
    content: str
    confidence: float
    rule: str
    evidence: str
    message: str = ""
    at_ms: int = 0
    topic: str | None = None
    normal_form: str | None = None
    tags: tuple[str, ...] = ()
    is_persons: bool = False
    may_repeat: bool = False
    is_copy: bool = False

    def with_source(self, message: str, at_ms: int, *, is_copy: bool = False) -> Self:
        """Say where it comes from."""
        return replace(self, message=message, at_ms=at_ms, is_copy=is_copy)

    def as_json(self) -> dict[str, Any]:
        """Return what ``from_json`` reads."""
        return {
            "category": str(self.category),
            "content": self.content,
            "confidence": self.confidence,
            "rule": self.rule,
            "evidence": self.evidence,
            "message": self.message,
            "at_ms": self.at_ms,
            "topic": self.topic,
            "seen_as": self.normal_form,
            "tags": list(self.tags),
            "is_persons": self.is_persons,
            "may_repeat": self.may_repeat,
            "is_copy": self.is_copy,
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Self:
        """Read what ``as_json`` gave."""
        fields = {**value, "category": Category(value["category"]), "tags": tuple(value["tags"])}
        normal_form = fields.pop("seen_as", None)
        return cls(**fields, normal_form=normal_form)


def shorten(text: str, most: int) -> str:
    """Put a text on one line of at most so many characters, cut at a word."""
    line = " ".join(text.split())
    if len(line) <= most:
        return line
    head = line[: most - 1]
    return f"{head[: head.rfind(' ')] if ' ' in head[most // 2 :] else head}…"
