"""From the items of an answer to candidates: quotes are found, texts are checked, and kinds are confirmed.

The functions are pure. An item with words that the user typed is the user's statement. A directive must be a
standing order in the user's own words; otherwise it becomes a convention.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from opencode_memory.learning.digest.answer import DigestAnswer, Item
from opencode_memory.learning.digest.grounding import find_objection, measure_share
from opencode_memory.learning.digest.quotes import Found, Speaker, find_quote, is_long_enough, split_quote
from opencode_memory.learning.digest.report import DroppedItem, DropReason
from opencode_memory.learning.digest.transcript import Transcript, clean_text
from opencode_memory.learning.extraction.candidate import LONGEST_EVIDENCE, Candidate, shorten
from opencode_memory.learning.extraction.injected_text import repeats
from opencode_memory.learning.extraction.provenance import stands_in
from opencode_memory.learning.extraction.scope import is_for_all_projects
from opencode_memory.learning.extraction.session_state import SessionState
from opencode_memory.learning.extraction.statements import Context, extract_from_user
from opencode_memory.learning.extraction.subjects import make_topic, normalise_statement
from opencode_memory.models import Category

RULE: Final = "digest"
CONFIDENCE: Final = 0.9
_SHOWN: Final = 120
_OWN_SHARE: Final = 0.34
"""Share of a text's words that the user used in the session; below, it is the agent's statement."""
_FINDINGS: Final = frozenset({Category.FACT, Category.SOLUTION, Category.BLOCKER, Category.PROCEDURE})
"""Kinds that an agent's words can prove."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A grounded item.

    Attributes:
        candidate: The candidate, with the quote as its evidence.
        quote: The whole quote.
        supersedes: Ids of the memories that it replaces.
    """

    candidate: Candidate
    quote: str
    supersedes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """Grounded items and dropped items of an answer."""

    statements: tuple[Statement, ...]
    dropped: tuple[DroppedItem, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Grounds:
    """What items are checked against.

    Attributes:
        transcript: What was sent.
        state: State of the session, with hashes of injected memories and of what tools returned.
        memories: Ids of the shown memories, by short id.
        contents: Texts of the shown memories, by short id.
        project: Name of the project; its name may stand in a text.
    """

    transcript: Transcript
    state: SessionState = field(default_factory=SessionState)
    memories: Mapping[str, str] = field(default_factory=dict)
    contents: Mapping[str, str] = field(default_factory=dict)
    project: str | None = None


def judge_items(answer: DigestAnswer, grounds: Grounds) -> Judged:
    """Check the items of an answer."""
    statements: list[Statement] = []
    dropped = list(answer.dropped)
    for item in answer.items:
        judged = _judge(item, grounds)
        if isinstance(judged, DropReason):
            dropped.append(DroppedItem(text=shorten(clean_text(item.text), _SHOWN), reason=judged))
        elif any(one.candidate.content == judged.candidate.content for one in statements):
            dropped.append(DroppedItem(text=shorten(judged.candidate.content, _SHOWN), reason=DropReason.DOUBLED))
        else:
            statements.append(judged)
        dropped += [
            DroppedItem(text=shorten(name, _SHOWN), reason=DropReason.UNKNOWN_ID)
            for name in item.supersedes
            if name not in grounds.memories
        ]
    return Judged(statements=tuple(statements), dropped=tuple(dropped))


def _judge(item: Item, grounds: Grounds) -> Statement | DropReason:
    item = replace(item, text=clean_text(item.text), quote=clean_text(item.quote))
    parts = split_quote(item.quote)
    if not is_long_enough(parts):
        return DropReason.SHORT_QUOTE
    found = find_quote(grounds.transcript, parts, item.message, frozenset(grounds.state.foreign))
    if found is None:
        return DropReason.QUOTE
    if found.speaker is Speaker.AGENT and item.kind not in _FINDINGS:
        return DropReason.NOT_PERSONS
    if not item.supersedes and repeats(item.quote, grounds.state.injected):
        return DropReason.INJECTED
    superseded = [grounds.contents[name] for name in item.supersedes if name in grounds.contents]
    source = "\n".join([found.source, *superseded, grounds.project or ""])
    if (reason := find_objection(item.text, item.quote, source, grounds.transcript.text)) is not None:
        return reason
    if found.is_question and not measure_share(item.text, f"{item.quote}\n{found.turn.person}"):
        return DropReason.UNSUPPORTED
    return Statement(
        candidate=_make_candidate(item, found, grounds),
        quote=item.quote,
        supersedes=tuple(grounds.memories[name] for name in item.supersedes if name in grounds.memories),
    )


def _make_candidate(item: Item, found: Found, grounds: Grounds) -> Candidate:
    said_by_person = found.speaker is Speaker.PERSON
    # "Yes, do that" makes no words of the agent the user's own.
    own_share = measure_share(item.text, "\n".join(turn.person for turn in grounds.transcript.turns))
    is_persons = said_by_person and found.is_typed and own_share >= _OWN_SHARE
    ruled = extract_from_user(item.quote, Context()) if is_persons else ()
    kind = _confirm_kind(item.kind, ruled) if is_persons else item.kind
    of_rules = next((candidate for candidate in ruled if not candidate.is_weak), None)
    normal_form = normalise_statement(kind, item.text)
    return Candidate(
        category=kind,
        content=item.text,
        confidence=CONFIDENCE,
        rule=RULE,
        evidence=shorten(item.quote, LONGEST_EVIDENCE),
        message=found.turn.message,
        at_ms=found.turn.at_ms,
        topic=make_topic(kind, item.text) if is_persons else None,
        normal_form=of_rules.normal_form if of_rules is not None and of_rules.normal_form else normal_form,
        is_persons=is_persons,
        # A rule waits if the user pasted it or only agreed to it, or if it stood in a tool's output before.
        is_foreign=(said_by_person and not is_persons) or stands_in(item.quote, grounds.state.foreign),
        is_global=is_persons and is_for_all_projects(item.quote),
    )


def _confirm_kind(kind: Category, ruled: Sequence[Candidate]) -> Category:
    """Return the kind of an item that the user typed. Only a standing order is a directive."""
    if kind is not Category.DIRECTIVE:
        return kind
    is_order = any(candidate.category is Category.DIRECTIVE and not candidate.is_weak for candidate in ruled)
    return Category.DIRECTIVE if is_order else Category.CONVENTION
