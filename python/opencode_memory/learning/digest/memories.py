"""From grounded statements to memories: admission, rejections by the user, and the memories that they replace."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from opencode_memory.errors import NotFoundError
from opencode_memory.learning.admission import admit
from opencode_memory.learning.digest.candidates import RULE, Statement
from opencode_memory.learning.digest.quotes import normalise
from opencode_memory.learning.digest.report import DroppedItem, DropReason
from opencode_memory.learning.digest.transcript import Transcript, clean_text
from opencode_memory.learning.extraction.candidate import Candidate, shorten
from opencode_memory.learning.extraction.events import SessionInfo
from opencode_memory.learning.extraction.session_state import SessionState
from opencode_memory.learning.extraction.summary import summarize_session
from opencode_memory.learning.learner import SOURCE
from opencode_memory.learning.rejections import is_rejected
from opencode_memory.models import Category, Memory, NewMemory, Scope, Source, Status, Trust
from opencode_memory.store.pages import list_all

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore

_SHOWN: Final = 120
_SUMMARY_NAMES: Final = {"done": "Done", "decided": "Decided", "open": "Open"}
_KEPT_LINES: Final = ("Files: ", "Commands: ")
_TRUST_ORDER: Final = tuple(Trust)


@dataclass(frozen=True, slots=True, kw_only=True)
class Writing:
    """What a digest writes.

    Attributes:
        memories: New memories; the summary is the last one, if there is one.
        replaced: For each memory, the ids of the memories that it replaces.
        contradicted: For each memory, the ids of memories of higher trust that it contradicts.
        dropped: Statements that the user has rejected before.
        has_summary: Whether the last memory is the summary.
    """

    memories: tuple[NewMemory, ...]
    replaced: tuple[tuple[str, ...], ...]
    contradicted: tuple[tuple[str, ...], ...]
    dropped: tuple[DroppedItem, ...]
    has_summary: bool


def plan_writing(
    store: MemoryStore,
    info: SessionInfo,
    statements: Sequence[Statement],
    transcript: Transcript,
    *,
    project: str | None,
    model: str,
    summary: str,
) -> Writing:
    """Decide what is written for the statements of a digest; nothing is written yet."""
    memories: list[NewMemory] = []
    replaced: list[tuple[str, ...]] = []
    contradicted: list[tuple[str, ...]] = []
    dropped: list[DroppedItem] = []
    topics = {statement.candidate.topic for statement in statements} - {None}
    by_rules = list(_find_memories_of_rules(store, info, transcript, project))
    for statement in statements:
        candidate = statement.candidate
        status = admit(candidate, elsewhere=0)
        if status is None or is_rejected(store, candidate, project):
            dropped.append(DroppedItem(text=shorten(candidate.content, _SHOWN), reason=DropReason.REJECTED))
            continue
        same = [found for found in by_rules if _has_same_quote(found, statement)]
        is_global = candidate.is_global or any(found.project is None for found in same)
        memory = _build_memory(statement, status, info, None if is_global else project, model)
        named = [found for id_ in statement.supersedes if (found := _find_active(store, id_, project)) is not None]
        targets = {found.id: found for found in (*named, *same) if not _becomes(found, memory, topics)}
        may = {id_: _may_replace(memory, found) for id_, found in targets.items()}
        memories.append(memory)
        replaced.append(tuple(id_ for id_ in targets if may[id_]))
        contradicted.append(
            tuple(found.id for found in named if not may.get(found.id, True) and status is Status.ACTIVE)
        )
    if summary and not is_rejected(store, _name_summary(info, summary), project):
        memories.append(_build_summary(info, summary, transcript, project, model))
        replaced.append(())
        contradicted.append(())
    return Writing(
        memories=tuple(memories),
        replaced=tuple(replaced),
        contradicted=tuple(contradicted),
        dropped=tuple(dropped),
        has_summary=len(memories) > len(statements) - len(dropped),
    )


def render_summary(parts: dict[str, str], info: SessionInfo, state: SessionState) -> str:
    """Render the summary of a session: what the model says, and the files and commands that were observed."""
    lines = [f"{name}: {clean_text(parts[key])}" for key, name in _SUMMARY_NAMES.items() if parts.get(key)]
    observed = summarize_session(info.id, state)
    if lines and observed is not None:
        lines += [line for line in observed.content.split("\n") if line.startswith(_KEPT_LINES)]
    return "\n".join(lines)


def _build_memory(
    statement: Statement, status: Status, info: SessionInfo, project: str | None, model: str
) -> NewMemory:
    candidate = statement.candidate
    own = candidate.is_persons and not candidate.is_foreign
    return NewMemory(
        content=candidate.content,
        category=candidate.category,
        scope=Scope.owned_by(project),
        topic=candidate.topic,
        time=candidate.at_ms or None,
        source=Source(tool=SOURCE, session=info.id, message=candidate.message or None),
        trust=(Trust.USER if own else Trust.EXTRACTED).value,
        status=status,
        confidence=candidate.confidence,
        metadata={
            "rule": RULE,
            "evidence": candidate.evidence,
            "seen_as": candidate.normal_form,
            "model": model,
        },
    )


def _name_summary(info: SessionInfo, summary: str) -> Candidate:
    topic = f"session:{info.id}"
    return Candidate(
        category=Category.CONVERSATION, content=summary, confidence=1.0, rule=RULE, evidence=summary, topic=topic
    )


def _build_summary(
    info: SessionInfo, summary: str, transcript: Transcript, project: str | None, model: str
) -> NewMemory:
    return NewMemory(
        content=summary,
        category=Category.CONVERSATION,
        scope=Scope.owned_by(project),
        topic=f"session:{info.id}",
        time=transcript.turns[-1].at_ms or None,
        source=Source(tool=SOURCE, session=info.id),
        trust=Trust.EXTRACTED.value,
        metadata={"rule": RULE, "evidence": shorten(transcript.turns[0].person, _SHOWN), "model": model},
    )


def _find_memories_of_rules(
    store: MemoryStore, info: SessionInfo, transcript: Transcript, project: str | None
) -> Iterator[Memory]:
    """Yield what the rules made of the same messages, unless the user has changed it."""
    moments = [turn.at_ms for turn in transcript.turns if turn.at_ms]
    messages = {turn.message for turn in transcript.turns}
    for place in dict.fromkeys((project, None)) if moments else ():
        statuses = (Status.ACTIVE, Status.CANDIDATE)
        for memory in list_all(store, scope=Scope.owned_by(place), status=statuses, since=min(moments)):
            is_same = memory.source.session == info.id and memory.source.message in messages
            is_of_rules = memory.is_learned and memory.metadata.get("rule") != RULE
            if is_same and is_of_rules and not _was_changed_by_user(store, memory):
                yield memory


def _was_changed_by_user(store: MemoryStore, memory: Memory) -> bool:
    if memory.pinned or memory.verified_at is not None:
        return True
    changes = (entry for entry in store.history(memory.id) if entry.kind not in {"create", "merge"})
    return any(entry.undone or entry.actor is Trust.USER for entry in changes)


def _has_same_quote(memory: Memory, statement: Statement) -> bool:
    if memory.source.message != statement.candidate.message:
        return False
    evidence = normalise(str(memory.metadata.get("evidence", ""))).rstrip("…").strip(" .")
    quote = normalise(statement.quote).strip(" .")
    return bool(evidence) and (evidence in quote or quote in evidence)


def _becomes(old: Memory, new: NewMemory, topics: Collection[str | None]) -> bool:
    """Return whether the store writes a new memory in place of the old one, under its id, so that it must stay.

    Args:
        old: The memory that would be archived.
        new: The memory that replaces it.
        topics: Topics of all memories that are written.
    """
    return old.topic in topics or normalise(old.content) == normalise(new.content)


def _find_active(store: MemoryStore, id_: str, project: str | None) -> Memory | None:
    """Return an active memory of the same project; the user may have deleted or moved it meanwhile."""
    try:
        memory = store.get(id_)
    except NotFoundError:
        return None
    return memory if memory.status is Status.ACTIVE and memory.project == project else None


def _may_replace(new: NewMemory, old: Memory) -> bool:
    """Return whether a memory replaces another one. Lower trust never replaces higher, and a pinned memory stays."""
    if new.status != Status.ACTIVE or old.pinned or old.category is Category.CONVERSATION:
        return False
    if old.verified_at is not None and new.trust != Trust.USER:
        return False
    return _TRUST_ORDER.index(Trust(new.trust)) <= _TRUST_ORDER.index(old.trust)
