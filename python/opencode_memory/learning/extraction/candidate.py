"""Candidate: a statement proposed by extraction; admission decides whether it becomes a memory."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, fields, replace
from typing import Any, Final, Self

from opencode_memory._core import terms
from opencode_memory.models import Category

LONGEST_CONTENT: Final = 600
LONGEST_EVIDENCE: Final = 240


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A statement that may be worth keeping.

    Attributes:
        category: Category of the statement.
        content: The text, in the words of the session.
        confidence: 0 to 1, assigned by the rule.
        rule: Name of the rule that found the statement; shown to users.
        evidence: Quotation of the message or command.
        message: Id of the message that contains the evidence.
        at_ms: Time of that message, in UTC milliseconds.
        topic: Topic, if the statement replaces earlier ones; otherwise None.
        normal_form: Hash that is equal for the same statement in other sessions; None if a repetition says nothing.
        tags: Tags of the memory.
        is_persons: Whether the user typed the statement.
        may_repeat: Whether it is new information although its words occurred in the session before: results of
            commands, choices among options, resolved blockers.
        is_copy: Whether its message was copied from the session that this one was forked from.
        needs_sessions: Number of other sessions of the project in which the same normal form must have occurred; 0 if
            the statement is stored at once.
        needs_subject: Whether the statement is stored as well if it changes an active memory about the same subject.
        is_remark: Whether no rule takes it for lasting. It is stored only if it is near to an earlier statement.
        is_foreign: Whether its words stood in a tool result, a file or a web page of the session.
        is_observed: Whether it records a command that succeeded in the session.
        is_global: Whether the user wants it in all projects.
        withdraws: Subject of the earlier statement that the user withdraws with this sentence; empty for none.
        instead: What the user says behind it, which is quoted with it if it is not stored itself; empty for nothing.
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
    needs_sessions: int = 0
    needs_subject: bool = False
    is_remark: bool = False
    is_foreign: bool = False
    is_observed: bool = False
    is_global: bool = False
    withdraws: str = ""
    instead: str = ""

    @property
    def is_weak(self) -> bool:
        """Whether the statement alone is no reason to store it."""
        return self.needs_sessions > 0 or self.needs_subject or self.is_remark

    def may_withdraw(self, text: str) -> bool:
        """Return whether a statement has all words of the subject that this sentence withdraws."""
        # "The two-approvals rule" is about "two approvals".
        wanted = frozenset(terms(self.withdraws.replace("-", " "))[0])
        return bool(wanted) and wanted.issubset((*terms(text)[0], *terms(text.replace("-", " "))[0]))

    def with_source(self, message: str, at_ms: int, *, is_copy: bool = False) -> Self:
        """Return a copy with its source message."""
        return replace(self, message=message, at_ms=at_ms, is_copy=is_copy)

    def with_instead(self, stored: Container[str]) -> Self:
        """Return a copy that also says what holds instead, unless that is stored itself."""
        if not self.instead or self.instead in stored:
            return self
        return replace(self, content=shorten(f"{self.content} {self.instead}", LONGEST_CONTENT))

    def as_json(self) -> dict[str, Any]:
        """Convert to a JSON object; the names of its members are stored and must stay."""
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
            "needs_sessions": self.needs_sessions,
            "needs_subject": self.needs_subject,
            "is_foreign": self.is_foreign,
            "is_observed": self.is_observed,
            "is_global": self.is_global,
            # An earlier version does not know these names.
            **({"is_remark": True} if self.is_remark else {}),
            **({"withdraws": self.withdraws} if self.withdraws else {}),
            **({"instead": self.instead} if self.instead else {}),
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Self:
        """Build a candidate from a stored JSON object."""
        # A later version may have stored members that this one does not know.
        known = {one.name for one in fields(cls)} & value.keys()
        given = {name: value[name] for name in known}
        given |= {"category": Category(value["category"]), "tags": tuple(value["tags"])}
        return cls(**given, normal_form=value.get("seen_as"))


def shorten(text: str, most: int) -> str:
    """Join a text into one line of at most ``most`` characters, cut at a word."""
    line = " ".join(text.split())
    if len(line) <= most:
        return line
    head = line[: most - 1]
    return f"{head[: head.rfind(' ')] if ' ' in head[most // 2 :] else head}…"
