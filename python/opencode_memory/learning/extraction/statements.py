"""Statements of the user: selects the sentences of a message that are worth keeping, and words them.

A sentence that passes the gate is a statement. Any other declarative sentence is a weak candidate: it is stored only if
the user says it in three sessions, or if it changes an active memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from opencode_memory._core import terms
from opencode_memory.learning.extraction import exclusions, taken_back
from opencode_memory.learning.extraction.authored_text import QUOTE, extract_authored_text
from opencode_memory.learning.extraction.candidate import LONGEST_CONTENT, LONGEST_EVIDENCE, Candidate, shorten
from opencode_memory.learning.extraction.choices import find_choice
from opencode_memory.learning.extraction.clauses import cut_task, is_only_task, separate_announcements
from opencode_memory.learning.extraction.corrections import find_correction
from opencode_memory.learning.extraction.gate.judge import judge
from opencode_memory.learning.extraction.gate.language import is_english
from opencode_memory.learning.extraction.gate.replacements import find_right_name
from opencode_memory.learning.extraction.gate.verdict import Verdict
from opencode_memory.learning.extraction.gate.withdrawals import find_withdrawal, is_about_own_words
from opencode_memory.learning.extraction.gate.wording import word
from opencode_memory.learning.extraction.languages.cues import ENGLISH, MEASURED, Cues
from opencode_memory.learning.extraction.languages.lasting_statements import find_lasting_statements
from opencode_memory.learning.extraction.languages.lasting_statements import is_retraction as is_retraction_elsewhere
from opencode_memory.learning.extraction.languages.recognition import recognise
from opencode_memory.learning.extraction.retractions import read_remark
from opencode_memory.learning.extraction.scope import is_for_all_projects, widens_the_sentence_before
from opencode_memory.learning.extraction.sentences import Sentence, is_question, split_sentences
from opencode_memory.learning.extraction.subjects import make_topic, normalise_statement
from opencode_memory.learning.extraction.typed_prose import extract_typed_prose
from opencode_memory.learning.extraction.weak_statements import find_weak_statements
from opencode_memory.models import Category

_LEAST_WORDS: Final = 3
_MOST_WORDS: Final = 55
_MOST_CHARS: Final = 340
_NEAR: Final = 2
_OWN_WORDS: Final = frozenset({"ordered to remember", "picked an option"})
"""Rules whose statements count although the message asks for a text: "write this into AGENTS.md"."""
_PLAYS: Final = re.compile(
    r"\b(?:role[- ]?play|let'?s pretend|pretend (?:to be|you|that you)|interview me|mock interview|"
    r"let'?s rehearse|in character|(?:you|u) play (?:a|an|the|my)|"
    r"play the (?:role|part)|imagine you(?:'re| are) (?:a|an|the|my)|(?:you(?:'re| are)|act as) (?:now )?(?:a|an|"
    r"the|my) (?:\w+ ){0,2}(?:interviewer|cto|ceo|customer|client|captain|pirate|boss|candidate|teacher|recruiter|"
    r"investor))\b",
    re.IGNORECASE,
)
_STOPS_PLAYING: Final = re.compile(
    r"\b(?:ok(?:ay)?,? stop|stop (?:it|there|now|the|playing)|enough|end of (?:role|the)|back to (?:work|the|"
    r"reality)|"
    r"that was fun|out of character|ok(?:ay)? cut|thanks)\b",
    re.IGNORECASE,
)
_QUESTION_AT_END: Final = re.compile(
    r"^(?P<said>.{15,}?)[,;]\s*(?:so |and |but |then )*(?:can|could|would|will|how about|what about|what do|do|"
    r"does|should|is|are|right|ok|okay|no|yeah|correct|agreed?)\b[^,]*\?\s*$",
    re.IGNORECASE,
)
"""A statement with a request after it: "we always sort imports, so can you fix the order?"."""
_RETRACTION_CHARS: Final = 200
_OPENING_SENTENCES: Final = 3
_LONGEST_INTERJECTION: Final = 2
"""Words of a sentence such as "hm, no." before a retraction."""


@dataclass(frozen=True, slots=True)
class Context:
    """Context of a user's message.

    Attributes:
        action: The last actions and texts of the agent; empty at the beginning.
        offer: The options that the agent offered; empty if there are none.
        languages: Codes of the languages that are learned from.
    """

    action: str = ""
    offer: str = ""
    languages: frozenset[str] = MEASURED


@dataclass(frozen=True, slots=True)
class _Found:
    number: int
    candidate: Candidate
    covered: frozenset[int]

    def widen(self, number: int) -> _Found:
        """Return a copy that holds in all projects, because the sentence with a number says so."""
        return replace(self, candidate=replace(self.candidate, is_global=True), covered=self.covered | {number})


def extract_from_user(message: str, before: Context) -> tuple[Candidate, ...]:
    """Return the statements of a user's message.

    Args:
        message: The message as typed.
        before: Context of the message.
    """
    prose = separate_announcements(extract_typed_prose(message))
    if not prose:
        return ()
    chosen = find_choice(prose, before.offer) if before.offer else None
    options = () if chosen is None else (chosen,)
    cues = recognise(prose)
    if cues is not None:
        return (*options, *(_find_in(prose, cues) if cues.code in before.languages else ()))
    if ENGLISH not in before.languages or not is_english(prose):
        return options
    sentences = split_sentences(prose)
    found: list[_Found] = [] if chosen is None else [_Found(0, chosen, frozenset({0}))]
    retracted: set[int] = set()
    for sentence in sentences:
        if found and found[-1].number == sentence.number - 1 and _widens(sentence, found[-1].candidate):
            found = [*found[:-1], found[-1].widen(sentence.number)]
            continue
        withdrawn = _find_withdrawn(sentence)
        remark = read_remark(sentence)
        if withdrawn is None and remark.retracts_sentence:
            retracted.add(sentence.number - 1)
            found = [finding for finding in found if finding.number < sentence.number - _NEAR]
        if withdrawn is None and remark.statement is None:
            retracted.add(sentence.number)
            continue
        if withdrawn is not None and is_about_own_words(sentence.core):
            found = [finding for finding in found if not withdrawn.may_withdraw(finding.candidate.content)]
        before_it, found = found, _add(found, remark.statement or sentence, sentences, before.action)
        changed = withdrawn or _find_corrected(sentence)
        if changed is not None and found == before_it:
            found = [*found, _Found(sentence.number, changed, frozenset({sentence.number}))]
    requested = _find_requested(sentences)
    found = [finding for finding in found if finding.number not in requested or finding.candidate.rule in _OWN_WORDS]
    taken = retracted.union(requested, *(finding.covered for finding in found))
    others = {sentence.number: sentence for sentence in sentences if sentence.number not in taken}
    weak = find_weak_statements(message, [*others.values()])
    return (*(_add_instead(finding, others.get(finding.number + 1), message) for finding in found), *weak)


def is_retraction(message: str) -> bool:
    """Return whether a message begins by retracting the one before it, for example "wait. no. forget it"."""
    return any(_list_remarks(message))


def _list_remarks(message: str) -> Iterator[str]:
    """Yield the sentences with which a message begins that retract the message before it."""
    for sentence in _split_opening(message):
        remark = read_remark(sentence)
        if remark.retracts_message or is_retraction_elsewhere(sentence.text):
            yield sentence.text
        elif len(sentence.text.split()) > _LONGEST_INTERJECTION and not taken_back.says_wrong(sentence.text):
            return


def _split_opening(message: str) -> tuple[Sentence, ...]:
    """Return the first sentences that the user typed. A quotation or a pasted line retracts nothing."""
    typed = extract_authored_text(message).text.strip()
    return split_sentences(typed[:_RETRACTION_CHARS])[:_OPENING_SENTENCES]


def list_retracted(message: str, said: Sequence[Candidate], stored: Sequence[Candidate] = ()) -> list[Candidate]:
    """Return which statements of the message before a message retracts: those that it names, or else all of them.

    Args:
        message: The message.
        said: The statements of the message before that are not stored yet.
        stored: Those that are stored, because the user has said nothing for a while. "Oh wait, the tests need Docker" is
            then about the work, so only a remark that must be about the user's own words retracts them.
    """
    for sentence in _split_opening(message):
        # "The part about modals is wrong" may be about the agent's work. It is quoted below the statement.
        if (withdrawn := _find_withdrawn(sentence)) is not None and is_about_own_words(sentence.core):
            named = [candidate for candidate in (*stored, *said) if withdrawn.may_withdraw(candidate.content)]
            if named:
                return named
    remarks = list(_list_remarks(message))
    is_clear = any(taken_back.is_about_own_words(text) or is_retraction_elsewhere(text) for text in remarks)
    return [*(stored if is_clear else ()), *(said if remarks else ())]


def is_role_play(message: str, *, before: bool) -> bool:
    """Return whether a role play is going on after a message."""
    if before and _STOPS_PLAYING.search(message):
        return False
    return before or bool(_PLAYS.search(message[:200]))


def _find_in(prose: str, cues: Cues) -> tuple[Candidate, ...]:
    """Return the statements of a message in another language than English."""
    found = (_build(verdict, text, verdict.text) for verdict, text in find_lasting_statements(prose, cues))
    return tuple({candidate.content: candidate for candidate in found}.values())


def _add(found: list[_Found], sentence: Sentence, sentences: Sequence[Sentence], action: str) -> list[_Found]:
    """Add the statement of a sentence; an order to remember the sentence before replaces that one's statement."""
    if sentence.is_question:
        said = _QUESTION_AT_END.match(sentence.core)
        if said is None or is_question(said["said"], said["said"]):
            return found
        sentence = replace(sentence, text=said["said"], core=said["said"], is_question=False)
    if len(sentence.core) > _MOST_CHARS:
        return found
    number = sentence.number
    corrected = find_correction(sentence, action)
    if corrected is not None:
        return [*found, _Found(number, corrected, frozenset({number}))]
    if not _LEAST_WORDS <= len(sentence.text.split()) <= _MOST_WORDS:
        return found
    covered = frozenset({number})
    before = sentences[number - 1].text if number else ""
    verdict = judge(sentence.text, sentence.core, before)
    if verdict is None:
        return found
    if verdict.refers_back:
        if not number or sentences[number - 1].is_question:
            return found
        found = [finding for finding in found if finding.number != number - 1]
        earlier = sentences[number - 1]
        own = judge(earlier.text, earlier.core, sentences[number - 2].text if number > 1 else "")
        category = verdict.category if own is None else own.category
        verdict = replace(verdict, category=category, text=earlier.core if own is None else own.text)
        before = sentences[number - 2].text if number > 1 else ""
        sentence = replace(sentence, text=f"{earlier.text} {sentence.text}")
        covered = frozenset({number - 1, number})
    elif exclusions.is_hypothetical_or_reported(sentence) or exclusions.is_sarcasm(sentence):
        return found
    candidate = _make_candidate(verdict, sentence, before)
    if candidate is None or any(finding.candidate.content == candidate.content for finding in found):
        return found
    if before and before.strip(" .") in candidate.content:
        covered |= {number - 1}
    # A statement that repeats the sentence before as its context replaces the statement of that sentence.
    if found and found[-1].number == number - 1 and candidate.content.startswith(found[-1].candidate.content):
        found = found[:-1]
    return [*found, _Found(number, candidate, covered)]


