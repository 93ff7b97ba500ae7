"""Section "Remember" of OpenCode's summaries: the request for it, and its parser.

The agent that compacts a session writes a summary anyway, so the section costs no request. Each of its lines quotes the
user. A quote that the user did not type in this session makes its line worthless, whatever the line says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from opencode_memory._core import redact
from opencode_memory.learning.extraction.candidate import Candidate
from opencode_memory.learning.extraction.injected_text import repeats
from opencode_memory.learning.extraction.provenance import stands_in
from opencode_memory.learning.extraction.session_state import SessionState
from opencode_memory.models import Category

MOST: Final = 6
KINDS: Final = (
    Category.DECISION,
    Category.PREFERENCE,
    Category.CONVENTION,
    Category.DIRECTIVE,
    Category.PROCEDURE,
    Category.FACT,
)
"""Kinds of statements that a line may have."""
REQUEST: Final = f"""\
After the last section of the structure, add one more section in exactly this form. It is the only section that may be
left out: leave it out if no statement belongs there.

## Remember
- kind: statement — "quote"

It has at most {MOST} lines: statements of the user that will still be valid in later sessions about other work.
- kind is one of {", ".join(KINDS)}. A directive is a standing order, with a word such as always or never.
- statement is one sentence that can be understood alone. It names its subject and resolves references.
- quote repeats the user's own words of this conversation exactly, in their language, four words or more.
Leave out orders for the work at hand, questions, and everything that only you or a tool said."""
"""Text that is added to the request for a summary."""

_LONGEST: Final = 400
_LEAST_WORDS: Final = 4
_HEADING: Final = re.compile(r"^#{1,6}\s+(?P<title>.+?)\s*#*\s*$", re.MULTILINE)
_LINE: Final = re.compile(
    r"""^\s{0,3}[-*]\s+\**(?P<kind>[a-z]+)\**:\**\s+
    (?P<text>\S.*?)\s+
    (?:—|–|--?)\s*
    ["“„«](?P<quote>[^\n]+?)["”“»]\.?\s*$""",
    re.VERBOSE | re.IGNORECASE,
)
_QUOTED: Final = re.compile(r"[\"“„«]([^\"“”„«»\n]{12,400})[\"”“»]")
_BULLET: Final = re.compile(r"^\s*[-*]\s+(?P<text>\S.*)$")
_OTHER: Final = frozenset({"important details", "blocked"})
_CONFIDENCE: Final = 0.8
_RULE: Final = "quoted in a summary"
_INSTRUCTIONS: Final = frozenset({Category.DIRECTIVE, Category.PROCEDURE})
_STANDING: Final = re.compile(
    r"\b(?:always|never|from now on|every ?time|each time|whenever|by default|in future|in the future|any ?more)\b",
    re.IGNORECASE,
)
"""Words of time that make the user's words a standing order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RememberLine:
    """A line of a summary that quotes the user.

    Attributes:
        kind: Category of the statement; None for a bullet of another section, which names no kind.
        text: The statement.
        quote: The words that the user is said to have typed.
    """

    kind: Category | None
    text: str
    quote: str


def extract_from_summary(summary: str, state: SessionState) -> tuple[Candidate, ...]:
    """Return the statements of a summary whose quotes the user typed in this session.

    Args:
        summary: The summary of the session.
        state: State of the session, with the hashes of what the user typed.

    Returns:
        Candidates without those that the rules have already found in the user's messages. An instruction counts as the
        user's only if the quote is a standing order. A bullet of OpenCode's own sections is a weak statement.
    """
    summary = redact(summary)[0]
    typed = frozenset(state.typed)
    lines = [*parse_section(summary), *parse_other_sections(summary)]
    grounded = [line for line in lines if stands_in(line.quote, typed) and not repeats(line.quote, state.proposed)]
    return tuple(_build_candidate(line) for line in grounded)


def _build_candidate(line: RememberLine) -> Candidate:
    return Candidate(
        category=line.kind or Category.FACT,
        content=line.text,
        confidence=_CONFIDENCE,
        rule=_RULE,
        evidence=line.quote,
        is_persons=line.kind not in _INSTRUCTIONS or bool(_STANDING.search(line.quote)),
        needs_subject=line.kind is None,
    )


def parse_section(summary: str) -> tuple[RememberLine, ...]:
    r"""Return the lines of the section, at most six; lines of another form are left out.

    >>> parse_section('## Remember\n- preference: Ann wants tabs. — "please always indent with tabs"')[0].text
    'Ann wants tabs.'
    """
    lines = (_parse_line(line) for title, body in _sections(summary) if title == "remember" for line in body)
    return tuple(line for line in lines if line is not None)[:MOST]


def parse_other_sections(summary: str) -> tuple[RememberLine, ...]:
    """Return the bullets with a quote in the sections "Important Details" and "Blocked" of OpenCode's own form."""
    found = []
    for title, body in _sections(summary):
        for line in body if title in _OTHER else ():
            bullet, quoted = _BULLET.match(line), _QUOTED.search(line)
            if bullet and quoted and len(bullet["text"]) <= _LONGEST and _has_words(quoted[1]):
                found.append(RememberLine(kind=None, text=bullet["text"].strip(), quote=quoted[1].strip()))
    return tuple(found)


def _sections(summary: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each section: its title in lower case, and the lines below it."""
    headings = list(_HEADING.finditer(summary))
    ends = [*(heading.start() for heading in headings[1:]), len(summary)][: len(headings)]
    for heading, end in zip(headings, ends, strict=True):
        yield heading["title"].strip(" :*").lower(), summary[heading.end() : end].splitlines()


def _parse_line(line: str) -> RememberLine | None:
    parsed = _LINE.match(line)
    if parsed is None or len(line) > 2 * _LONGEST:
        return None
    kind = parsed["kind"].lower()
    text, quote = parsed["text"].strip(' *"'), parsed["quote"].strip()
    if kind not in KINDS or len(text) > _LONGEST or not _has_words(quote) or not _has_words(text, least=3):
        return None
    return RememberLine(kind=Category(kind), text=text, quote=quote)


def _has_words(text: str, *, least: int = _LEAST_WORDS) -> bool:
    # Text in Chinese or Japanese has no spaces between its words.
    return len(text.split()) >= least or sum(ord(sign) > 0x2E7F for sign in text) >= 2 * least  # noqa: PLR2004
