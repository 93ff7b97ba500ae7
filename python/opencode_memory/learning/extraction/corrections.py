"""Corrections: finds sentences in which the user rejects an action of the agent and names the alternative."""

from __future__ import annotations

import re
from typing import Final

from opencode_memory.learning.extraction.candidate import LONGEST_CONTENT, LONGEST_EVIDENCE, Candidate, shorten
from opencode_memory.learning.extraction.sentences import Sentence
from opencode_memory.learning.extraction.subjects import find_alternatives, make_topic, normalise_statement
from opencode_memory.models import Category

_PERHAPS: Final = 0.5
_LEAST_WORDS: Final = 4
_NO: Final = re.compile(
    r"^(?:no+|nope|nah|wrong|stop|wait|hey|not like that|argh|ugh)\b[,.!:; -]*(?:no\b[, ]*)?(?:please )?", re.IGNORECASE
)
_INSTEAD: Final = re.compile(
    r"\b(?:use|we use|it'?s|i use|prefer|take|go with|with|run)\b .{2,60}|\binstead of\b|\brather than\b|\bnot (?:with )?[\w./-]+|\bnever\b|\bdon'?t use\b|\bwe don'?t\b|\bwe only\b",
    re.IGNORECASE,
)
_NOT: Final = re.compile(r"\b(?:not|never|no|instead of|rather than|over|behind|out|gone|don'?t)\b", re.IGNORECASE)
_USE_NOT: Final = re.compile(
    r"\b(?:use|using|run|with|want|take) [`'\"]?[\w./@-]+(?: [\w./@-]+)?[`'\"]?,? (?:please,? )?(?:and )?(?:not|never|instead of|rather than|over) [`'\"]?(?!the |a |this |that )[\w./@-]+"
    r"|\b(?:don'?t|do not|never|stop) us(?:e|ing) [`'\"]?[\w./@-]+[`'\"]?.{0,40}\b(?:use|we use|we have|it'?s)\b [`'\"]?[\w./@-]+|^[\w./@-]+,? not [\w./@-]+(?: please)?[.!]?$|^not [\w./@-]+[,:;-]+ ?(?:use |it'?s )?[\w./@-]+",
    re.IGNORECASE,
)
_ABOUT_NOW: Final = re.compile(
    r"\b(?:leave it|just (?:leave|do|keep|fix)|here|this (?:one|time|function|file|line|test|branch)|for now|not now|not yet|nothing|that'?s (?:fine|ok|all)|wait|i'?ll|the other|the first|"
    r"the second|problem|worries|idea|need|way|luck|difference|clue|change|matter)\b",
    re.IGNORECASE,
)


def find_correction(sentence: Sentence, action: str) -> Candidate | None:
    """Return the correction that a sentence contains, if any.

    Args:
        sentence: Sentence of the user.
        action: The last action or text of the agent.
    """
    if sentence.is_question or not action:
        return None
    denied = _NO.match(sentence.text)
    rest = sentence.text[denied.end() :] if denied else sentence.core
    chosen = find_alternatives(rest)
    if (denied and chosen and _replaces(chosen, action)) or (_NOT.search(rest) and _names_two(chosen)):
        confidence = 0.8
    elif _USE_NOT.search(rest) and not _ABOUT_NOW.search(rest) and (chosen or len(rest.split()) >= _LEAST_WORDS):
        confidence = 0.75 if denied or chosen else _PERHAPS
    elif denied and _INSTEAD.search(rest) and not _ABOUT_NOW.search(rest) and len(rest.split()) > 2:  # noqa: PLR2004  "no, not that"
        confidence = _PERHAPS
    else:
        return None
    content = shorten(rest[:1].upper() + rest[1:], LONGEST_CONTENT)
    return Candidate(
        category=Category.PREFERENCE,
        content=content,
        confidence=confidence,
        rule="correction",
        evidence=shorten(sentence.text, LONGEST_EVIDENCE),
        topic=make_topic(Category.PREFERENCE, content),
        normal_form=normalise_statement(Category.PREFERENCE, content),
        is_persons=True,
    )


def _names_two(chosen: frozenset[tuple[str, str]]) -> bool:
    """Return whether two alternatives of one kind are named."""
    kinds = [kind for kind, _ in chosen]
    return len(kinds) > len(set(kinds))


def _replaces(chosen: frozenset[tuple[str, str]], action: str) -> bool:
    """Return whether the user chose another alternative than the one the agent used, for example pnpm instead of npm."""
    taken = find_alternatives(action)
    kinds = {kind for kind, _ in chosen} & {kind for kind, _ in taken}
    return any((kind, name) not in taken for kind, name in chosen if kind in kinds)
