"""Polite orders to remember in the form of a question: "could you please remember that we deploy on Fridays?".

"Can you remember that we talked about the port?" has the same form, but asks whether the agent remembers a talk.
"""

from __future__ import annotations

import re
from typing import Final

from opencode_memory.learning.extraction.gate.fragments import LATER, PLACE

_ASK: Final = r"(?:can|could|would|will) you (?:(?:please|pls|kindly|also|just|always) )*"
_ORDER: Final = re.compile(
    rf"^(?:(?:and|also|so|ok|please|pls),? )*{_ASK}(?:remember|memori[sz]e|note(?: down)?|keep in mind|bear in mind|make a (?:mental )?"
    r"note)(?:,? (?:please|pls),?)? (?:that (?!$|\W|time\b|day\b|one\b|when\b|thing\b)|(?=(?:we|all|every|each)\b))(?P<said>.+)",
    re.IGNORECASE,
)
_POINTS_BACK: Final = re.compile(
    rf"^(?:(?:and|also|so|ok|please|pls),? )*{_ASK}(?:remember|memori[sz]e|note) (?:that|this|it)(?: down)?"
    rf"(?:,? (?:please|pls|{LATER}))*\W*$",
    re.IGNORECASE,
)
"""An order to remember the sentence before. "Can you remember that?" alone may ask whether the agent remembers a talk."""
_LASTS: Final = re.compile(rf"\b(?:please|pls|kindly|always|{LATER})\b", re.IGNORECASE)
_PLEASE: Final = re.compile(r"\b(?:please|pls|kindly)\b", re.IGNORECASE)
_IS_PLACE: Final = re.compile(PLACE, re.IGNORECASE)
"""The rest of "could you note that in the README?", which says nothing."""
_SUPPOSED: Final = re.compile(
    r"\bif (?:i|we|you) (?:told|said|asked|were|had|did|(?!need|feed|seed)\w+ed)\b", re.IGNORECASE
)
_THING: Final = re.compile(
    r"(?!(?:if|on|in|at|for|by|from|with|when|as|so|after|before|until)\b)(?:(?:all|every|each|of|the|my|our) )*"
    r"(?:[\w-]+ ){1,2}(?:that |which )?(?:we|you|i|he|she|they)(?:'ve|'d| have| had| just)* \w+"
    r"(?: (?:you|me|us|him|her|them))?(?: (?:to|of|on|with))?"
    r"(?: (?:yesterday|today|earlier|before|about|so far|(?:last|in|with|for|on) \w+))*\W*",
    re.IGNORECASE,
)
"""A noun in place of a statement: "that bug we fixed yesterday", "every file you changed"."""
_TALK: Final = re.compile(
    r"^(?:we|i|you)(?:'d|'ve| had| have)? (?:\w+ )?(?:talked|spoke|spoken|discussed|said|told|mentioned|chatted|argued)\b",
    re.IGNORECASE,
)
_PAST: Final = re.compile(
    r"^(?:we|i|you|he|she|they|it|there)(?:'d| had)? (?:\w+ )?(?:was|were|did|had|went|saw|made|broke|met|got|wrote|ran|(?!need|feed|seed)\w+ed)\b",
    re.IGNORECASE,
)


def is_polite_order(core: str) -> bool:
    """Return whether a sentence asks the agent politely to remember something from now on.

    >>> is_polite_order("Can you remember that we deploy on Fridays?")
    True
    >>> is_polite_order("Can you remember that we broke the build?")
    False

    Args:
        core: The sentence without introductory words.
    """
    if _POINTS_BACK.match(core) and _LASTS.search(core):
        return True
    order = _ORDER.match(core.replace("’", "'"))
    if order is None:
        return False
    said = order["said"]
    if _TALK.match(said) or _IS_PLACE.fullmatch(said) or _THING.fullmatch(said) or _SUPPOSED.search(said):
        return False
    return bool(_PLEASE.search(core)) or not _PAST.match(said)
