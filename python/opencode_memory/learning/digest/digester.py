"""Digester: prepares the request for a claimed session, and stores what the model answers.

It does not send anything: any transport that carries a text to a model and back can use it. What a digest writes is
written in one transaction with the marks of the digested messages and the end of the claim. So a process that dies
before it leads to one more request, and a process that dies after it to none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Final

from opencode_memory.errors import NotFoundError
from opencode_memory.learning.digest.answer import parse_answer
from opencode_memory.learning.digest.candidates import Grounds, Judged, judge_items
from opencode_memory.learning.digest.errors import DigestError
from opencode_memory.learning.digest.memories import Writing, plan_writing, render_summary
from opencode_memory.learning.digest.prompt import (
    MAX_ANSWER_TOKENS,
    SYSTEM_PROMPT,
    ShownMemory,
    estimate_tokens,
    render_request,
)
from opencode_memory.learning.digest.queue import Completion, DigestQueue, Due
from opencode_memory.learning.digest.report import DigestReport, DroppedItem
from opencode_memory.learning.digest.transcript import Transcript, build_transcript, clean_text, fit
from opencode_memory.learning.digested import name_message, name_summary
from opencode_memory.learning.extraction.events import Message
from opencode_memory.learning.extraction.injected_text import add_texts
from opencode_memory.learning.extraction.local_paths import localise
from opencode_memory.learning.extraction.session_state import SessionState
from opencode_memory.models import Category, Memory, RememberResult, RememberStatus, Scope, Status

if TYPE_CHECKING:
    from opencode_memory.learning.switches import Switches
    from opencode_memory.store.memory_store import MemoryStore

LEAST_MESSAGES: Final = 3
"""New messages of the user that a session needs for a digest."""
MOST_MEMORIES: Final = 10
_MOST_QUERIES: Final = 8
_HITS_OF_QUERY: Final = 4
_LONGEST_QUERY: Final = 300
_TYPICAL_ANSWER_TOKENS: Final = 400
_WORTH_SHOWING: Final = tuple(category for category in Category if category is not Category.CONVERSATION)


@dataclass(frozen=True, slots=True, kw_only=True)
class DigestRequest:
    """Request to a model.

    Attributes:
        system: The instructions; always ``SYSTEM_PROMPT``.
        text: The only message of the user.
        max_tokens: Limit for the answer.
        grounds: What the answer is checked against.
        earlier: The summary of an earlier digest of the session; empty if there is none.
        project: The project that the memories will belong to.
    """

    system: str
    text: str
    max_tokens: int
    grounds: Grounds
    earlier: str
    project: str | None

    @property
    def estimate(self) -> int:
        """Estimated tokens of the request and a typical answer."""
        return estimate_tokens(self.system) + estimate_tokens(self.text) + _TYPICAL_ANSWER_TOKENS


class Digester:
    """Digests sessions into one store.

    Args:
        store: Receives the memories.
        switches: Tell for which sessions learning is switched off.
        now_ms: Returns the current time in UTC milliseconds.
    """

    def __init__(self, store: MemoryStore, *, switches: Switches, now_ms: Callable[[], int]) -> None:
        self._store = store
        self._switches = switches
        self._queue = DigestQueue(store, now_ms=now_ms)

    def prepare(
        self, due: Due, messages: Sequence[Message], project: str | None, *, work_tree: str | None = None
    ) -> DigestRequest | None:
        """Prepare the request for a session; None if there is nothing to digest.

        Args:
            due: The claimed session.
            messages: All complete messages of the session, in order.
            project: The project of the session.
            work_tree: The work tree of the session, below which files are named by relative paths.
        """
        self._queue.settle(due, self._archive, is_over=False)
        if self._switches.skips(self._store, project, due.info):
            return None
        # The learner has read the same texts, and digests of its session are compared with what it found.
        transcript = build_transcript(messages if project is None else localise(messages, work_tree))
        fresh = self._select_fresh(due, transcript)
        if len(fresh.turns) < LEAST_MESSAGES:
            return None
        sent = fit(fresh)
        state = self._read_state(due)
        memories = self._find_memories(sent, project)
        earlier = self._queue.read(due).summary
        return build_request(sent, memories, state=state, earlier=earlier, project=project)

    def accept(self, due: Due, request: DigestRequest, answer: str, *, tokens: int, model: str) -> DigestReport:
        """Store what survives of an answer, and end the claim.

        Args:
            due: The claimed session.
            request: The request, as it was prepared.
            answer: The text of the model.
            tokens: Tokens of the request and its answer.
            model: Name of the model.

        Raises:
            DigestError: The answer is not the requested JSON; nothing was stored and the claim goes on.
            ClaimLostError: Another process has the session; nothing was stored.
        """
        judged, parts = judge(request, answer, model=model)
        grounds = request.grounds
        state = self._read_state(due)
        summary = render_summary(parts, due.info, state)
        writing = plan_writing(
            self._store,
            due.info,
            judged.statements,
            grounds.transcript,
            project=request.project,
            model=model,
            summary=summary,
        )
        is_partial = grounds.transcript.left >= LEAST_MESSAGES
        names = [name_message(turn.digest) for turn in grounds.transcript.turns]
        if writing.has_summary and not any(self._store.learning.are_processed([name_summary(due.info.id)])):
            names.append(name_summary(due.info.id))
        results = self._queue.complete(
            due,
            Completion(
                memories=writing.memories,
                links=[
                    (number, older, "contradicts", "a later session says otherwise")
                    for number, contradicted in enumerate(writing.contradicted)
                    for older in contradicted
                ],
                processed=tuple(dict.fromkeys(names)),
                tokens=tokens,
                model=model,
                summary=summary or request.earlier,
                replaced=tuple(chain.from_iterable(writing.replaced)),
                is_partial=is_partial,
            ),
        )
        self._queue.settle(due, self._archive, is_over=not is_partial)
        return _report(results, writing, dropped=judged.dropped, tokens=tokens)

    def _select_fresh(self, due: Due, transcript: Transcript) -> Transcript:
        """Return the messages that the learner has read, and that no digest has covered."""
        turns = transcript.turns
        learning = self._store.learning
        read = learning.are_processed([f"message:{due.info.id}:{turn.message}" for turn in turns])
        digested = learning.are_processed([name_message(turn.digest) for turn in turns])
        kept = [turn for turn, was_read, done in zip(turns, read, digested, strict=True) if was_read and not done]
        # Two messages with the same digest are copies; only one can be marked.
        return replace(transcript, turns=tuple({turn.digest: turn for turn in kept}.values()))

    def _read_state(self, due: Due) -> SessionState:
        _, stored = self._store.learning.open(due.info.id)
        state = SessionState.from_json(stored)
        shown = [decision.text for decision in self._store.ledger.decisions(due.info.id)]
        return replace(state, injected=add_texts(state.injected, shown))

    def _find_memories(self, transcript: Transcript, project: str | None) -> tuple[ShownMemory, ...]:
        """Return the memories of the project that are nearest to the messages."""
        best: dict[str, tuple[float, Memory]] = {}
        for query in _list_queries(transcript):
            hits = self._store.recall(
                query,
                limit=_HITS_OF_QUERY,
                unasked=True,
                scope=Scope.owned_by(project),
                category=_WORTH_SHOWING,
            )
            for hit in hits:
                score, _ = best.get(hit.memory.id, (0.0, hit.memory))
                best[hit.memory.id] = (max(score, hit.score), hit.memory)
        nearest = sorted(best.values(), key=lambda found: -found[0])[:MOST_MEMORIES]
        return tuple(
            ShownMemory(name=f"m{number}", id=memory.id, content=clean_text(memory.content))
            for number, (_, memory) in enumerate(nearest, start=1)
        )

    def _archive(self, ids: Sequence[str]) -> None:
        for id_ in ids:
            try:
                if self._store.get(id_).status in {Status.ACTIVE, Status.CANDIDATE}:
                    self._store.archive(id_, reason="the digest of a session replaces it")
            except NotFoundError:
                continue  # The user has deleted it meanwhile.


def build_request(
    transcript: Transcript,
    memories: Sequence[ShownMemory] = (),
    *,
    state: SessionState,
    earlier: str = "",
    project: str | None = None,
) -> DigestRequest:
    """Build the request for a transcript.

    Args:
        transcript: What is sent of the session.
        memories: The nearest memories.
        state: State of the session's extraction.
        earlier: Summary of an earlier digest of the session; empty if there is none.
        project: The project of the session.
    """
    return DigestRequest(
        system=SYSTEM_PROMPT,
        text=render_request(transcript, memories, earlier),
        max_tokens=MAX_ANSWER_TOKENS,
        grounds=Grounds(
            transcript=transcript,
            state=state,
            memories={memory.name: memory.id for memory in memories},
            contents={memory.name: memory.content for memory in memories},
            project=project,
        ),
        earlier=earlier,
        project=project,
    )


def judge(request: DigestRequest, answer: str, *, model: str) -> tuple[Judged, dict[str, str]]:
    """Parse and check an answer without storing anything; return its items and its summary.

    Raises:
        DigestError: The answer is not the requested JSON.
    """
    try:
        parsed = parse_answer(answer)
    except ValueError as error:
        message = f"the model {model} did not answer with the requested JSON"
        raise DigestError(message, is_final=False, hint="use a larger model if this happens often") from error
    return judge_items(parsed, request.grounds), parsed.summary


def _list_queries(transcript: Transcript) -> Iterator[str]:
    """Yield the longest messages, because short ones like "yes" name no subject."""
    longest = sorted(transcript.turns, key=lambda turn: -len(turn.typed))[:_MOST_QUERIES]
    for turn in longest:
        yield turn.person[:_LONGEST_QUERY]


def _report(
    results: Sequence[RememberResult], writing: Writing, *, dropped: Sequence[DroppedItem], tokens: int
) -> DigestReport:
    """Report the memories of a digest. Its summary, which comes last, is only noted."""
    memories = len(results) - writing.has_summary
    statuses = [
        (result.id, Status.CANDIDATE if result.status is RememberStatus.KEPT else Status(memory.status))
        for result, memory in zip(results[:memories], writing.memories[:memories], strict=True)
    ]
    return DigestReport(
        active=tuple(id_ for id_, status in statuses if status is Status.ACTIVE),
        waiting=tuple(id_ for id_, status in statuses if status is Status.CANDIDATE),
        replaced=tuple(chain.from_iterable(writing.replaced)),
        dropped=(*dropped, *writing.dropped),
        has_summary=writing.has_summary,
        tokens=tokens,
    )
