"""Agents' findings: statements about how a system behaves, with the cause or the limit that took work to find out.

Most sentences of an agent report its own work, or describe a bug that it fixes minutes later. Therefore a finding must
begin with the name of its subject, be in the present tense, and hold no word of a plan, a report or a guess. There are
two forms:

* a limit of a product or a command: "BSD sed does not know the word boundary";
* the cause of a named behaviour: "`help` skips the config because it runs before the setup hook".

Answers are long and findings are rare, so lines without a cue are skipped before any pattern is tried.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath
from typing import Final

from opencode_memory.learning.extraction.candidate import LONGEST_EVIDENCE, Candidate, shorten
from opencode_memory.learning.extraction.finding_words import NOT_A_FINDING, NOT_A_NAME, TALKS_ABOUT_A_BUG
from opencode_memory.learning.extraction.subjects import normalise_statement
from opencode_memory.models import Category
from opencode_memory.text.pasted import strip_private

MOST_PER_ANSWER: Final = 2
MOST_PER_SESSION: Final = 6
RULE: Final = "finding of the agent"
_CONFIDENCE: Final = 0.9
_WORD: Final = re.compile(r"[\w-]{3,}")
_LEAST_CHARS: Final = 40
_LEAST_WORDS: Final = 6
_MOST_WORDS: Final = 42
_LONGEST_LINE: Final = 2_000
_LONGEST_NAME: Final = 12
"""Longer names in camel case without a blank are classes of a project rather than products."""
_CUES: Final = (
    "because",
    "turns out",
    " since ",
    ", so ",
    " only ",
    "ejects ",
    "gnores ",
    "requires ",
    "valuates ",
    "encodes ",
    "strips ",
    "overrides ",
    "overwrites ",
    "partitions ",
    "refuses ",
    "treats ",
    "by default",
    "n't ",
    "not ",
    "never ",
    "deliberately",
)
"""Substrings of the lines that may hold a finding."""

_PRODUCT: Final = r"@?[A-Z][\w+#]*(?:[.-]\w+)*(?: [A-Z][\w+#]*(?:[.-]\w+)*){0,3}|[a-z]+(?:\.(?:js|py|rs|net|io))"
_SUBJECT: Final = re.compile(
    rf"^(?:(?:[Tt]he|[Aa]n?|[Oo]ur|[Aa]ll) )?(?:`(?P<code>[^`\n]{{2,60}})`|(?P<product>{_PRODUCT}))(?:['’]s)?(?: \([^()]{{1,60}}\))? "
)
_NOUN: Final = re.compile(
    r"(?!because\b|since\b|that\b|which\b|and\b|or\b|to\b|if\b|when\b|with\b|in\b|is\b|are\b|has\b)[A-Za-z][\w-]*(?: \([^()]{1,60}\))? "
)
_MOST_NOUNS: Final = 3
_LIMITS: Final = re.compile(
    r"^(?:genuinely |deliberately |silently |always |also |by default |\w+ly )*"
    r"(?:only (?:ever )?[a-z]+s?\b|(?:does not|doesn't|do not|don't|cannot|can't|won't|never) (?:\w+ly |deliberately )*(?!exist|have access|have a [\w ]+ set|find|know|match)[a-z]|"
    r"(?:isn't|aren't|is not|are not) (?:shown|exposed|supported|available|allowed|passed|sent|stored|loaded|persisted|committed)\b|"
    r"(?:simulates|emulates|mimics|wraps) .{3,60} but (?:does not|doesn't|cannot|can't)\b|"
    r"(?:is|are) (?:\w+ly )?(?:rejected|ignored|stripped|overridden|evaluated|re-encoded|cached|truncated|blocked|encrypted|required|exclusively|only)\b|"
    r"(?:rejects?|ignores?|strips?|drops?|evaluates?|re-?encodes?|overrides?|overwrites?|requires?|refuses?|treats?|rewrites?|caches|truncates?|"
    r"partitions?|escapes?|swallows?|discards?|rounds?|reloads?|merges) \S)"
)
_CAUSES: Final = re.compile(r"(?:^|[ (—–-])because (?!of this|of that)|, since |\bwhich is why\b|\bthat's why\b")
_ACTS: Final = re.compile(
    r"^(?:[a-z]+ly |also |always )*(?:is|are|has|have|never|only|does|doesn't|can't|won't|isn't|aren't|[a-z][a-z-]*[^s\W]s)\b"
)
_COMMAND: Final = re.compile(r"[a-z][a-z0-9-]*(?: [a-z-]+)*(?: -[\w-]+)*|--?[a-z][\w-]*|\\\w|[a-z]+(?:\.(?:js|py|rs))")
_MODULE: Final = re.compile(r"^[\w-]+\.[a-z]{2,}/\w|^@[\w-]+/\w")
_COMMAND_NOUN: Final = re.compile(r"(?:command|cli|events?|triggers?|hooks?|tool|flag|option|directive|package)\b")
_PROJECT_NOUN: Final = re.compile(
    r"\b(?:component|modal|dialog|record|route|handler|test|tests|page|button|row|file|files|endpoint|branch|table|column|class|function|method|count|plot|integration|pr|job|step|phase|plan|key|variable|variables|builder|instance|server|reports?)\b",
    re.IGNORECASE,
)
_LABEL: Final = re.compile(
    r"^(?:(?:the )?(?:root |actual |real |likely )?cause|key (?:insight|finding|difference)|findings?|important|note|caveat|gotcha|limitations?|why|reason)(?: found)?:\s+",
    re.IGNORECASE,
)
_OPENING: Final = re.compile(
    r"^(?:however|but|so|and|also|note(?: that)?|in fact|actually|importantly|thus|therefore|unfortunately|(?:it )?turns out(?: that)?)\b,?\s+",
    re.IGNORECASE,
)
_TURNS_OUT: Final = re.compile(
    r"\bturns out that (?!it\b|this\b|that\b|there\b|the (?:issue|problem|error)\b)", re.IGNORECASE
)
_CLAUSE: Final = re.compile(r"(?:\s*[;—–]\s*|\s+-\s+|,? because |,? since |, (?:but|so) |:\s+)")
_FENCE: Final = re.compile(r"^[ \t]*(`{3,}|~{3,})[^\n]*\n.*?(?:^[ \t]*\1[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
_TAGGED: Final = re.compile(r"<\s*([\w-]+)\b[^>\n]*>.*?<\s*/\s*\1\s*>", re.DOTALL)
_ITEM: Final = re.compile(r"^\s*(?:[-*•+]|\d{1,2}[.)])\s+")
_SENTENCE_END: Final = re.compile(r"(?<=[a-z0-9`)*\"'\]][.!?])[)\"'*\]]*\s+(?=[A-Z`\"'(*])")
_STRONG: Final = re.compile(r"\*{1,3}(?=\S)([^*\n]+?)(?<=\S)\*{1,3}")


def extract_from_agent(text: str, edited: Iterable[str] = ()) -> tuple[Candidate, ...]:
    """Return the findings that an agent's answer states, at most ``MOST_PER_ANSWER``.

    Args:
        text: The answer.
        edited: Files that the agent has edited in the session. Statements about their code are soon out of date.
    """
    found: dict[str, Candidate] = {}
    ours = _list_stems(edited)
    for raw in _iterate_sentences(text):
        finding = _select_finding(raw, text)
        if finding is not None and not _names_any(finding, ours):
            # Answers say the same of a subject twice: in the explanation, and in the summary below it.
            found.setdefault(_find_subject(finding), _make_finding(finding))
        if len(found) == MOST_PER_ANSWER:
            break
    return tuple(found.values())


def drop_outdated(pending: tuple[Candidate, ...], edited: Iterable[str]) -> tuple[Candidate, ...]:
    """Leave out the pending findings about files that the agent edits before the user's next message."""
    ours = _list_stems(edited)
    return tuple(
        candidate for candidate in pending if candidate.rule != RULE or not _names_any(candidate.content, ours)
    )


