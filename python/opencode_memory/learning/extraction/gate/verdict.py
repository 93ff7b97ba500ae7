"""Verdict of the gate about a sentence."""

from __future__ import annotations

from dataclasses import dataclass

from opencode_memory.models import Category


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A lasting statement that the gate found in a sentence.

    Attributes:
        category: Category of the statement.
        rule: Name of the form; shown to users.
        text: The part of the sentence that states it, before it is worded to stand alone.
        confidence: 0 to 1; shown to users, decides nothing.
        refers_back: Whether the statement is the sentence before, for example for "record this as a rule".
    """

    category: Category
    rule: str
    text: str
    confidence: float = 0.8
    refers_back: bool = False


def make_verdict(category: Category, rule: str, sentence: str) -> Verdict:
    """Return the verdict that a whole sentence is a statement."""
    return Verdict(category=category, rule=rule, text=sentence)
