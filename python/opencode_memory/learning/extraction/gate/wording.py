"""Wording: completes and cuts a statement, so that it stands alone without its conversation."""

from __future__ import annotations

import re
from typing import Final

from opencode_memory.learning.extraction.gate.work_at_hand import is_about_work_at_hand

_OPENING: Final = re.compile(
    r"^(?:(?:no+(?=\s*[,.:;!–—-]|\s+(?:no|we|i|you|please|pls|don'?t|do not|use|never|always|that)\b)|nope|nah|"
    r"yes|yeah|yep|ok(?:ay)?|so|and|but|or|well|oh|ah|hm+|right|good|nice|great|cool|perfect|thanks|thank you|"
    r"alright|sure|sorry|"
    r"please|pls|plz|also|then|anyway|anw|btw|by the way|fyi|actually|basically|honestly|again|now|wait|"
    r"stop(?=\s*[,.:;!–—-])|look|hey|hi|correction|coz|cos|cuz|because|since|"
    r"i(?:'ve)? changed my mind(?! (?:about|on|regarding|concerning)\b)|on second thought|change of plans?|as (?:i )?(?:said|mentioned)(?: before|"
    r" earlier)?|like i said|i (?:have |already )?said (?:earlier |before )?(?:that)?|"
    r"i remind you (?:that|of)?|it(?:'s| is) (?:very |really )?(?:important|essential|crucial) (?:that you|"
    r"that we|that|to)|"
    r"(?:just )?(?:a )?(?:quick |friendly )?reminder(?: that)?|to be clear|for the record|for context|"
    r"first of all|in addition|additionally|finally|lastly|important|note|"
    r"keep in mind|bear in mind|remember|that said|however|make sure|be sure|tho|though|damn\w*|lol|assuming so|"
    r"one (?:more )?thing|general rule|global rule|new rule|rule|"
    r"can you|could you|would you|will you)\b(?!-)(?: please)?[\s,:;.!–—-]*)+",
    re.IGNORECASE,
)
_MAKE_SURE: Final = re.compile(r"^(?:make|be) sure (?:to|that you|you|that we|we|that)?\s*(?=\S)", re.IGNORECASE)
_NOT_TO: Final = re.compile(r"^(?:and )?not to (?=\w)", re.IGNORECASE)
_YOU: Final = re.compile(
    r"^(?:(?:that )?(?:you|u) (?:should|must|need to|have to|can|will|shall|are to)|(?:i|we)(?:'d like|"
    r" would like| want| need| expect) (?:you|u) to) (?=(?:always|never)\b)|^to (?=\w)",
    re.IGNORECASE,
)
_WHEN_CAN: Final = re.compile(
    r"^((?:when(?:ever)?|every ?time|each time|any ?time|before|after|if) (?:you|"
    r"we)\b[^,]{2,80},) (?:then )?(?:please )?(?:(?:can|could|would|will) you|i(?:'d like|"
    r" want) you to) (?:please )?",
    re.IGNORECASE,
)
_REQUEST_AFTER: Final = re.compile(
    r"\s*[,;.(–—-]?\s*\b(?:so |and |but |then |now )*(?:how about|what about|(?<!when )(?:can|could|would|"
    r"will) (?:you|u)|(?:can|could) we|do you|what do you think|let me know|ok\?|okay\?|right\?|yeah\?|"
    r"alright\?).*$"
    r"|\s*(?:[,;.(–—-]\s*(?:so |and |but |then |now )*|\b(?:so|and|then) )(?:please|pls) (?!always|never|do not|"
    r"don't)\w+.*$",
    re.IGNORECASE | re.DOTALL,
)
_ENDING: Final = re.compile(
    # Not the predicate: "force push is ok".
    r"(?<!\bis)(?<!\bare)(?<!'s)(?<!\bbe)(?<!\bwas)(?<!\bnot)(?:[,\s]+(?:please|pls|plz|thanks|thank you|thx|tho|though|lol|haha|btw|by the way|fyi|ok|okay|right|alright|got it|"
    r"instead please|:\)|;\)|for me))+\s*(?=[.!?]*$)",
    re.IGNORECASE,
)
_REMEMBER: Final = re.compile(
    r"\s*[,;.–—-]\s*(?:and |so |please )*(?:remember|don'?t forget|note) (?:that|this)\W*$", re.IGNORECASE
)
_REFERS: Final = re.compile(
    r"^(?:it|it's|its|they|they're|this|that|that's|these|those|both|same|otherwise|which|him|her|he|she|"
    r"the (?:latter|former|same))\b(?! (?:project|repo|repository|codebase|app|means we)\b)",
    re.IGNORECASE,
)
_POINTS: Final = re.compile(
    r"(?<!call )\b(?:it(?! is(?: then)?\W*$)|them|they|this|these|those|here|there|the (?:latter|"
    r"former))\b(?! (?:project|repo|repository|codebase|app|application|is (?:no|a|an)|are)\b)|"
    r"\b(?:do|did|doing|like|of|with|for|about|to|in|on|at|than|be|not|using|use|want|need|such|merge|commit|run|"
    r"call|over|by|from) that\b(?! (?:we|you|i|it|the|a|an|they|our|all|every|each|is|are|when|no)\b)",
    re.IGNORECASE,
)
_NOUN_BEFORE: Final = re.compile(r"[`A-Z./_\d]|\b(?:the|a|an|our|my|your|any|all|every|each|new)\s+\w+|\w+s\b")
_IDENTIFIER: Final = re.compile(r"\w[._/]\w|[a-z][A-Z]|`")
_ADVERB: Final = re.compile(r"^(?:always|never)\s*", re.IGNORECASE)
_LONGEST_CONTEXT: Final = 200
_LEAST_CONTEXT_WORDS: Final = 3
_LEAST_WORDS: Final = 3
_LEAST_WORDS_ALONE: Final = 12


