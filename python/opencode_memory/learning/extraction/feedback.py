"""Feedback on refused tool calls: it usually states a lasting preference, not only an objection to this call."""

from __future__ import annotations

import re
from typing import Final

from opencode_memory.learning.extraction.authored_text import extract_authored_text
from opencode_memory.learning.extraction.candidate import LONGEST_CONTENT, LONGEST_EVIDENCE, Candidate, shorten
from opencode_memory.learning.extraction.sentences import split_sentences
from opencode_memory.learning.extraction.statements import Context, extract_from_user
from opencode_memory.learning.extraction.subjects import make_topic, normalise_statement
from opencode_memory.models import Category
from opencode_memory.text.pasted import strip_private

_NOW: Final = re.compile(
    r"\b(?:not (?:now|yet)|wait|hold on|first|let me|i'?ll|i want to (?:see|look|check)|later|this time|for now|skip (?:this|it)|wrong (?:file|folder|directory|branch|one)|"
    r"show me|tell me|explain|what (?:is|are|does)|why|one moment|nevermind|never mind|stop)\b",
    re.IGNORECASE,
)
_WANTED: Final = frozenset({Category.PREFERENCE, Category.CONVENTION, Category.DIRECTIVE})
_SURE: Final = 0.8
_PERHAPS: Final = 0.72
_NOW_ONLY: Final = 0.35
_LEAST_WORDS: Final = 3


def extract_from_refusal(text: str, action: str) -> tuple[Candidate, ...]:
    """Return the preference that a refusal states, if any.

    Args:
        text: The user's reason.
        action: The refused tool call.
    """
    text = strip_private(text)
    found = [candidate for candidate in extract_from_user(text, Context(action)) if candidate.category in _WANTED]
    said = " ".join(
        sentence.text for sentence in split_sentences(extract_authored_text(text).text) if not sentence.is_question
    )
    if len(said.split()) < _LEAST_WORDS:
        return ()
    content = shorten(said, LONGEST_CONTENT)
    category = max(found, key=lambda candidate: candidate.confidence).category if found else Category.PREFERENCE
    about_now = _NOW.search(said) is not None
    return (
        Candidate(
            category=category,
            content=content,
            confidence=_SURE if found else _NOW_ONLY if about_now else _PERHAPS,
            rule="refused a tool",
            evidence=shorten(f"{text} (refused: {action})", LONGEST_EVIDENCE),
            topic=make_topic(category, content),
            normal_form=normalise_statement(category, content),
            is_persons=True,
        ),
    )