def _list_stems(files: Iterable[str]) -> frozenset[str]:
    return frozenset(PurePosixPath(name).stem for name in files)


def _names_any(text: str, stems: frozenset[str]) -> bool:
    return bool(stems) and not stems.isdisjoint(_WORD.findall(text))


def _iterate_sentences(text: str) -> Iterator[str]:
    if not any(cue in text for cue in _CUES):
        return
    if "```" in text or "~~~" in text:
        text = _FENCE.sub("", text)
    if "</" in text:
        text = _TAGGED.sub("", strip_private(text))
    for line in text.split("\n"):
        if not _LEAST_CHARS <= len(line) <= _LONGEST_LINE or line[0] in "#>|\t" or line.startswith("    "):
            continue
        if any(cue in line for cue in _CUES):
            yield from _SENTENCE_END.split(_ITEM.sub("", line))


def _select_finding(raw: str, answer: str) -> str | None:
    """Return the finding in a sentence, without its introduction; None if there is none."""
    if len(raw) < _LEAST_CHARS or not any(cue in raw for cue in _CUES):
        return None
    plain = _STRONG.sub(r"\1", raw)
    sentence = _OPENING.sub("", _LABEL.sub("", plain)).strip()
    if _TURNS_OUT.search(plain) and _is_stateable(sentence):
        return _finish(sentence)
    for clause in (sentence, *_iterate_clauses(sentence)):
        if _is_stateable(clause) and _explains(clause, answer):
            return _finish(clause)
    return None


