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
        is_global: Whether the person wants it in all projects.
        refers_back: Whether the statement is the sentence before, for example for "record this as a rule".
    """

    category: Category
    rule: str
    text: str
    confidence: float = 0.8
    is_global: bool = False
    refers_back: bool = False
