"""Judges memories of earlier rules: by reading their session again, or by their evidence alone.

A session is read again from its first message by the same pure functions that learn from it, so that pasted text,
offers and retractions are known. Nothing is written.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from opencode_memory.learning.admission import admit
from opencode_memory.learning.extraction import commands
from opencode_memory.learning.extraction.candidate import Candidate
from opencode_memory.learning.extraction.events import Message, SessionInfo, UserText
from opencode_memory.learning.extraction.findings import extract_from_agent
from opencode_memory.learning.extraction.languages.cues import ENGLISH, read_cues
from opencode_memory.learning.extraction.session import Known, end, step
from opencode_memory.learning.extraction.session_state import SessionState
from opencode_memory.learning.extraction.statements import Context, extract_from_user
from opencode_memory.learning.relearn.matching import is_command, matches, quote
from opencode_memory.models import Category, Memory, Status, Trust

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore

_MOST_FORMS: Final = 500_000
"""Statements whose sessions are counted, so that the memory stays bounded. Later ones count as said once."""
_HASH_BYTES: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Judgement of one memory.

    Attributes:
        id: The memory.
        category: Its category.
        rule: The rule that had found it.
        is_kept: Whether the memory stays.
        reason: Why.
        is_typed: Whether the session proves that the user typed the statement, which the memory does not say yet.
    """

    id: str
    category: str
    rule: str
    is_kept: bool
    reason: str
    is_typed: bool = False

    @classmethod
    def of(cls, memory: Memory, reason: str, *, is_kept: bool, is_typed: bool = False) -> Verdict:
        """Judge a memory."""
        return cls(
            id=memory.id,
            category=str(memory.category),
            rule=str(memory.metadata.get("rule")),
            is_kept=is_kept,
            reason=reason,
            is_typed=is_typed,
        )


@dataclass(frozen=True, slots=True)
class _Weak:
    """A memory whose statement the present rules only count: how often it was said is known after all sessions."""

    memory: Memory
    candidate: Candidate


@dataclass(slots=True)
class Judge:
    """Judges memories session by session.

    Attributes:
        store: The store with the sightings of earlier sessions.
    """

    store: MemoryStore
    _sessions: Counter[bytes] = field(default_factory=Counter)
    _said: set[bytes] = field(default_factory=set)
    _weak: list[_Weak] = field(default_factory=list)

    def judge_session(
        self, info: SessionInfo, pages: Iterable[Sequence[Message]], memories: Sequence[Memory]
    ) -> Iterator[Verdict]:
        """Yield the verdicts on the memories of a session, except on those that ``finish`` judges."""
        state = SessionState()
        project = memories[0].project if memories else None
        open_ones = {memory.id: memory for memory in memories}
        weak: dict[str, _Weak] = {}
        forms: set[bytes] = set()
        for found in self._read_again(info, state, pages):
            if found.normal_form and found.is_weak:
                forms.add(_hash(project, found.normal_form))
            for memory in [memory for memory in open_ones.values() if matches(memory, found)]:
                status = admit(found, elsewhere=0)
                if status is None:
                    weak[memory.id] = _Weak(memory, found)
                    continue
                del open_ones[memory.id]
                weak.pop(memory.id, None)
                yield _judge_status(memory, found, status)
        self._count(forms)
        for id_, memory in open_ones.items():
            if id_ in weak:
                self._weak.append(weak[id_])
            else:
                yield Verdict.of(memory, "no rule finds this statement any more", is_kept=False)

    def judge_alone(self, memory: Memory) -> Verdict:
        """Judge a memory whose session cannot be read by its evidence alone."""
        reason = "no rule finds this statement any more (its session cannot be read)"
        return Verdict.of(memory, reason, is_kept=False) if not _holds_alone(memory) else _keep(memory)

    def finish(self) -> Iterator[Verdict]:
        """Yield the verdicts on memories that depend on how many sessions say the same."""
        for one in self._weak:
            form = one.candidate.normal_form
            elsewhere = 0
            if form:
                [stored] = self.store.learning.seen_elsewhere(
                    one.memory.project, [form], one.memory.source.session or ""
                )
                elsewhere = max(stored, self._sessions[_hash(one.memory.project, form)] - 1)
            status = admit(one.candidate, elsewhere=elsewhere)
            if status is None:
                yield Verdict.of(one.memory, "was said or run too seldom", is_kept=False)
            else:
                yield _judge_status(one.memory, one.candidate, status)

    def _read_again(
        self, info: SessionInfo, state: SessionState, pages: Iterable[Sequence[Message]]
    ) -> Iterator[Candidate]:
        for page in pages:
            for message in page:
                state, ready = step(info, state, message, Known(languages=_every_language()))
                state = replace(state, own=state.own + 1)
                # The copies of a fork are no repetition.
                is_copy = self._is_copy(message)
                yield from (replace(one, normal_form=None) if is_copy else one for one in ready)
        yield from end(info, state, at_ms=0)[1]

    def _is_copy(self, message: Message) -> bool:
        if not any(isinstance(event, UserText) for event in message.events):
            return False
        name = hashlib.blake2b(message.digest.encode(), digest_size=_HASH_BYTES).digest()
        is_copy = name in self._said
        if len(self._said) < _MOST_FORMS:
            self._said.add(name)
        return is_copy

    def _count(self, forms: Iterable[bytes]) -> None:
        for form in forms:
            if form in self._sessions or len(self._sessions) < _MOST_FORMS:
                self._sessions[form] += 1


def _judge_status(memory: Memory, found: Candidate, status: Status) -> Verdict:
    if status is Status.CANDIDATE and memory.status is Status.ACTIVE:
        return Verdict.of(memory, "an instruction that the user did not type", is_kept=False)
    is_typed = found.is_persons and not found.is_foreign
    is_news = memory.trust is Trust.EXTRACTED and memory.status is Status.ACTIVE
    return _keep(memory, found.rule, is_typed=is_typed and is_news)


def _keep(memory: Memory, rule: str = "", *, is_typed: bool = False) -> Verdict:
    reason = f"the rule “{rule}” finds it" if rule else "a rule finds it"
    return Verdict.of(memory, reason, is_kept=True, is_typed=is_typed)


def _holds_alone(memory: Memory) -> bool:
    said = quote(memory)
    if memory.category is Category.SOLUTION:
        return False
    if is_command(memory):
        return not (commands.is_volatile(said) or commands.is_trivial(said) or commands.hides_exit_code(said))
    found = extract_from_user(said, Context(languages=_every_language()))
    if memory.category is Category.FACT:
        found = (*found, *extract_from_agent(said))
    return any(admit(candidate, elsewhere=0) is Status.ACTIVE for candidate in found)


def _every_language() -> frozenset[str]:
    """Return the codes of all languages: a language that was switched off makes no memory wrong."""
    return frozenset({ENGLISH, *read_cues()})


def _hash(project: str | None, form: str) -> bytes:
    return hashlib.blake2b(f"{project}\n{form}".encode(), digest_size=_HASH_BYTES).digest()
