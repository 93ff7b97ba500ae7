"""Retractions: tells a remark that only takes an earlier statement back from a statement that begins like one.

"Wait, no" retracts. "Wait, no, never use npm" states a rule, and "remember that you should ignore this warning" is an
order to remember.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final

from opencode_memory.learning.extraction.gate.explicit_orders import find_announcement, find_explicit_order
from opencode_memory.learning.extraction.gate.judge import judge
from opencode_memory.learning.extraction.gate.wording import word
from opencode_memory.learning.extraction.sentences import Sentence
from opencode_memory.learning.extraction.taken_back import is_taken_back

_INTERJECTION: Final = re.compile(
    r"(?:(?:oh+|ah+|uh|hm+|sorry|ok(?:ay)?|actually|wait|hold on|nope|nah|"
    r"no+(?=\s*[,.:;!–—-]|\s+(?:wait|no|we|i|you|please|pls|don't|do not|use|never|always|from now)\b))"
    r"\b[\s,.:;!–—-]+|"
    r"(?P<own>on second thoughts?|my mistake|i was wrong|never ?mind|nvm|scratch (?:that|this|it)|i take (?:it|that) back)"
    r"\s*[,.:;!–—-][\s,.:;!–—-]*)+",
    re.IGNORECASE,
)
"""What stands before a statement. Only what the group ``own`` matches is about the user's own words."""
_ADDS: Final = re.compile(r"(?:let'?s )?(?:also|and|additionally|in addition)\b", re.IGNORECASE)
"""Beginning of a statement that is to hold beside the one before it."""


@dataclass(frozen=True, slots=True)
class Remark:
    """A sentence, read as a retraction.

    Attributes:
        statement: The sentence, its core without the interjection before it; None if the sentence only retracts.
        retracts_sentence: Whether it retracts the sentence before, if there is one in the message.
        retracts_message: Whether it retracts the message before. "Wait, no, never use npm" answers the agent.
    """

    statement: Sentence | None
    retracts_sentence: bool
    retracts_message: bool


def read_remark(sentence: Sentence) -> Remark:
    """Read a sentence as a retraction."""
    text = sentence.text.replace("’", "'")
    opening = _INTERJECTION.match(text)
    retracts = is_taken_back(sentence.text)
    if opening is None and not retracts:
        return Remark(sentence, retracts_sentence=False, retracts_message=False)
    announcement = find_announcement(text)
    if announcement is not None:
        return Remark(sentence, is_taken_back(announcement), retracts_message=False)
    if (ordered := find_explicit_order(text)) is not None and ordered.refers_back:
        return Remark(sentence, retracts_sentence=False, retracts_message=False)
    if opening is not None and _states(sentence, text[opening.end() :]):
        statement = replace(sentence, core=text[opening.end() :])
        if _ADDS.match(statement.core):
            return Remark(statement, retracts_sentence=False, retracts_message=False)
        return Remark(statement, is_taken_back(opening[0]), retracts_message=opening["own"] is not None)
    return Remark(None if retracts else sentence, retracts, retracts)


def _states(sentence: Sentence, rest: str) -> bool:
    """Return whether the rest of a sentence is a lasting statement that stands alone."""
    if sentence.is_question or is_taken_back(rest):
        return False
    verdict = judge(rest, rest, "")
    return verdict is not None and not verdict.refers_back and word(verdict.text, "") is not None