def _widens(sentence: Sentence, before: Candidate) -> bool:
    return not (sentence.is_question or before.withdraws) and widens_the_sentence_before(sentence.core)


def _find_withdrawn(sentence: Sentence) -> Candidate | None:
    """Return the candidate of a sentence that withdraws an earlier statement."""
    is_said = not (sentence.is_question or exclusions.is_hypothetical_or_reported(sentence))
    subject = find_withdrawal(sentence.core) if is_said and QUOTE not in sentence.text else None
    said = None if subject is None else word(sentence.core, "")
    # "I was wrong about that" names no subject.
    if subject is None or said is None or not terms(subject)[0]:
        return None
    return _change(sentence, said, subject, "withdrawn")


def _add_instead(finding: _Found, after: Sentence | None, message: str) -> Candidate:
    """Return the candidate of a finding; one that withdraws a statement gets the plain sentence after it, if there is one.

    "Forget what I said about the file, the rates live in the database now": the second part tells what holds instead.
    """
    candidate = finding.candidate
    if not candidate.withdraws or after is None or is_only_task(after.core):
        return candidate
    held = [one.content for one in find_weak_statements(message, [after]) if not one.is_remark]
    return replace(candidate, instead=" ".join(held))


def _find_corrected(sentence: Sentence) -> Candidate | None:
    """Return the candidate of a sentence that only corrects a name of an earlier statement: "it's X, not Y"."""
    names = None if sentence.is_question or QUOTE in sentence.text else find_right_name(sentence.core)
    return None if names is None else _change(sentence, "{}, not {}.".format(*names), names[1], "corrected name")