def _iterate_clauses(sentence: str) -> Iterator[str]:
    parts = _CLAUSE.split(sentence)
    return iter(parts if len(parts) > 1 else ())


def _is_stateable(clause: str) -> bool:
    is_whole = clause.count("(") == clause.count(")") and clause.count("`") % 2 == 0
    return is_whole and _LEAST_WORDS <= len(clause.split()) <= _MOST_WORDS and NOT_A_FINDING.search(clause) is None


def _explains(clause: str, answer: str) -> bool:
    """Return whether a clause names its subject, and a limit or a cause of its behaviour."""
    match = _SUBJECT.match(clause)
    if match is None:
        return False
    if TALKS_ABOUT_A_BUG.search(clause):
        return False
    code, product = match["code"], match["product"]
    has_cause = _CAUSES.search(clause) is not None
    nouns, rest = "", clause[match.end() :]
    for _ in range(_MOST_NOUNS):
        is_limit = _LIMITS.match(rest) is not None
        if (has_cause and _ACTS.match(rest)) or is_limit:
            break
        noun = _NOUN.match(rest)
        if noun is None:
            return False
        nouns, rest = nouns + noun[0], rest[noun.end() :]
    else:
        return False
    if code is not None and _MODULE.search(code) is None:
        is_command = _COMMAND.fullmatch(code) is not None or _COMMAND_NOUN.match(nouns) is not None
        return has_cause or (is_command and is_limit and _PROJECT_NOUN.search(nouns) is None)
    return _PROJECT_NOUN.search(nouns) is None and (code is not None or _is_product(product, clause, answer))


def _is_product(name: str, clause: str, answer: str) -> bool:
    """Return whether a capitalised word is a proper name, and not the first word of a sentence or a class."""
    first = name.split(" ", maxsplit=1)[0]
    if (
        NOT_A_NAME.fullmatch(first)
        or name[1:2] == "-"
        or (" " not in name and len(name) > _LONGEST_NAME and "-" not in name)
    ):
        return False
    if " " in name or any(letter.isupper() or letter.isdigit() or letter == "." for letter in name[1:]):
        return True
    # A name is written with a capital elsewhere in the answer as well, inside of a sentence.
    return not clause.startswith(name) or re.search(rf"[a-z,(] {re.escape(name)}\b", answer) is not None


def _find_subject(finding: str) -> str:
    match = _SUBJECT.match(finding)
    return (match["code"] or match["product"]) if match is not None else finding


def _finish(sentence: str) -> str:
    sentence = sentence.strip(" ,;").rstrip(".")
    return f"{sentence[:1].upper()}{sentence[1:]}."


def _make_finding(sentence: str) -> Candidate:
    return Candidate(
        category=Category.FACT,
        content=sentence,
        confidence=_CONFIDENCE,
        rule=RULE,
        evidence=shorten(sentence, LONGEST_EVIDENCE),
        normal_form=normalise_statement(Category.FACT, sentence),
    )