def word(text: str, before: str, *, is_certain: bool = False) -> str | None:
    """Return a statement in words that stand alone; None if it refers to something that is not known.

    Args:
        text: The part of a sentence that states something.
        before: The sentence before it in the message; empty if there is none.
        is_certain: Whether it is kept even if something that it refers to is not known, if it is long enough.
    """
    said = _trim(text)
    if len(said.split()) < _LEAST_WORDS:
        return None
    if refers_back(said):
        context = _trim(before)
        if not _is_context(context, before):
            return _finish(said) if is_certain and len(said.split()) >= _LEAST_WORDS_ALONE else None
        return f"{_finish(context)} {_finish(said)}"
    return _finish(said)


def refers_back(text: str) -> bool:
    """Return whether a statement refers to something outside of it, for example "never do that again"."""
    if _REFERS.match(text):
        return True
    pointer = _POINTS.search(text)
    if pointer is None:
        return False
    # "Read the plan before you change it": the noun stands before the pronoun.
    return not _NOUN_BEFORE.search(_ADVERB.sub("", text[: pointer.start()])[1:])


def _is_context(context: str, before: str) -> bool:
    return (
        len(context.split()) >= _LEAST_CONTEXT_WORDS
        and len(context) <= _LONGEST_CONTEXT
        and not before.rstrip().endswith("?")
        and not refers_back(context)
        and not is_about_work_at_hand(context)
    )


def _trim(text: str) -> str:
    said = _OPENING.sub("", " ".join(text.split())).strip()
    said = _MAKE_SURE.sub("", said)
    said = _NOT_TO.sub("do not ", said)
    said = _YOU.sub("", said)
    said = _WHEN_CAN.sub(r"\1 ", said)
    said = _REMEMBER.sub("", said)
    said = _REQUEST_AFTER.sub("", said) if not _REQUEST_AFTER.match(said) else said
    return _ENDING.sub("", said).strip(" ,;:–—-(")


def _finish(text: str) -> str:
    text = text.rstrip("?")
    is_open = text[-1:].isalnum() or text[-1:] in "`)\"'"
    first = text.split(None, 1)[0]
    # The name of a file or a function keeps its spelling.
    begun = text if _IDENTIFIER.search(first) else f"{text[:1].upper()}{text[1:]}"
    return f"{begun}." if is_open else begun
