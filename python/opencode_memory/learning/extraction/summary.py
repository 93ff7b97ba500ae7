"""Summary of a session in a few lines: goal, outcome, files, commands and open problems."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from opencode_memory.learning.extraction.candidate import LONGEST_EVIDENCE, Candidate, shorten
from opencode_memory.learning.extraction.forks import find_own_work
from opencode_memory.learning.extraction.session_state import SessionState
from opencode_memory.models import Category
from opencode_memory.text.emails import mask_emails

_MOST_FILES: Final = 8
_MOST_COMMANDS: Final = 5
_LINE: Final = 200
_GOAL: Final = 300
_LEAST_WORDS: Final = 3
_MOST_READ: Final = 1500
_MOST_SENTENCES: Final = 2
_REPORTS: Final = re.compile(
    r"\b(?:added|fixed|updated|created|implemented|removed|moved|renamed|replaced|refactored|changed|extracted|wrote|rewrote|configured|migrated|restored|cleaned|"
    r"committed|pushed|released|installed|deleted|merged|(?:all )?(?:\w+ )?tests? pass|(?:is|are) [\w-]+ now|is (?:now|fixed|done|complete|hidden|gone)|are (?:now|fixed|done|complete)|now \w+s)\b",
    re.IGNORECASE,
)
_ANNOUNCES: Final = re.compile(
    r"\b(?:let me|let's|i'll|i will|i'm going to|going to|next,?|should|would|could|want me to|you're welcome|your changes)\b|[?:]$",
    re.IGNORECASE,
)
_MARKUP: Final = re.compile(
    r"^\s*(?:#{1,6}\s+|[-*•+]\s+|\d{1,2}[.)]\s+|>\s+)|\*\*|[^\w\s.,;:!?()`'\"/<>=+&%$@#{}\[\]|~^*\\–—’-]+"
)
_COURTESY: Final = re.compile(
    r"^(?:(?:perfect|great|excellent|done|good catch|fixed|awesome|success|all (?:done|set|good)|got it|nice|yes|ok(?:ay)?|sure|you're (?:right|welcome))[^.!]{0,24}[.!]+\s*)+",
    re.IGNORECASE,
)
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s+(?=[A-Z`])")
_RESUMES: Final = re.compile(
    r"(?:(?:hi|hello|hey|good (?:morning|afternoon|evening|day)|morning|ok(?:ay)?|so|there|again|please|let'?s)[\s,.!]+)*"
    r"(?:(?:where|what) (?:did|were|was|are) (?:we|i) (?:stop|leave|left|do|doing|at\b|working|up to)"
    r"|(?:continue|go on|carry on|pick up) (?:from )?(?:where|with what) (?:we|i) (?:stopped|left|were))[^.?!]{0,60}[.?!\s]*",
    re.IGNORECASE,
)
"""A message that asks for the session before, and has no goal of its own."""
_COMPLAINS: Final = re.compile(
    r"\b\w*(?:Error|Exception|Warning)\b(?:\(\w+\))?:|^\s*(?:error|warning|fatal|traceback|npm err!|info|debug)\b|\bat \S+:\d+|^\s*\[?\d{4}-\d\d-\d\d|^\s*[$>❯#|]|^\s*#{1,6}\s",
    re.IGNORECASE,
)


def describe_goal(text: str) -> str:
    """Return the request in the user's own words; empty if the text is only a pasted error, or says too little.

    >>> describe_goal("Add a retry to the export job.")
    'Add a retry to the export job.'
    >>> describe_goal("Good morning, where did we stop on Friday?")
    ''
    """
    lines = [line for line in text.split("\n") if line.strip() and not _COMPLAINS.search(line)]
    goal = shorten(" ".join(lines), _GOAL)
    return "" if len(goal.split()) < _LEAST_WORDS or _RESUMES.fullmatch(goal) else goal


def describe_outcome(answer: str) -> str:
    """Return the sentences of an answer that report work; empty if it only announces work or is a courtesy."""
    if not _REPORTS.search(answer, 0, _MOST_READ):
        return ""
    reports = [sentence for sentence in _iterate_sentences(answer[:_MOST_READ]) if _is_report(sentence)]
    return shorten(" ".join(reports[:_MOST_SENTENCES]), _GOAL)


def _iterate_sentences(text: str) -> Iterator[str]:
    is_code = False
    for line in text.split("\n"):
        if line.lstrip().startswith(("```", "~~~")):
            is_code = not is_code
        elif not is_code and not line.lstrip().startswith(("|", "<")):
            plain = _COURTESY.sub("", _MARKUP.sub("", line).strip())
            yield from (sentence.strip() for sentence in _SENTENCE_END.split(plain))


def _is_report(sentence: str) -> bool:
    return (
        len(sentence.split()) >= _LEAST_WORDS
        and not sentence[0].islower()
        and _REPORTS.search(sentence) is not None
        and _ANNOUNCES.search(sentence) is None
    )


def summarize_session(session: str, state: SessionState) -> Candidate | None:
    """Return the summary of a session; None if no file was edited and no relevant command was run.

    The summary of a fork tells what it did itself, because that of its original tells the rest.
    """
    own = find_own_work(state)
    if not (state.goal or own.outcome) or not (own.files or own.passed or own.has_failed):
        return None
    lines = []
    if state.goal:
        lines.append(f"Goal: {state.goal}")
    if own.outcome:
        lines.append(f"Outcome: {own.outcome}")
    if own.files:
        more = len(own.files) - _MOST_FILES
        lines.append(f"Files: {', '.join(own.files[:_MOST_FILES])}{f' and {more} more' if more > 0 else ''}")
    if own.passed:
        lines.append("Commands: " + ", ".join(f"`{shorten(key, 100)}`" for key in own.passed[-_MOST_COMMANDS:]))
    if state.failures:
        failing = [
            f"`{shorten(failure.command, 100)}` fails{_because(failure.complaints)}"
            for _, failure in state.failures[-2:]
        ]
        lines.append(f"Open: {'; '.join(failing)}")
    return Candidate(
        category=Category.CONVERSATION,
        content=mask_emails("\n".join(shorten(line, 2 * _LINE) for line in lines)),
        confidence=1.0,
        rule="summary of a session",
        evidence=mask_emails(shorten(state.goal or own.outcome, LONGEST_EVIDENCE)),
        topic=f"session:{session}",
    )


def _because(complaints: tuple[str, ...]) -> str:
    return f": {shorten(complaints[-1], _LINE)}" if complaints else ""
