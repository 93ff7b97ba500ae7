"""Learner: processes the messages of a session from any feed and stores the resulting memories.

Each message is processed once. A batch is written in one transaction: its memories, and the new state of the session.
If two processes read the same batch, the first one writes it, and the other one reads the session again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from opencode_memory.learning.admission import admit
from opencode_memory.learning.agent_writes import find_writes
from opencode_memory.learning.digested import name_messages, name_summary
from opencode_memory.learning.extraction.blockers import TOPIC, OpenBlocker
from opencode_memory.learning.extraction.candidate import Candidate
from opencode_memory.learning.extraction.events import Message, SessionInfo, UserText
from opencode_memory.learning.extraction.forks import begin_own_work
from opencode_memory.learning.extraction.injected_text import add_texts, strip_earlier
from opencode_memory.learning.extraction.languages.cues import MEASURED
from opencode_memory.learning.extraction.local_paths import localise, make_paths_relative
from opencode_memory.learning.extraction.rules_version import RULES, RULES_KEY
from opencode_memory.learning.extraction.session import Known, end, step
from opencode_memory.learning.extraction.session_state import SessionState
from opencode_memory.learning.later_words import REASON as SAID_LATER_REASON
from opencode_memory.learning.later_words import find_earlier_statement, make_event
from opencode_memory.learning.rejections import is_rejected
from opencode_memory.learning.session_writes import name_message, retry_on_conflict
from opencode_memory.learning.take_back import take_back_retracted
from opencode_memory.learning.withdrawn import REASON as WITHDRAWN_REASON
from opencode_memory.learning.withdrawn import find_withdrawn, find_withdrawn_before
from opencode_memory.models import Category, NewMemory, RememberStatus, Scope, Source, Status, Trust
from opencode_memory.store.learning_state import SAID_LATER, Batch, Progress
from opencode_memory.text.emails import mask_emails

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore

_MOST_BLOCKERS: Final = 200
SOURCE: Final = "opencode"


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningResult:
    """Result of one processed batch of messages.

    Attributes:
        messages: Number of newly processed messages.
        active: Ids of memories that are active now: new ones, and those that were repeated.
        waiting: Ids of memories that wait for review.
    """

    messages: int = 0
    active: tuple[str, ...] = field(default=())
    waiting: tuple[str, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class _Admitted:
    """A candidate that is stored, and its status.

    Attributes:
        candidate: The candidate.
        status: The status of its memory.
        about: The earlier statement that it is about: the id of a stored one, or the place of another in the batch.
        reason: Why it is about that statement.
    """

    candidate: Candidate
    status: Status
    about: str | int | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Delivery:
    """A batch of messages of one session, as ``Learner.process`` got it."""

    info: SessionInfo
    messages: Sequence[Message]
    project: str | None
    at_ms: int
    work_tree: str | None
    is_idle: bool
    feed: str | None
    progress: Progress | None


class Learner:
    """Learns from sessions of any project and writes to one store."""

    def __init__(self, store: MemoryStore, *, languages: frozenset[str] = MEASURED) -> None:
        self._store = store
        self._languages = languages

    def process(
        self,
        info: SessionInfo,
        messages: Sequence[Message],
        *,
        project: str | None,
        at_ms: int,
        work_tree: str | None = None,
        is_idle: bool = False,
        feed: str | None = None,
        progress: Progress | None = None,
    ) -> LearningResult:
        """Process a batch of messages.

        Args:
            info: The session.
            messages: Complete messages in order; messages that were processed before are skipped.
            project: The project of the session; None for global memories.
            at_ms: The current time, in UTC milliseconds.
            work_tree: The work tree of the session, below which memories of its project name files by relative paths.
            is_idle: Whether the session is idle, so that pending candidates and its summary are written.
            feed: Name of the feed that delivered the messages, if its progress is stored.
            progress: Position of the feed after these messages.

        Raises:
            BusyError: Other processes read the same session all the time.
        """
        delivery = _Delivery(
            info=info,
            messages=messages,
            project=project,
            at_ms=at_ms,
            # A global memory is read in other folders.
            work_tree=None if project is None else work_tree,
            is_idle=is_idle,
            feed=feed,
            progress=progress,
        )
        return retry_on_conflict(lambda: self._process(delivery), info.id)

    def skip(
        self,
        info: SessionInfo,
        messages: Sequence[Message],
        *,
        feed: str | None = None,
        progress: Progress | None = None,
    ) -> None:
        """Mark messages as processed without learning from them, now or later.

        Raises:
            BusyError: Other processes read the same session all the time.
        """

        def attempt() -> None:
            version, state = self._store.learning.open(info.id)
            fresh, copies = self._select_new(info, messages)
            # What was said while learning was off is never digested.
            digested = self._drop_processed(name_messages(fresh))
            processed = [*_new_names(info, fresh, copies), *digested]
            known = SessionState.from_json(state)
            if known.released and any(isinstance(event, UserText) for message in fresh for event in message.events):
                # "Scratch that" would be about a message that was not read.
                state = replace(known, released=()).to_json()
            self._store.learning.write(
                Batch(session=info.id, version=version, state=state, processed=processed, feed=feed, progress=progress)
            )

        retry_on_conflict(attempt, info.id)

    def _process(self, delivery: _Delivery) -> LearningResult:
        info, project = delivery.info, delivery.project
        stored_state = self._store.learning
        version, stored = stored_state.open(info.id)
        fresh, copies = self._select_new(info, delivery.messages)
        if not fresh and not delivery.is_idle:
            if delivery.feed is not None and delivery.progress is not None:
                stored_state.set_progress(delivery.feed, info.id, delivery.progress)
            return LearningResult()
        state, found, retracted = self._advance(delivery, SessionState.from_json(stored), fresh, copies)
        # Before the batch is written. If the process dies in between, the message is read again, and retracts again.
        take_back_retracted(self._store, info.id, retracted)
        admitted = self._admit(found, project, info.id)
        results = stored_state.write(
            Batch(
                session=info.id,
                version=version,
                state=state.to_json(),
                processed=_new_names(info, fresh, copies),
                sightings=[
                    *_count_sightings(found, project),
                    *((project, what, -times) for _, what, times in _count_sightings(retracted, project)),
                ],
                memories=[_build_memory(one.candidate, one.status, info, project) for one in admitted],
                links=[
                    (number, one.about, SAID_LATER, one.reason)
                    for number, one in enumerate(admitted)
                    if one.about is not None
                ],
                feed=delivery.feed,
                progress=delivery.progress,
            )
        )
        by_status = [
            (result.id, Status.CANDIDATE if result.status is RememberStatus.KEPT else one.status)
            for result, one in zip(results, admitted, strict=True)
        ]
        return LearningResult(
            messages=len(fresh) - len(copies),
            active=tuple(id_ for id_, status in by_status if status is Status.ACTIVE),
            waiting=tuple(id_ for id_, status in by_status if status is Status.CANDIDATE),
        )

    def _advance(
        self, delivery: _Delivery, state: SessionState, fresh: Sequence[Message], copies: Collection[str]
    ) -> tuple[SessionState, list[Candidate], list[Candidate]]:
        """Return the state of a session after its new messages, what was found in them, and what they retract.

        What they retract was stored by an earlier batch.
        """
        info, work_tree = delivery.info, delivery.work_tree
        # Memories that were injected into the session must not be learned again from it.
        shown = [strip_earlier(decision.text) for decision in self._store.ledger.decisions(info.id)]
        if work_tree:
            # Memories of earlier versions have absolute paths, and messages have them where they are ambiguous.
            shown += [make_paths_relative(text, work_tree) for text in shown]
        state = replace(state, injected=add_texts(state.injected, shown))
        known = Known(tuple(self._open_blockers(delivery.project)), self._languages)
        found: list[Candidate] = []
        retracted: list[Candidate] = []
        for message in localise(fresh, work_tree):
            is_copy = message.id in copies
            state = state if is_copy else begin_own_work(state)
            released = state.released
            state, ready = step(info, state, message, known, is_copy=is_copy)
            gone = [one for by, one in state.retracted if by == message.id and one in released and not one.is_copy]
            retracted += [one for one in gone if one not in found]
            found = [one for one in found if one not in gone]
            if not is_copy:
                written = ((message.id, *change) for change in find_writes(self._store, message))
                state = replace(state, own=state.own + 1, written=(*state.written, *written))
            found += ready
        if delivery.is_idle:
            state, ready = end(info, state, at_ms=delivery.at_ms)
            found += ready
        # A fork contains copies of its parent's messages. They belong to the state, but they are no new statements.
        return state, [candidate for candidate in found if not candidate.is_copy], retracted

    def _drop_processed(self, names: Sequence[str]) -> list[str]:
        known = self._store.learning.are_processed(list(names))
        return [name for name, is_known in zip(names, known, strict=True) if not is_known]

    def _select_new(self, info: SessionInfo, messages: Sequence[Message]) -> tuple[list[Message], frozenset[str]]:
        """Return the messages that were not processed yet, and the ids of those that are copies of processed ones."""
        messages = list({message.id: message for message in messages}.values())
        known = self._store.learning.are_processed(
            [name for message in messages for name in _message_names(info, message)]
        )
        fresh = [
            (message, copied) for message, own, copied in zip(messages, known[::2], known[1::2], strict=True) if not own
        ]
        return [message for message, _ in fresh], frozenset(message.id for message, copied in fresh if copied)

    def _admit(self, found: Sequence[Candidate], project: str | None, session: str) -> list[_Admitted]:
        """Return the candidates that are stored, without those that the user has rejected or reworded before."""
        keys = [candidate.normal_form or "" for candidate in found]
        counts = self._store.learning.seen_elsewhere(project, keys, session) if found else []
        admitted: list[_Admitted] = []
        for candidate, count in zip(found, counts, strict=True):
            if candidate.topic == f"session:{session}" and self._has_digest(session):
                continue  # The summary of a digest is better.
            needs_subject = candidate.needs_subject and not candidate.withdraws
            changes_active = needs_subject and self._changes_active(candidate, project)
            status = admit(candidate, elsewhere=count if candidate.normal_form else 0, changes_active=changes_active)
            if status is None:
                one = self._admit_later_words(candidate, [one.candidate for one in admitted], project)
            else:
                one = _Admitted(candidate, status)
            if one is not None and not is_rejected(self._store, one.candidate, project):
                admitted.append(one)
        stored = {one.candidate.content for one in admitted if one.candidate.category is not Category.EVENT}
        return [replace(one, candidate=one.candidate.with_instead(stored)) for one in admitted]

    def _admit_later_words(
        self, candidate: Candidate, before: Sequence[Candidate], project: str | None
    ) -> _Admitted | None:
        """Admit a sentence that is about an earlier statement of the user, unless it is quoted with another one."""
        if any(candidate.content == one.instead for one in before):
            return None
        if candidate.withdraws:
            place = find_withdrawn_before(before, candidate)
            withdrawn = find_withdrawn(self._store, candidate, project) if place is None else None
            about = place if withdrawn is None else withdrawn.id
            if about is not None:
                return _Admitted(make_event(candidate), Status.ACTIVE, about, WITHDRAWN_REASON)
        earlier = find_earlier_statement(self._store, candidate, project)
        if earlier is None:
            return None
        return _Admitted(make_event(candidate), Status.ACTIVE, earlier.id, SAID_LATER_REASON)

    def _changes_active(self, candidate: Candidate, project: str | None) -> bool:
        return self._store.learning.find_same_subject(candidate.content, project) is not None

    def _has_digest(self, session: str) -> bool:
        return self._store.learning.are_processed([name_summary(session)]) == [True]

    def _open_blockers(self, project: str | None) -> Iterator[OpenBlocker]:
        for memory in self._store.list(scope=Scope.owned_by(project), category=Category.BLOCKER, limit=_MOST_BLOCKERS):
            if memory.topic and memory.topic.startswith(TOPIC) and not memory.is_resolved:
                yield OpenBlocker(memory.topic, memory.content)


def _message_names(info: SessionInfo, message: Message) -> tuple[str, str]:
    return name_message(info.id, message.id), f"says:{message.digest}"


def _new_names(info: SessionInfo, fresh: Sequence[Message], copies: frozenset[str]) -> list[str]:
    """Return the names to mark as processed; the content of a copy is marked already."""
    names = (name for message in fresh for name in _message_names(info, message)[: 1 if message.id in copies else 2])
    return list(dict.fromkeys(names))


def _count_sightings(found: Sequence[Candidate], project: str | None) -> list[tuple[str | None, str, int]]:
    counts = Counter(candidate.normal_form for candidate in found if candidate.normal_form is not None)
    return [(project, what, times) for what, times in counts.items()]


def _build_memory(candidate: Candidate, status: Status, info: SessionInfo, project: str | None) -> NewMemory:
    own = candidate.is_persons and not candidate.is_foreign
    metadata = {
        "rule": candidate.rule,
        "evidence": mask_emails(candidate.evidence),
        "seen_as": candidate.normal_form,
        RULES_KEY: RULES,
    }
    return NewMemory(
        content=mask_emails(candidate.content),
        category=candidate.category,
        scope=Scope.owned_by(None if candidate.is_global else project),
        topic=candidate.topic and mask_emails(candidate.topic),
        time=candidate.at_ms or None,
        source=Source(tool=SOURCE, session=info.id, message=candidate.message or None),
        tags=candidate.tags,
        trust=(Trust.USER if own else Trust.EXTRACTED).value,
        status=status,
        confidence=candidate.confidence,
        metadata=metadata | ({"observed": True} if candidate.is_observed else {}),
    )
