"""Choices: finds the option that the user picked from an agent's offer. The text of the choice is in the offer."""

from __future__ import annotations

import re
from typing import Final

from opencode_memory.learning.extraction.candidate import LONGEST_CONTENT, LONGEST_EVIDENCE, Candidate, shorten
from opencode_memory.learning.extraction.gate.language import is_english
from opencode_memory.learning.extraction.subjects import normalise_statement
from opencode_memory.models import Category

_PICKS: Final = re.compile(
    r"^\s*(?:ok(?:ay)?|yes|yeah|hm+|alright|sure|then|so|good|great|cool|fine)?[,.! ]*(?:let'?s |we'?ll |i'?d |"
    r"i would |i'?ll )?"
    r"(?:go (?:with|for)|do|take|pick|choose|use|prefer|went with|say|make it)?\s*(?:the )?"
    r"(?:(?P<word>option|variant|approach|alternative|number|no\.|nr\.?|plan|solution|#)\s*)?"
    r"(?:(?P<mark>[1-9]|[a-dA-D])(?P<end>[.),:;! ]|$)|(?P<place>first|second|third|fourth|last)\b(?: one\b)?)",
    re.IGNORECASE,
)
_OFFERED: Final = re.compile(
    r"^[ \t]*(?:#{1,4} |[-*][ \t]*)?(?:\*\*)?(?:option |variant |approach |alternative )?\(?(?P<mark>[1-9]|"
    r"[a-dA-D])[.):]\**:?[ \t]+(?P<text>\S.*)$",
    re.IGNORECASE | re.MULTILINE,
)
_ASKS_TO_CHOOSE: Final = re.compile(
    r"\b(?:which (?:one|option|approach|of)|options?|alternatives?|approach(?:es)?|prefer|choose|pick)\b|\bor\b.*\?",
    re.IGNORECASE,
)
_TASK: Final = re.compile(
    r"^[`*\"'✅\s]*(?:run|fix|continue|test|implement|create|add|review|show|check|update|commit|push|start|stop|"
    r"try|verify|write|look|debug|proceed|investigate|deploy|clean|skip|do|open|explain|help|"
    r"restart|install|remove|delete|move|build|generate|finish|merge|revert|wait|leave|phase|step|manual(?:ly)?|"
    r"quick|set up|go to|click|are|is|do|does|should|would|can|what|how|which|where|when|who|why)\b",
    re.IGNORECASE,
)
_PLACES: Final = {"first": 0, "second": 1, "third": 2, "fourth": 3, "last": -1}
_NUMBERED_LINE: Final = re.compile(r"^\s*\(?(?:\d|[a-dA-D])[.)]\s", re.MULTILINE)
_NUMBER: Final = re.compile(r"(?<![\w.])\d+(?![\w.])")
_POLITE_END: Final = re.compile(r"(?:^|,? +)(?:please|pls|thanks|thank you|thx)\W*$", re.IGNORECASE)
_RULE: Final = "picked an option"
_FEWEST: Final = 2
_MOST_WORDS: Final = 14
_LEAST_OPTION_WORDS: Final = 3
_OPTION_CHARS: Final = 240


def is_choice(candidate: Candidate) -> bool:
    """Return whether a candidate is a choice from an offer."""
    return candidate.rule == _RULE


def find_choice(message: str, offer: str) -> Candidate | None:
    """Return the option that the user chose by its number, as a candidate in the words of the offer.

    A message that answers several questions, or that says more than the choice, is no choice. An option that is a
    question or a task of the agent ("run the tests") is nothing that lasts.

    Args:
        message: Text that the user typed.
        offer: The preceding text of the agent.
    """
    message = message.strip()
    if "?" in message or len(message.split()) > _MOST_WORDS or len(_NUMBERED_LINE.findall(f"{message} ")) > 1:
        return None
    picked = _PICKS.match(message)
    if picked is None or len(_NUMBER.findall(message)) > 1:
        return None
    option = _find_option(picked, offer)
    plain = shorten(re.sub(r"\*\*|__", "", option), _OPTION_CHARS).rstrip(".: ")
    if len(plain.split()) < _LEAST_OPTION_WORDS or plain.endswith("?") or _TASK.match(plain) or not is_english(plain):
        return None
    rest = _POLITE_END.sub("", " ".join(message[picked.end() :].split()).lstrip(".,:;! "))
    return Candidate(
        category=Category.DECISION,
        content=shorten(f"Chosen: {plain}. {rest}".strip(), LONGEST_CONTENT),
        confidence=0.8,
        rule=_RULE,
        may_repeat=True,
        evidence=shorten(message, LONGEST_EVIDENCE),
        normal_form=normalise_statement(Category.DECISION, plain),
        is_persons=True,
    )


def _find_option(picked: re.Match[str], offer: str) -> str:
    """Return the text of the picked option; empty if it was not offered."""
    offered: dict[str, list[str]] = {}
    for match in _OFFERED.finditer(offer):
        offered.setdefault(match["mark"].lower(), []).append(match["text"].strip())
    if len(offered) < _FEWEST or not _ASKS_TO_CHOOSE.search(offer):
        return ""
    if any(len(texts) > 1 for texts in offered.values()):
        return ""  # Two numbered lists: it is not certain from which one the user chose.
    if picked["place"]:
        return list(offered.values())[min(_PLACES[picked["place"].lower()], len(offered) - 1)][0]
    # A single letter may be an ordinary word. A number at the beginning is a choice if that number was offered.
    if picked["mark"].isalpha() and not (picked["word"] or picked["end"] in {".", ")", ",", ":", "", "!"}):
        return ""
    return offered.get(picked["mark"].lower(), [""])[0]
