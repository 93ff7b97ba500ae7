"""Finds the lasting statements of a message in a language that has cues."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from opencode_memory.learning.extraction.gate.explicit_orders import RULE as TO_REMEMBER
from opencode_memory.learning.extraction.gate.verdict import Verdict
from opencode_memory.learning.extraction.languages.cues import Cues
from opencode_memory.learning.extraction.sentences import split_sentences
from opencode_memory.models import Category

_FULL_STOP: Final = re.compile(r"(?<=[。！？])")
_MOST_CHARS: Final = 340
_LEAST_CHARS: Final = 4
_CONFIDENCE: Final = 0.9


def find_lasting_statements(prose: str, cues: Cues) -> Iterator[tuple[Verdict, str]]:
    """Yield what the sentences of a message state, each with the sentence."""
    for sentence in split_sentences(_FULL_STOP.sub("\n", prose)):
        text = sentence.text.replace("’", "'").strip()
        if text.endswith(("?", "？")) or len(text) > _MOST_CHARS or cues.moment.search(text):
            continue
        if (verdict := _judge(text, cues)) is not None:
            yield verdict, sentence.text


def _judge(sentence: str, cues: Cues) -> Verdict | None:
    lead = cues.lead.match(sentence)
    said = sentence[lead.end() :] if lead is not None else sentence
    for form in cues.remember:
        if (found := form.match(said)) is not None and len(found["said"].strip()) >= _LEAST_CHARS:
            text = found["said"].strip()
            remembered = _categorise(text, cues) or Category.FACT
            return Verdict(category=remembered, rule=TO_REMEMBER, text=text, confidence=_CONFIDENCE)
    category = _categorise(said, cues)
    return None if category is None else Verdict(category=category, rule="standing order", text=said)


def _categorise(text: str, cues: Cues) -> Category | None:
    if any(form.match(text) for form in cues.directive):
        return Category.DIRECTIVE
    return Category.CONVENTION if any(form.match(text) for form in cues.convention) else None
