"""Feedback on refused tool calls: the user who refuses a call names what they want instead, once or for good."""

from __future__ import annotations

from dataclasses import replace

from opencode_memory.learning.extraction.candidate import LONGEST_EVIDENCE, Candidate, shorten
from opencode_memory.learning.extraction.corrections import find_correction
from opencode_memory.learning.extraction.sentences import split_sentences
from opencode_memory.learning.extraction.statements import Context, extract_from_user
from opencode_memory.learning.extraction.typed_prose import extract_typed_prose


def extract_from_refusal(text: str, action: str, languages: frozenset[str]) -> tuple[Candidate, ...]:
    """Return the lasting statements of a refusal: those of any message, and the tool that the user wants instead.

    Args:
        text: The user's reason.
        action: The refused tool call.
        languages: Codes of the languages that are learned from.
    """
    before = Context(action, languages=languages)
    found = [candidate for candidate in extract_from_user(text, before) if not candidate.is_weak]
    if not found:
        sentences = split_sentences(extract_typed_prose(text))
        corrected = (find_correction(sentence, action, is_denied=True) for sentence in sentences)
        found = [candidate for candidate in corrected if candidate is not None][:1]
    return tuple(
        replace(candidate, evidence=shorten(f"{candidate.evidence} (refused: {action})", LONGEST_EVIDENCE))
        for candidate in found
    )
