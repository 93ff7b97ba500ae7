"""Resolved blockers: finds the open blockers that a message reports as resolved."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from opencode_memory._core import terms
from opencode_memory.learning.extraction.authored_text import extract_authored_text
from opencode_memory.learning.extraction.candidate import LONGEST_EVIDENCE, Candidate, shorten
from opencode_memory.learning.extraction.sentences import split_sentences
from opencode_memory.models import Category

TOPIC: Final = "learned:blocker:"
_OVER: Final = re.compile(
    r"\b(?:unblocked|no longer (?:blocked|stuck|waiting)|not blocked (?:any ?more|anymore)|(?:is|are|was|were|got|been|'s|has been|have been|now|finally) "
    r"(?:\w+ )?(?:resolved|fixed|sorted(?: out)?|unlocked|restored|granted|approved|merged|released|renewed|lifted|cleared|signed|delivered|replaced|extended|issued|deployed|rolled out)|"
    r"(?:is|are|'s|came|comes|got) back(?: up| online)?|(?:is|are|'s) (?:up|available|reachable|working|in place|there|live|done|through|ready) (?:again|now)|came through|went through|arrived|"
    r"(?:finally |now |just )(?:got|have|received|came|landed|works?)|(?:got|gave|sent|received|have) (?:me |us )?(?:the|our|my|a) (?:\w+ )?(?:access|credentials?|key|keys|approval|license|token|certificate|permission|hardware|answer)|"
    r"freeze is over|(?:that|this|it)(?:'s| is) (?:sorted|resolved|done|no longer an issue))\b",
    re.IGNORECASE,
)
_NOT_YET: Final = re.compile(
    r"\b(?:not yet|until|once|when|as soon as|if|still|hopefully|should be|will be|waiting)\b", re.IGNORECASE
)
_SHARED: Final = 1
_EVERYDAY: Final = frozenset(
    [
        "block",
        "unblock",
        "wait",
        "until",
        "can",
        "resolv",
        "fix",
        "back",
        "up",
        "now",
        "work",
        "again",
        "access",
        "get",
        "got",
        "have",
        "us",
        "we",
        "it",
        "is",
        "be",
        "the",
        "still",
        "need",
        "chang",
        "team",
        "do",
        "done",
        "time",
        "yet",
        "final",
    ]
)


@dataclass(frozen=True, slots=True)
class OpenBlocker:
    """A learned blocker that is not resolved.

    Attributes:
        topic: Topic of the memory.
        content: Text of the memory.
    """

    topic: str
    content: str


def find_resolutions(text: str, open_blockers: Iterable[OpenBlocker]) -> tuple[Candidate, ...]:
    """Return a resolving candidate for each open blocker that a text reports as resolved."""
    waiting = list(open_blockers)
    if not waiting:
        return ()
    found = []
    for sentence in split_sentences(extract_authored_text(text).text):
        if sentence.is_question or not _OVER.search(sentence.text) or _NOT_YET.search(sentence.text):
            continue
        words = _extract_terms(sentence.text)
        for blocker in [blocker for blocker in waiting if len(words & _extract_terms(blocker.content)) >= _SHARED]:
            waiting.remove(blocker)
            found.append(_make_resolution(blocker, sentence.text))
    return tuple(found)


def _make_resolution(blocker: OpenBlocker, how: str) -> Candidate:
    return Candidate(
        category=Category.BLOCKER,
        content=f"{blocker.content.rstrip('. ')}. Resolved: {shorten(how, 300)}",
        confidence=0.85,
        rule="a blocker is over",
        evidence=shorten(how, LONGEST_EVIDENCE),
        topic=blocker.topic,
        tags=("resolved",),
        is_persons=True,
        may_repeat=True,
    )


def _extract_terms(text: str) -> frozenset[str]:
    prose, identifiers = terms(text)
    return frozenset((*prose, *identifiers)) - _EVERYDAY
