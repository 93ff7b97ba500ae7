"""Agents' findings: sentences of an answer that explain how a named system behaves.

Most sentences of an agent report its own work or describe a bug that it fixes minutes later. So a finding must name
its subject, state a cause or a limit in the present tense, and contain no word of a plan, a report or a guess.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from opencode_memory.learning.extraction.authored_text import extract_authored_text
from opencode_memory.learning.extraction.candidate import LONGEST_CONTENT, LONGEST_EVIDENCE, Candidate, shorten
from opencode_memory.learning.extraction.subjects import normalise_statement
from opencode_memory.models import Category

_CUES: Final = (
    "because",
    "turns out",
    "caused by",
    "root cause",
    "due to",
    " only ",
    "reject",
    "ignore",
    "silently",
    "support",
    "evaluate",
    "re-encode",
    "strips",
    "require",
    "overrid",
    "by default",
    "by design",
)
_CONFIDENCE: Final = 0.9


def extract_from_agent(text: str) -> tuple[Candidate, ...]:
    """Return the findings that an agent's answer states."""
    if not any(cue in text for cue in _CUES):
        return ()
    return tuple(_make_finding(sentence) for sentence in _iterate_sentences(text) if _is_finding(sentence))


def _iterate_sentences(text: str) -> Iterator[str]:
    for line in extract_authored_text(text).text.split("\n"):
        if any(cue in line for cue in _CUES):
            yield from re.split(r"(?<=[.!?])[)\"*]*\s+", line)


_NO: Final = re.compile(
    r"\b(?:I|I'll|I've|we|you|your|my|let|updated|fixed|added|now|should|will|would|could|might|may)\b|«|\?$|:$",
    re.IGNORECASE,
)


def _is_finding(sentence: str) -> bool:
    return bool(re.search("because|turns out that", sentence)) and not _NO.search(sentence)


def _make_finding(sentence: str) -> Candidate:
    content = shorten(sentence, LONGEST_CONTENT)
    return Candidate(
        category=Category.FACT,
        content=content,
        confidence=_CONFIDENCE,
        rule="names a cause",
        evidence=shorten(sentence, LONGEST_EVIDENCE),
        normal_form=normalise_statement(Category.FACT, content),
    )
