"""Choices: finds the option that the user picked from an agent's offer. The text of the choice is in the offer."""

from __future__ import annotations

import re
from typing import Final

from opencode_memory.learning.extraction.candidate import LONGEST_CONTENT, LONGEST_EVIDENCE, Candidate, shorten
from opencode_memory.learning.extraction.subjects import normalise_statement
from opencode_memory.models import Category

_PICKS: Final = re.compile(
    r"^\s*(?:ok(?:ay)?|yes|yeah|hm+|alright|sure|then|so|good|great|cool|fine)?[,.! ]*(?:let'?s |we'?ll |i'?d |i would |i'?ll )?"
    r"(?:go (?:with|for)|do|take|pick|choose|use|prefer|went with|say|make it)?\s*(?:the )?"
    r"(?:(?P<word>option|variant|approach|alternative|number|no\.|nr\.?|plan|solution|#)\s*)?"
    r"(?:(?P<mark>[1-9]|[a-dA-D])(?P<end>[.),:;! ]|$)|(?P<place>first|second|third|fourth|last)\b)",
    re.IGNORECASE,
)
_OFFERED: Final = re.compile(
    r"^[ \t]*(?:[-*][ \t]*)?(?:\*\*)?(?:option |variant |approach |alternative )?\(?(?P<mark>[1-9]|[a-dA-D])[.):]\**:?[ \t]+(?P<text>\S.*)$",
    re.IGNORECASE | re.MULTILINE,
)
_NAMED: Final = re.compile(
    r"^[ \t]*(?:[-*][ \t]+|\d[.)][ \t]+|[a-dA-D][.)][ \t]+|\|[ \t]*)(?:\*\*|`)?(?P<name>[\w.+#/-]+(?: (?!is\b|are\b|was\b)[\w.+#/-]+){0,3}?)(?:\*\*|`)?[ \t]*(?=[:|,(–—-]|\*\*|$)",
    re.MULTILINE,
)
_PLACES: Final = {"first": 0, "second": 1, "third": 2, "fourth": 3, "last": -1}
_DOUBTS: Final = re.compile(
    r"\b(?:why|what|how|how much|explain|tell me|which|is too|seems|looks|sounds (?:bad|heavy|hard)|not sure|maybe|compare|would|no idea|does|did|lemme|let me|read up|think about|sleep on|later)\b",
    re.IGNORECASE,
)
_BY_NUMBER: Final = "picked an option"
_BY_NAME: Final = "picked an option by name"
_FEWEST: Final = 2
_OPTION_CHARS: Final = 240
_OPENING_WORDS: Final = 6
_PICK_CHARS: Final = 80
_LONGEST_CHOICE: Final = 60


def is_choice(candidate: Candidate) -> bool:
    """Return whether a candidate is a choice from an offer."""
    return candidate.rule in {_BY_NUMBER, _BY_NAME}


def find_choice(message: str, offer: str) -> Candidate | None:
    """Return the chosen option as a candidate, in the words of the offer.

    Args:
        message: Text that the user typed.
        offer: The preceding text of the agent.
    """
    offered = {match["mark"].lower(): match["text"].strip() for match in _OFFERED.finditer(offer)}
    message = message.strip()
    picked = _PICKS.match(message[:_PICK_CHARS])
    if "?" in message[:80]:
        return None
    if picked is None or len(offered) < _FEWEST:
        return _find_named_choice(message, offer)
    if picked["place"]:
        option = list(offered.values())[min(_PLACES[picked["place"].lower()], len(offered) - 1)]
    else:
        # A single letter may be an ordinary word. A number at the beginning is a choice if that number was offered.
        if picked["mark"].isalpha() and not (picked["word"] or picked["end"] in {".", ")", ",", ":", "", "!"}):
            return _find_named_choice(message, offer)
        option = offered.get(picked["mark"].lower(), "")
    if not option:
        return None
    rest = " ".join(message[picked.end() :].split()).lstrip(".,:;! ")
    plain = shorten(option.replace("**", "").replace("__", ""), _OPTION_CHARS)
    content = shorten(f"Chosen: {plain.rstrip('.')}. {rest}".strip(), LONGEST_CONTENT)
    return Candidate(
        category=Category.DECISION,
        content=content,
        confidence=0.8,
        rule=_BY_NUMBER,
        may_repeat=True,
        evidence=shorten(message, LONGEST_EVIDENCE),
        normal_form=normalise_statement(Category.DECISION, plain),
        is_persons=True,
    )


def _find_named_choice(message: str, offer: str) -> Candidate | None:
    """Return the option that the user named at the beginning of a message, in the user's words."""
    names = {match["name"].lower() for match in _NAMED.finditer(offer)}
    opening = " ".join(re.findall(r"[\w.+#/-]+", message)[:_OPENING_WORDS]).lower()
    chosen = [name for name in names if re.search(rf"(?<![\w-]){re.escape(name.split(' ')[0])}(?![\w-])", opening)]
    if len(names) < _FEWEST or len({name.split(" ")[0] for name in chosen}) != 1 or _DOUBTS.search(message):
        return None
    said = shorten(message, LONGEST_CONTENT)
    if len(said.split()) > _LONGEST_CHOICE:
        return None
    return Candidate(
        category=Category.DECISION,
        content=f"Chosen: {said}",
        confidence=0.75,
        rule=_BY_NAME,
        may_repeat=True,
        evidence=shorten(message, LONGEST_EVIDENCE),
        normal_form=normalise_statement(Category.DECISION, said),
        is_persons=True,
    )
