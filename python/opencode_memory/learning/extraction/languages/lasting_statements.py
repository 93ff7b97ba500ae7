"""Finds the lasting statements of a message in a language that has cues."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from opencode_memory.learning.extraction.gate.explicit_orders import RULE as TO_REMEMBER
from opencode_memory.learning.extraction.gate.verdict import Verdict
from opencode_memory.learning.extraction.languages.cues import Cues, read_cues
from opencode_memory.learning.extraction.sentences import split_sentences
from opencode_memory.models import Category

_FULL_STOP: Final = re.compile(r"(?<=[。！？])")
_MOST_CHARS: Final = 340
_LEAST_CHARS: Final = 4
_LONGEST_REMARK: Final = 60
_CONFIDENCE: Final = 0.9


def find_lasting_statements(prose: str, cues: Cues) -> list[tuple[Verdict, str]]:
    """Return what the sentences of a message state, each with the sentence."""
    said: list[tuple[Verdict, str, int]] = []
    for sentence in split_sentences(_FULL_STOP.sub("\n", prose)):
        text = sentence.text.replace("’", "'").strip()
        if is_retraction(text):
            said = [one for one in said if one[2] < sentence.number - 1]
        if len(text) > _MOST_CHARS:
            continue
        is_question = text.endswith(("?", "？"))
        verdict = _find_order(_cut(text, cues), cues.ask, cues)
        if verdict is None and not is_question:
            verdict = _judge(text, cues)
        if verdict is not None:
            said.append((verdict, sentence.text, sentence.number))
    return [(verdict, text) for verdict, text, _ in said]


def is_retraction(sentence: str) -> bool:
    """Return whether a sentence takes the one before it back, in any language that has cues.

    Such remarks are too short to tell their language.
    """
    text = sentence.replace("’", "'").strip()
    return len(text) <= _LONGEST_REMARK and any(
        cues.retraction.match(_strip_lead(text, cues)) for cues in read_cues().values()
    )


def _judge(sentence: str, cues: Cues) -> Verdict | None:
    plain = _cut(sentence, cues)
    if any(form.match(plain) for form in cues.remember):
        return _find_order(plain, cues.remember, cues)
    category = None if cues.moment.search(sentence) else _categorise(plain, cues)
    said = _strip_lead(sentence, cues)
    return None if category is None else Verdict(category=category, rule="standing order", text=said)


def _find_order(plain: str, forms: Sequence[re.Pattern[str]], cues: Cues) -> Verdict | None:
    """Return what a sentence orders to remember; None if that is about the moment."""
    for form in forms:
        if (found := form.match(plain)) is not None and len(found["said"].strip()) >= _LEAST_CHARS:
            text = found["said"].strip()
            # "Retiens ça : …" is about no moment, although "ça" mostly means one.
            if cues.moment.search(text):
                return None
            remembered = _categorise(text, cues) or Category.FACT
            return Verdict(category=remembered, rule=TO_REMEMBER, text=text, confidence=_CONFIDENCE)
    return None


def _cut(sentence: str, cues: Cues) -> str:
    """Return a sentence without introductory words and the words that make it hold for all projects."""
    said = _strip_lead(sentence, cues)
    return _strip_lead(" ".join(cues.everywhere.sub(" ", said).split()), cues)


def _strip_lead(sentence: str, cues: Cues) -> str:
    lead = cues.lead.match(sentence)
    return (sentence if lead is None else sentence[lead.end() :]).lstrip(" ,:，、：")


def _categorise(text: str, cues: Cues) -> Category | None:
    if any(form.match(text) for form in cues.directive):
        return Category.DIRECTIVE
    return Category.CONVENTION if any(form.match(text) for form in cues.convention) else None
