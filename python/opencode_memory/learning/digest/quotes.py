"""Quotes: finds where the words that the model quotes stand in a transcript.

Spaces, letter case, typographic marks and Markdown marks are ignored, and a quote may leave out words with an ellipsis.
Everything else must stand there letter by letter.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from opencode_memory.learning.digest.transcript import Transcript, Turn
from opencode_memory.learning.extraction.provenance import iterate_typed

_MARKS: Final = str.maketrans(
    dict.fromkeys("\u2018\u2019", "'")
    | dict.fromkeys("\u201c\u201d\u201e\u00ab\u00bb", '"')
    | dict.fromkeys("\u2013\u2014", "-")
    | dict.fromkeys("*`", " ")
)
_SPACES: Final = re.compile(r"\s+")
_ELLIPSIS: Final = re.compile(r"\s*(?:…|\.{3,}|\[…\]|\[\.{3}\])\s*")
_ASKED: Final = re.compile(r"[^.!?]*\?")
_EDGES: Final = " \t\"'.,;:!?-"
_LEAST_LETTERS: Final = 6
_LEAST_WIDE: Final = 4
_WIDE: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


class Speaker(StrEnum):
    """Who said the quoted words."""

    PERSON = "person"
    AGENT = "agent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Place of a quote.

    Attributes:
        speaker: Who said it.
        turn: The message with the quote, or the message that follows the answer with the quote. After the last
            message, that one.
        source: The message and the answers beside it, for checks of the text.
        is_typed: Whether the user typed the words, and did not paste, fence or quote them.
        is_question: Whether the user asked with them.
    """

    speaker: Speaker
    turn: Turn
    source: str
    is_typed: bool
    is_question: bool = False


def normalise(text: str) -> str:
    """Return a text without differences that do not matter for a quote."""
    plain = unicodedata.normalize("NFKC", text).translate(_MARKS).casefold()
    return _SPACES.sub(" ", plain).strip()


def split_quote(quote: str) -> tuple[str, ...]:
    """Return the normalised parts of a quote between ellipses."""
    parts = (normalise(part).strip(_EDGES) for part in _ELLIPSIS.split(quote))
    return tuple(part for part in parts if part)


def is_long_enough(parts: tuple[str, ...]) -> bool:
    """Return whether a quote has enough letters to prove something."""
    text = "".join(parts)
    least = _LEAST_WIDE if _WIDE.search(text) else _LEAST_LETTERS
    return sum(letter.isalnum() for letter in text) >= least


def find_quote(
    transcript: Transcript, parts: tuple[str, ...], message: int | str | None, foreign: frozenset[int]
) -> Found | None:
    """Find a quote in what was sent; words of the user come before words of the agent.

    Args:
        transcript: What was sent.
        parts: The normalised parts of the quote.
        message: Number or id of the message that the model named; it is looked at first.
        foreign: Hashes of what tools returned in the session.
    """
    turns = transcript.turns
    order = sorted(range(len(turns)), key=lambda number: not _is_named(number, turns[number], message))
    for number in order:
        if _contains(normalise(turns[number].person), parts):
            return Found(
                speaker=Speaker.PERSON,
                turn=turns[number],
                source=_source(transcript, number),
                is_typed=_is_typed(turns[number].typed, parts, foreign),
                is_question=_is_question(normalise(turns[number].person), parts[-1]),
            )
    for number in order:
        if any(_contains(normalise(answer), parts) for answer in _answers(transcript, number)):
            return Found(speaker=Speaker.AGENT, turn=turns[number], source=_source(transcript, number), is_typed=False)
    return None


def _answers(transcript: Transcript, number: int) -> Iterator[str]:
    """Yield the answers before and after a message."""
    yield transcript.turns[number].answer
    yield transcript.turns[number + 1].answer if number + 1 < len(transcript.turns) else transcript.closing


def _is_named(number: int, turn: Turn, message: int | str | None) -> bool:
    return message in {number + 1, str(number + 1), turn.message}


def _source(transcript: Transcript, number: int) -> str:
    """Return a message with the answers and messages beside it."""
    turns = transcript.turns[max(0, number - 1) : number + 2]
    texts = [text for turn in turns for text in (turn.answer, turn.person)]
    return "\n".join([*texts, *_answers(transcript, number)])


def _contains(text: str, parts: tuple[str, ...]) -> bool:
    position = 0
    for part in parts:
        found = text.find(part, position)
        if found < 0:
            return False
        position = found + len(part)
    return True


def _is_question(text: str, last: str) -> bool:
    """Return whether the sentence that ends a quote is a question."""
    return bool(_ASKED.match(text, text.find(last) + len(last)))


def _is_typed(message: str, parts: tuple[str, ...], foreign: frozenset[int]) -> bool:
    """Return whether the words stand in sentences that the user typed; a quote may join two of them."""
    own = normalise(" ".join(iterate_typed(message, foreign)))
    return _contains(own, parts)
