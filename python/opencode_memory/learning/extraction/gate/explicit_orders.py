"""Explicit orders to remember: "remember that …", "record this as a rule", "make a note of it"."""

from __future__ import annotations

import re
from typing import Final

from opencode_memory.learning.extraction.gate.fragments import LATER, PLACE
from opencode_memory.learning.extraction.gate.verdict import Verdict
from opencode_memory.learning.extraction.gate.work_at_hand import is_about_work_at_hand, is_complaint
from opencode_memory.models import Category

_LEAD: Final = (
    r"^(?:(?:ok(?:ay)?|and|also|so|please|pls|kindly|then|now|can you|could you|would you|will you|i want you to|let'?s|you should|"
    r"you can|just|yes|good|great|important|actually|sorry|oh|hm+|hold on|wait|nope|nah|"
    r"(?:no )?no+(?:[,.:!;]|(?=\s+(?:please|pls|remember|wait)\b)))[,:!]?\s+)*"
)
"""What stands before an order. "No" alone is none: "no note on this as a rule"."""
_KEPT_IN: Final = (
    r"(?:(?:global|project|user|general|permanent|standing|new|cursor|claude|agent|ai|team|coding|house|the|your|"
    r"my|our|a|an)[ -])*"
    r"(?:rules?|memory|memories|guidelines?|conventions?|preferences?|agents\.md|claude\.md|\.?cursorrules|"
    r"instructions?|(?:the )?future|later|next time)"
)
_POINTS_BACK: Final = re.compile(
    rf"{_LEAD}(?:record|save|store|remember|note|add|keep|treat|take|make|put|write|set|document|persist|"
    r"log)\s+(?:this|that|it)(?: down)?(?: (?:fact|decision|rule|preference))?\b\s*(?:as|to|in|into|for|under|on|"
    rf"as part of)?\s*{_KEPT_IN}\b"
    rf"|{_LEAD}(?:always )?(?:remember|memori[sz]e|don'?t forget|never forget|note) (?:this|that|it)(?: down)?"
    rf"(?:,? (?:please|pls|always|{LATER}))*\W*$"
    rf"|{_LEAD}(?:and |so )?keep (?:this|that|it) in mind\b|{_LEAD}make a (?:\w+ )?(?:note|rule) (?:of|about|"
    rf"out of|for) (?:this|that|it)\b|{_LEAD}(?:this|that) (?:is|should be|becomes) a (?:\w+ )?rule\b",
    re.IGNORECASE,
)
_STATEMENT: Final = r"(?:that (?!time\b|day\b|one\b|when\b|thing\b)|(?=(?:we|i|all|every|each|in (?:this|our) project|this (?:project|repo))\b))"
_POLITE: Final = r"(?:,? (?:please|pls))?"
_SAYS: Final = re.compile(
    rf"{_LEAD}(?:always )?(?:remember|memori[sz]e|don'?t forget|do not forget|bear in mind|keep in mind|make a (?:mental )?note|"
    r"for future reference|(?<=\byou )note(?: down)?|(?<=\byou please )note(?: down)?|"
    rf"note for (?:the future|later|yourself|next time)){_POLITE}[,:]?\s+{_STATEMENT}(?P<said>.+)"
    rf"|^.{{0,20}}?\b(?:remember(?: this| the following)?{_POLITE}|note to self)\s*:\s*(?P<noted>.+)"
    r"|^.{0,10}?\bfor future reference\s*[:,]\s*(?P<kept>.+)",
    re.IGNORECASE,
)
_RULED: Final = re.compile(
    rf"{_LEAD}(?:(?:add|write|put|append|save|record) (?:it |this |that )?(?:to|in|into|as) {_KEPT_IN}|"
    rf"(?:add|create|make|record|set up|write|save) (?:a |another |one )?{_KEPT_IN}(?: (?:to|in) {_KEPT_IN})?|"
    r"(?:new |global |general |standing |project )rule|rule of thumb)"
    r"(?:\s+that says|\s+saying|\s+stating)?(?:\s*[:,–—-]\s*|\s+(?:that|to)\s+)(?P<ruled>.+)",
    re.IGNORECASE,
)
_REMEMBER_TO: Final = re.compile(
    rf"{_LEAD}(?:remember|don'?t forget) to (?P<said>.+\b(?:always|every|each|whenever)\b.+)",
    re.IGNORECASE,
)
_REMINDS: Final = re.compile(
    r"\bi (?:(?:want to|have to|must|need to) )?remind you (?:again )?(?:that |of |about )?(?:the |our |"
    r"my )?(?:main |general |global |standing )?(?:(?:rule|directive|instruction|convention)s?(?:,| that| to| is|"
    r" is that)? )?(?P<said>.+)"
    r"|\bi(?:'ve| have)? (?=(?:\w+ ){0,4}(?:already|before|earlier|repeatedly|times|again)\b)(?:already |"
    r"repeatedly )?(?:told|asked|instructed) you (?:already |before |earlier |again |repeatedly |many times |"
    r"several times |multiple times )?(?:that )?(?P<told>(?:not to|to|we|our|all|never|always)\b.+)"
    r"|^(?:as|like) i(?:'ve| have)? (?:already )?(?:said|told you|mentioned|"
    r"explained)(?: \w+){0,2}[,:]\s*(?P<again>(?:we|our|all|every|never|always|you|i)\b.+)",
    re.IGNORECASE,
)
"""The user who reminds of an order wants it to last."""
_ORDERS: Final = re.compile(
    r"^(?:always|never|don'?t|do not|use|run|make|keep|write|put|ask|check|avoid|only|commit|add)\b", re.IGNORECASE
)
_IS_PLACE: Final = re.compile(PLACE, re.IGNORECASE)
_LEAST_WORDS: Final = 3
_CONFIDENCE: Final = 0.9
RULE: Final = "ordered to remember"


def find_explicit_order(sentence: str) -> Verdict | None:
    """Return what a sentence orders to remember, if it does."""
    said = _find_content(sentence)
    if said is not None and (verdict := _judge_content(said)) is not None:
        return verdict
    if not _POINTS_BACK.search(sentence):
        return None
    return Verdict(
        category=Category.CONVENTION,
        rule=RULE,
        text=sentence,
        confidence=_CONFIDENCE,
        refers_back=True,
    )


def find_announcement(sentence: str) -> str | None:
    """Return the words before what is to be remembered, also if that is about the work at hand.

    >>> find_announcement("Please remember that you should ignore this warning.")
    'Please remember that '
    """
    said = _find_content(sentence)
    return None if said is None or said.lastgroup is None else sentence[: said.start(said.lastgroup)]


def _find_content(sentence: str) -> re.Match[str] | None:
    return (
        _RULED.search(sentence) or _SAYS.search(sentence) or _REMEMBER_TO.search(sentence) or _REMINDS.search(sentence)
    )


def _judge_content(said: re.Match[str]) -> Verdict | None:
    groups = {name: text for name, text in said.groupdict().items() if text}
    text = next(iter(groups.values()))
    if len(text.split()) < _LEAST_WORDS or is_about_work_at_hand(text) or ("again" in groups and is_complaint(text)):
        return None
    if "said" in groups and _IS_PLACE.fullmatch(text):
        return None
    if "ruled" in groups and _ORDERS.match(text):
        category = Category.DIRECTIVE
    elif groups.keys() & {"ruled", "told"} or _ORDERS.match(text):
        category = Category.CONVENTION
    else:
        category = Category.FACT
    return Verdict(category=category, rule=RULE, text=text, confidence=_CONFIDENCE)
