"""Features of a sentence: its cues, its kind and its words.

Numbers, code and file names are each masked as one word. Otherwise the weights fitted to one project would not help
in another.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from opencode_memory.learning.extraction import exclusions
from opencode_memory.learning.extraction.cues import AGENT, PERSON, Kind
from opencode_memory.learning.extraction.sentences import Sentence

_CODE: Final = re.compile(r"`[^`]+`")
_NAME: Final = re.compile(
    r"(?<![\w./-])[@~./]?[\w-]+(?:[/._:]+[\w-]+)+/?|\b\w+_\w+\b|\b[a-z]+[A-Z]\w*|\b[A-Z][a-z]+[A-Z]\w*"
)
_CAPITALS: Final = re.compile(r"\b[A-Z][A-Z0-9]+\b")
_NUMBER: Final = re.compile(r"\d[\d.,:]*\w{0,2}")
_PROPER: Final = re.compile(r"(?<=[a-z,] )[A-Z][a-z]+\b")
_PARTICULAR: Final = re.compile(r"`[^`]+`|\d|\b\w{1,40}[_/.-]\w|\b[A-Z]{2,}\b|\b[A-Z][a-z]+[A-Z]\w*|\b[a-z]+[A-Z]\w+")
_TOKEN: Final = re.compile(r"[a-z]+(?:'[a-z]+)?|[A-Z]{4,6}|#|[?!,:;«(]")
_MASKS: Final = ((_CODE, " CODE "), (_NAME, " FILE "), (_CAPITALS, " CAPS "), (_NUMBER, " # "), (_PROPER, " NAME "))
_KEPT: Final = frozenset({"CODE", "FILE", "CAPS", "NAME"})
_MOST_WORDS: Final = 12


@dataclass(frozen=True, slots=True)
class Reading:
    """A sentence with its context in the message.

    Attributes:
        sentence: The sentence.
        before: The preceding sentence; empty for the first one.
        after: The following sentence; empty for the last one.
        of: Number of sentences in the message.
    """

    sentence: Sentence
    before: str
    after: str
    of: int


def extract_features(reading: Reading, *, is_agent: bool) -> dict[str, float]:
    """Return the features of a sentence with their values."""
    sentence = reading.sentence
    kinds = AGENT if is_agent else PERSON
    found = dict(_iterate_cues(kinds, sentence.core))
    marks = {
        "aside": sentence.is_aside,
        "item": sentence.is_item,
        "of others": exclusions.is_opinion_of_others(sentence.text),
        "sarcasm": exclusions.is_sarcasm(sentence),
        "a requirement": exclusions.starts_requirements(sentence),
        "a task": exclusions.is_task(sentence),
        "particular": bool(_PARTICULAR.search(sentence.text)),
        "quotes": "«" in sentence.text,
    }
    found.update({f"is {name}": 1.0 for name, holds in marks.items() if holds})
    found["words"] = min(len(sentence.core.split()), _MOST_WORDS) / _MOST_WORDS
    words = tokenize(sentence.core)
    found.update({f"word {word}": 0.5 for word in words})
    found.update({f"pair {a} {b}": 0.5 for a, b in pairwise(words)})
    found.update({f"starts {' '.join(words[:count])}": 0.7 for count in (1, 2) if len(words) >= count})
    found.update({f"after {word}": 0.3 for word in tokenize(reading.before)[:2]})
    found.update({f"before {word}": 0.3 for word in tokenize(reading.after)[:2]})
    return found


def tokenize(text: str) -> list[str]:
    """Return the words of a sentence in lower case, with names masked."""
    for pattern, mask in _MASKS:
        text = pattern.sub(mask, text)
    text = " ".join(word if word in _KEPT else word.lower() for word in text.split(" "))
    return _TOKEN.findall(text)


def _iterate_cues(kinds: Iterable[Kind], core: str) -> Iterable[tuple[str, float]]:
    for kind in kinds:
        for cue in kind.cues:
            if cue.pattern.search(core):
                yield f"cue {cue.name}", 1.0
        for cue in kind.against:
            if cue.pattern.search(core):
                yield f"against {kind.category}: {cue.name}", 1.0
        strength, _ = kind.judge(core)
        if strength:
            yield f"strength {kind.category}", strength
