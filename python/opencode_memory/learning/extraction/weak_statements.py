"""Weak statements: declarative sentences of the user without a sign that they are lasting.

One of them is stored only if the user says it in three sessions, or if it changes an active memory about the same
subject, for example "the staging port is 8090". Otherwise its hash is counted and its words are forgotten. A complaint
or a sentence about the work at hand is a remark. It is stored only if it is near to an earlier statement of the user,
and its hash is not counted.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from opencode_memory.learning.extraction.authored_text import QUOTE
from opencode_memory.learning.extraction.candidate import LONGEST_CONTENT, LONGEST_EVIDENCE, Candidate, shorten
from opencode_memory.learning.extraction.clauses import cut_task
from opencode_memory.learning.extraction.exclusions import is_hypothetical_or_reported, is_sarcasm
from opencode_memory.learning.extraction.gate.wording import word
from opencode_memory.learning.extraction.gate.work_at_hand import is_about_work_at_hand, is_complaint, is_hypothesis
from opencode_memory.learning.extraction.sentences import Sentence
from opencode_memory.learning.extraction.subjects import normalise_statement
from opencode_memory.models import Category

LONGEST_MESSAGE: Final = 700
MOST_PER_MESSAGE: Final = 4
OTHER_SESSIONS: Final = 2
"""Number of other sessions in which the user must have said the same."""
RULE: Final = "said again"
_LEAST_WORDS: Final = 3
_LEAST_WORDS_OF_REPETITION: Final = 6
_MOST_WORDS: Final = 40
_ORDER: Final = re.compile(
    r"^(?:always|never|don'?t|do not|use|keep|make sure|avoid|prefer|commit|run|write|please)\b|\b(?:should|must)\b",
    re.IGNORECASE,
)
_PATH: Final = re.compile(r"(?:^|\s)@?(?:[~.]?/|[A-Za-z]:\\)[\w.-]+[/\\]|@\S+/")
"""Path of a file: a sentence with one belongs to the prompt of a task, which a tool repeats in each session."""
_NO_COMPLAINT: Final = re.compile(
    r"\b(?:is|are|be) kept\b|\b(?:was|were) (?:moved|changed|postponed|renamed|replaced|switched|extended|pushed|"
    r"shifted|upgraded"
    r"|bumped|migrated|delayed|dropped)\b",
    re.IGNORECASE,
)
"""Words of a complaint that also say where something is, or that it changed."""
_ABOUT_THE_TALK: Final = re.compile(
    r"^(?:(?:you|u)\b(?! (?:should|must|may|(?:no longer )?(?:need|have) to|can|do(?:n'?t| not) (?:need|have) to)\b)"
    r"(?!'re free| are free| needn'?t)|i(?:'ve| have| just)? (?:see|saw|got|get|tried|"
    r"ran|did|asked|noticed|added|pushed|opened)\b)",
    re.IGNORECASE,
)
"""Beginning of a sentence about what the agent or the user has just done."""
_DEFECT: Final = re.compile(
    r"\b(?:still|broken|bugs?|buggy|fail(?:s|ed|ing)?|errors?|wrong|stuck|hangs?|weird|strange|"
    r"(?:does|is)(?:n'?t| not) (?:work|working|right))\b",
    re.IGNORECASE,
)
"""Words of a complaint that say nothing about what holds."""
_CORRECTS: Final = re.compile(
    r"^(?:no+,? )?(?:(?:(?:that|this|it|you|your (?:memory|answer|note)|(?:that|this|the) (?:memory|note))"
    r"(?:['’]s|['’]re| is| are) )?(?:simply |just |totally |also )?(?:wrong|incorrect|outdated|out of date|not (?:right|correct|"
    r"true|quite(?: right)?)|no longer (?:right|correct|true)))\s*[,:;–—-]+\s*(?=\w)",
    re.IGNORECASE,
)
"""What stands before a fact that corrects the agent: "that's wrong: the port is 8090"."""
_WISH: Final = re.compile(r"\b(?:i|we)(?:'d| would)? (?:prefer|like|want|hate|love|rather)\b", re.IGNORECASE)


def find_weak_statements(message: str, sentences: Sequence[Sentence]) -> tuple[Candidate, ...]:
    """Return the weak statements and the remarks among the sentences in which no other rule has found a statement.

    A message of many sentences is not counted: its sentences recur with it, as in the prompt of a tool.
    """
    if len(message) > LONGEST_MESSAGE:
        return ()
    is_single = len(sentences) <= MOST_PER_MESSAGE
    plain, remarks = [], []
    for sentence in sentences:
        if is_hypothetical_or_reported(sentence) or is_sarcasm(sentence):
            continue
        cut = _cut_task(_cut_opening(sentence))
        if _is_plain(cut):
            plain.append(_make_candidate(cut, is_single=is_single))
        elif _is_remark(sentence):
            remarks.append(_make_remark(sentence))
    return tuple(candidate for candidate in (*plain, *remarks) if candidate is not None)[:MOST_PER_MESSAGE]


def _cut_opening(sentence: Sentence) -> Sentence:
    """Leave out the words by which a statement corrects the agent, which would make it a complaint."""
    said = _CORRECTS.sub("", sentence.core)
    return sentence if said == sentence.core else replace(sentence, core=said)


def _cut_task(sentence: Sentence) -> Sentence:
    """Leave out the task behind a statement, which would make the statement a question or an order."""
    said = cut_task(sentence.core)
    return sentence if said == sentence.core else replace(sentence, core=said, is_question=False)


def _is_plain(sentence: Sentence) -> bool:
    words = len(sentence.core.split())
    if sentence.is_question or not _LEAST_WORDS <= words <= _MOST_WORDS or QUOTE in sentence.text:
        return False
    if _ABOUT_THE_TALK.match(sentence.core):
        return False
    said = _NO_COMPLAINT.sub("", sentence.core)
    return not (is_hypothesis(said) or is_complaint(said) or is_about_work_at_hand(sentence.core))


def _is_remark(sentence: Sentence) -> bool:
    if sentence.is_question or len(sentence.core.split()) > _MOST_WORDS or QUOTE in sentence.text:
        return False
    return not (_ABOUT_THE_TALK.match(sentence.core) or is_hypothesis(sentence.core) or _DEFECT.search(sentence.core))


def _make_remark(sentence: Sentence) -> Candidate | None:
    made = _make_candidate(sentence, is_single=False)
    return None if made is None else replace(made, category=Category.FACT, needs_subject=False, is_remark=True)


def _make_candidate(sentence: Sentence, *, is_single: bool) -> Candidate | None:
    said = word(sentence.core, "")
    if said is None:
        return None
    counts = is_single and len(said.split()) >= _LEAST_WORDS_OF_REPETITION and not _PATH.search(said)
    category = (
        Category.CONVENTION if _ORDER.search(said) else Category.PREFERENCE if _WISH.search(said) else Category.FACT
    )
    return Candidate(
        category=category,
        content=shorten(said, LONGEST_CONTENT),
        confidence=0.5,
        rule=RULE,
        evidence=shorten(sentence.text, LONGEST_EVIDENCE),
        normal_form=normalise_statement(category, said) if counts else None,
        is_persons=True,
        needs_sessions=OTHER_SESSIONS if counts else 0,
        needs_subject=True,
    )
