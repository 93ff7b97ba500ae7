"""Statements in messages: selects sentences that are worth keeping, with their category and confidence.

Questions, retracted sentences, requested texts, role play and product requirements are excluded. The other sentences
are weighed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from opencode_memory.learning.extraction import exclusions
from opencode_memory.learning.extraction.authored_text import extract_authored_text
from opencode_memory.learning.extraction.candidate import LONGEST_CONTENT, LONGEST_EVIDENCE, Candidate, shorten
from opencode_memory.learning.extraction.choices import find_choice
from opencode_memory.learning.extraction.corrections import find_correction
from opencode_memory.learning.extraction.features import Reading, extract_features
from opencode_memory.learning.extraction.sentences import split_sentences
from opencode_memory.learning.extraction.subjects import make_topic, normalise_statement
from opencode_memory.learning.extraction.weights import load_table, name_rule

_LEAST_WORDS: Final = 3
_MOST_WORDS: Final = 70
_MOST_CHARS: Final = 700
_LEAST: Final = 0.2
_NEAR: Final = 2
_REFERS: Final = re.compile(
    r"^(?:it|it's|its|they|they're|this|that|that's|these|those|there(?! is| are|'s|'re)|both|same|otherwise|because|so that|"
    r"everything in there|which|him|her|he|she|the latter|the former)\b",
    re.IGNORECASE,
)
_LONGEST_CONTEXT: Final = 200
_PLAYS: Final = re.compile(
    r"\b(?:pretend|role-?play|act as|interview me|you'?re the|you are the|play the|imagine you)\b", re.IGNORECASE
)
_STOPS_PLAYING: Final = re.compile(
    r"\b(?:ok(?:ay)?,? stop|stop (?:it|there|now|the|playing)|enough|end of (?:role|the)|back to (?:work|the|reality)|"
    r"that was fun|thanks)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Context:
    """Context of a user's message.

    Attributes:
        action: The last actions and texts of the agent; empty at the beginning.
        offer: The options that the agent offered; empty if there are none.
    """

    action: str = ""
    offer: str = ""


def extract_from_user(message: str, before: Context) -> tuple[Candidate, ...]:
    """Return the statements of a user's message.

    Args:
        message: The message as typed.
        before: Context of the message.
    """
    found: list[tuple[int, Candidate]] = []
    if before.offer and (chosen := find_choice(extract_authored_text(message).text, before.offer)) is not None:
        found.append((0, chosen))
    for reading in iterate_readings(message):
        number = reading.sentence.number
        if exclusions.is_retraction(reading.sentence):
            found = found[:-1] if found and found[-1][0] >= number - _NEAR else []
            continue
        candidate = max(
            filter(None, (find_correction(reading.sentence, before.action), _judge(reading, is_agent=False))),
            key=lambda candidate: candidate.confidence,
            default=None,
        )
        if candidate is not None and (number, candidate.evidence) not in [
            (at, earlier.evidence) for at, earlier in found
        ]:
            found = _append(found, number, candidate)
    return tuple(candidate for _, candidate in found)


def _append(found: list[tuple[int, Candidate]], number: int, candidate: Candidate) -> list[tuple[int, Candidate]]:
    """Add a statement; one that refers to the preceding statement is merged with it."""
    if found and found[-1][0] == number - 1 and _REFERS.match(candidate.evidence):
        before = found[-1][1]
        if candidate.content.startswith(before.content):
            surer = max(before, candidate, key=lambda candidate: candidate.confidence)
            return [*found[:-1], (number, replace(surer, content=candidate.content))]
    return [*found, (number, candidate)]


def iterate_readings(text: str) -> Iterator[Reading]:
    """Yield the sentences of a text that may contain a statement."""
    all_of_it = split_sentences(extract_authored_text(text).text)
    ordered = requirements = False
    for sentence in all_of_it:
        if exclusions.changes_subject(sentence):
            ordered = requirements = False
        requirements = requirements or exclusions.starts_requirements(sentence)
        ordered = ordered or exclusions.is_text_request(sentence)
        if ordered or requirements or sentence.is_question or exclusions.is_hypothetical_or_reported(sentence):
            continue
        number = sentence.number
        before = all_of_it[number - 1].text if number else ""
        after = all_of_it[number + 1].text if number + 1 < len(all_of_it) else ""
        yield Reading(sentence, before, after, len(all_of_it))


def is_retraction(message: str) -> bool:
    """Return whether a message begins by retracting the one before it."""
    first = split_sentences(extract_authored_text(message).text)[:1]
    return bool(first) and exclusions.is_retraction(first[0])


def is_role_play(message: str, *, before: bool) -> bool:
    """Return whether a role play is going on after a message."""
    if before and _STOPS_PLAYING.search(message):
        return False
    return before or bool(_PLAYS.search(message[:200]))


def _judge(reading: Reading, *, is_agent: bool) -> Candidate | None:
    sentence = reading.sentence
    if len(sentence.core) > _MOST_CHARS or not _LEAST_WORDS <= len(sentence.core.split()) <= _MOST_WORDS:
        return None
    judgement = load_table(is_agent=is_agent).judge(extract_features(reading, is_agent=is_agent))
    if judgement.confidence < _LEAST:
        return None
    said = sentence.core[:1].upper() + sentence.core[1:]
    if (
        _REFERS.match(sentence.core)
        and reading.before
        and not reading.before.endswith("?")
        and len(reading.before) <= _LONGEST_CONTEXT
    ):
        said = f"{reading.before[:1].upper()}{reading.before[1:]} {said}"
    content = shorten(said, LONGEST_CONTENT)
    return Candidate(
        category=judgement.category,
        content=content,
        confidence=round(judgement.confidence, 2),
        rule=name_rule(judgement),
        evidence=shorten(sentence.core, LONGEST_EVIDENCE),
        topic=make_topic(judgement.category, content),
        normal_form=normalise_statement(judgement.category, content),
        is_persons=not is_agent,
    )
