"""Splits a text into sentences and strips their introductory words."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from opencode_memory.learning.extraction.polite_orders import is_polite_order

# A dot inside of a name, a number or an abbreviation does not end a sentence.
_ABBREVIATIONS: Final = frozenset(
    {
        "e.g",
        "i.e",
        "etc",
        "incl",
        "excl",
        "vs",
        "cf",
        "approx",
        "no",
        "nr",
        "resp",
        "mr",
        "mrs",
        "dr",
        "st",
        "ca",
        "min",
        "max",
    }
)
_END: Final = re.compile(r"(?<=[.!?])[\"')\]]*\s+|(?<=\w)\.\.+\s*|\s+[-–—]{1,2}\s+(?=\w)")
_ASIDE: Final = re.compile(
    r"(?:,|\s[-–—]{1,3})?\s?\b(?:and |oh |also |oh and ){0,3}(?:btw|by the way|fyi|for your information|oh and|on a side note|"
    r"side note|just so you know|heads[- ]up|one more thing|another thing|while you'?re at it|also,)[,:]?\s+",
    re.IGNORECASE,
)
_BLANKS: Final = re.compile(r"[ \t\r\f\v]{2,}")
_LONGEST_LINE: Final = 6000
_LIST_MARK: Final = re.compile(r"^\s*(?:[-*•+]|\d{1,2}[.)])\s+")
_LEAST_ITEMS: Final = 2
_FIRST_NUMBER: Final = re.compile(r"(?:^\s*|[:;,.!?]\s+)(?=1([.)])\s+\S+\s+\S)")
"""What stands before a list in a line. After a word, "1." is the end of a sentence: "pin it to version 1."."""
_NUMBER: Final = re.compile(r"(?<=\s)(\d{1,2})([.)])\s+(?=\S+\s+\S)")
"""Number of a further item, which has at least two words."""
_OPENING: Final = re.compile(
    r"^(?:(?:ok(?:ay)?|so|and|but|well|oh|ah|hm+|yeah|yep|yes|right|good|nice|great|cool|perfect|thanks|thank you|thx|ty|alright|"
    r"sure|sorry|please|pls|plz|also|then|anyway|btw|fyi|note|remember|reminder|important|quick note|listen|look|hey|hi|"
    r"actually|basically|honestly|again|now|just|lastly|finally|oh right|to be clear|for context|for the record)"
    r"\b[\s,:.!-]*)+",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence.

    Attributes:
        text: The sentence without its list marker.
        core: The sentence without introductory words such as ``ok, so``, ``and btw`` or ``please``.
        is_question: Whether it is a question.
        is_aside: Whether it is a side remark, unrelated to the current task.
        number: Index in the message, starting at 0.
    """

    text: str
    core: str
    is_question: bool
    is_aside: bool
    number: int


_AUXILIARY: Final = (
    r"(?:should|shall|could|would|can|may|do|does|did|is|are|was|were|has|have|had|will|isn't|aren't|doesn't|don't|won't|"
    r"wouldn't|couldn't|shouldn't|'s|'re|'d|’s)"
)
_ASKS: Final = re.compile(
    rf"^(?:{_AUXILIARY} (?:i|we|you|it|they|he|she|there|this|that|these|those|the|our|my|your|any|all|people|someone|somebody|"
    rf"anyone|anybody)\b|(?:what|why|how|when|where|which|who|whose)(?: (?:\w+ ){{0,2}})?{_AUXILIARY} (?:i|we|you|it|they|he|she|there|this|"
    r"that|the|these|those|our|my|your|a|an)\b|(?:why|what|how|when|where|who)[ ,.!]*$|(?:how|why) (?:come|about|to)\b(?!.*:)|any (?:idea|chance|reason|thoughts)|"
    r"wondering|i wonder|not sure (?:if|whether|what|how|why))",
    re.IGNORECASE,
)
_REQUESTS: Final = re.compile(
    r"^(?:please )?(?:(?:can|could|would|will) (?:you|we)|do you mind|would you mind)\b", re.IGNORECASE
)
_LASTING: Final = re.compile(
    r"\b(?:next time|each time|every time|always|never|from now|anymore|any more|on your own|in (?:the )?future|whenever|"
    r"when(?:ever)? you|before you|please do all|not (?:to )?apologi\w+|stop \w+ing|stop to)\b|\b(?:agree|settle|decide) (?:that|on)\b",
    re.IGNORECASE,
)


def split_sentences(text: str) -> tuple[Sentence, ...]:
    """Split a text into sentences."""
    found: list[Sentence] = []
    for raw in text.split("\n"):
        line = _BLANKS.sub(" ", raw)[:_LONGEST_LINE]
        for entry in _split_list(line):
            for piece, is_aside in _split_asides(_LIST_MARK.sub("", entry)):
                if not re.search(r"[^\W\d_]", piece):
                    continue
                core = _OPENING.sub("", piece).strip()
                found.append(Sentence(piece, core or piece, is_question(piece, core), is_aside, len(found)))
    return tuple(found)


def _split_list(line: str) -> list[str]:
    """Split a line before the items of a list that stands in it: "rules: 1. use tabs 2. run the linter"."""
    first = _FIRST_NUMBER.search(line)
    if first is None:
        return [line]
    places = [first.end()]
    for mark in _NUMBER.finditer(line, first.end() + 1):
        if int(mark[1]) == len(places) + 1 and mark[2] == first[1]:
            places.append(mark.start())
    if len(places) < _LEAST_ITEMS:
        return [line]
    return [line[start:end] for start, end in pairwise([0, *places, len(line)]) if line[start:end].strip()]


def is_question(piece: str, core: str) -> bool:
    """Return whether a sentence is a question, with or without a question mark; a polite request that lasts is not."""
    if _REQUESTS.match(core):
        return not (_LASTING.search(core) or is_polite_order(core))
    if piece.rstrip("\"')] ").endswith("?"):
        return True
    return bool(_ASKS.match(core)) and ": " not in core


def _split_asides(line: str) -> list[tuple[str, bool]]:
    pieces: list[tuple[str, bool]] = []
    for whole in _split(line):
        start, aside = 0, False
        for mark in _ASIDE.finditer(whole):
            if mark.start() > start:
                pieces.append((whole[start : mark.start()].strip(" ,"), aside))
            start, aside = mark.end(), True
        pieces.append((whole[start:].strip(), aside))
    return [(piece, aside) for piece, aside in pieces if piece]


def _split(line: str) -> list[str]:
    parts: list[str] = []
    start = 0
    for end in _END.finditer(line):
        before = line[start : end.start()]
        last = before.rsplit(None, 1)[-1].lstrip("([").rstrip(".").lower() if before.split() else ""
        if before.endswith(".") and (last in _ABBREVIATIONS or (len(last) == 1 and last.isalpha() and last != "i")):
            continue
        parts.append(before)
        start = end.end()
    parts.append(line[start:])
    return [part.strip() for part in parts if part.strip()]