def _change(sentence: Sentence, said: str, subject: str, rule: str) -> Candidate:
    """Return the candidate of a sentence that changes the earlier statement on a subject."""
    return Candidate(
        category=Category.EVENT,
        content=shorten(said, LONGEST_CONTENT),
        confidence=0.8,
        rule=rule,
        evidence=shorten(sentence.text, LONGEST_EVIDENCE),
        is_persons=True,
        needs_subject=True,
        withdraws=subject,
    )


def _make_candidate(verdict: Verdict, sentence: Sentence, before: str) -> Candidate | None:
    said = word(verdict.text, before, is_certain=verdict.rule in _OWN_WORDS and not verdict.refers_back)
    if said is None or QUOTE in said:
        return None
    return _build(verdict, sentence.text, said)


def _build(verdict: Verdict, sentence: str, said: str) -> Candidate:
    content = shorten(said, LONGEST_CONTENT)
    return Candidate(
        category=verdict.category,
        content=content,
        confidence=verdict.confidence,
        rule=verdict.rule,
        evidence=shorten(sentence, LONGEST_EVIDENCE),
        topic=make_topic(verdict.category, content),
        normal_form=normalise_statement(verdict.category, content),
        is_persons=True,
        is_global=is_for_all_projects(sentence),
    )


def _find_requested(sentences: Sequence[Sentence]) -> frozenset[int]:
    """Return the numbers of sentences that belong to a text that the user asked for, or to product requirements."""
    requested: set[int] = set()
    is_requested = False
    for sentence in sentences:
        if exclusions.changes_subject(sentence):
            is_requested = False
        was_requested = is_requested
        is_requested = is_requested or exclusions.is_text_request(sentence) or exclusions.starts_requirements(sentence)
        # A statement before the request, as in "jobs run on Celery, write the docs", is no part of the text.
        if was_requested or (is_requested and cut_task(sentence.core) == sentence.core):
            requested.add(sentence.number)
    return frozenset(requested)
