"""One run of relearning: a proposal, its application, and its undo.

Memories are judged before anything is written, so an interrupted run archives nothing. All memories are archived in one
change, so ``undo`` brings them back as long as no other change came later; ``undo_run`` does so at any later time.

Kept memories keep their wording. Otherwise an old memory with a new text would replace later ones on its subject.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from opencode_memory.errors import NotFoundError
from opencode_memory.learning.extraction.events import Message, SessionInfo
from opencode_memory.learning.extraction.rules_version import RULES, RULES_KEY
from opencode_memory.learning.relearn.judge import Judge, Verdict
from opencode_memory.learning.relearn.offer import settle_offer
from opencode_memory.learning.relearn.selection import JUDGED, find_protection, is_old, list_old, list_successors
from opencode_memory.models import ALL_PROJECTS, HistoryEntry, Memory, Status, Trust
from opencode_memory.store.pages import list_all

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore

REASON: Final = f"no longer learned by the rules (relearn, rules {RULES})"
"""Reason in the history of an archived memory, by which ``undo_run`` finds it again."""
_CREDITED: Final = "relearned"
"""Member of the metadata of a memory that counts as the user's since relearning."""


class Transcripts(Protocol):
    """Sessions that can still be read."""

    def open_session(self, session: str) -> tuple[SessionInfo, Iterable[Sequence[Message]]] | None:
        """Return a session with the pages of its messages; None if it cannot be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """Verdicts on all memories of earlier rules.

    Attributes:
        archive: Verdicts on the memories to archive.
        keep: Verdicts on the memories that stay.
        unread: Number of sessions that could not be read.
    """

    archive: tuple[Verdict, ...]
    keep: tuple[Verdict, ...]
    unread: int


def propose(
    store: MemoryStore,
    transcripts: Transcripts | None = None,
    *,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> Proposal:
    """Judge all memories of earlier rules without changing one.

    Args:
        store: The store.
        transcripts: The sessions; None if there are none, so that each memory is judged by its evidence.
        progress: Called with the number of judged memories, and the number of all.

    Raises:
        StorageError: The store or OpenCode's database is damaged or not readable.
    """
    by_session: dict[str, list[str]] = {}
    for memory in list_old(store):
        by_session.setdefault(memory.source.session or "", []).append(memory.id)
    total = sum(map(len, by_session.values()))
    judge, verdicts, unread = Judge(store), list[Verdict](), 0
    done, successors = 0, list_successors(store)
    for session, ids in by_session.items():
        protected, left = _set_protected_apart(store, ids, successors)
        verdicts += protected
        opened = transcripts.open_session(session) if transcripts is not None and session and left else None
        if opened is not None:
            verdicts += judge.judge_session(*opened, left)
        else:
            unread += bool(left)
            verdicts += map(judge.judge_alone, left)
        done += len(ids)
        progress(done, total)
    verdicts += judge.finish()
    return Proposal(
        archive=tuple(verdict for verdict in verdicts if not verdict.is_kept),
        keep=tuple(verdict for verdict in verdicts if verdict.is_kept),
        unread=unread,
    )


def apply(store: MemoryStore, proposal: Proposal) -> tuple[str, ...]:
    """Archive the memories of a proposal in one change, and return their ids.

    Memories that were confirmed, used or archived since the proposal are left out. Kept memories in the words that the
    user typed count as the user's from now on, as those that the present rules learn.
    """
    for verdict in proposal.keep:
        if verdict.is_typed:
            _credit_user(store, verdict.id)
    successors = list_successors(store)
    ids = tuple(verdict.id for verdict in proposal.archive if _may_archive(store, verdict.id, successors))
    if ids:
        store.archive(ids, reason=REASON)
    settle_offer(store)
    return ids


def undo_run(store: MemoryStore) -> tuple[str, ...]:
    """Take back what relearning changed, for all memories that nothing has changed since; return their ids.

    Archived memories come back, and kept ones do not count as the user's any more.
    """
    ids = tuple(memory.id for memory in _list_archived(store) if _was_archived_here(store, memory))
    credited = tuple(memory.id for memory in _list_credited(store) if _was_credited_here(store, memory))
    if ids or credited:
        store.undo([*ids, *credited])
    return (*ids, *credited)


def _set_protected_apart(
    store: MemoryStore, ids: Sequence[str], successors: frozenset[str]
) -> tuple[list[Verdict], list[Memory]]:
    protected, left = [], []
    for id_ in ids:
        with suppress(NotFoundError):  # Another process deleted the memory meanwhile.
            memory = store.get(id_)
            reason = find_protection(store, memory, successors)
            if reason is None:
                left.append(memory)
            else:
                protected.append(Verdict.of(memory, reason, is_kept=True))
    return protected, left


def _may_archive(store: MemoryStore, id_: str, successors: frozenset[str]) -> bool:
    try:
        memory = store.get(id_)
    except NotFoundError:
        return False
    return memory.status in JUDGED and is_old(memory) and find_protection(store, memory, successors) is None


def _credit_user(store: MemoryStore, id_: str) -> None:
    with suppress(NotFoundError):  # Another process deleted the memory meanwhile.
        memory = store.get(id_)
        if memory.status is Status.ACTIVE and memory.trust is Trust.EXTRACTED:
            metadata = {**memory.metadata, RULES_KEY: RULES, _CREDITED: True}
            store.edit(memory.id, trust=Trust.USER.value, metadata=metadata)


def _list_archived(store: MemoryStore) -> Iterator[Memory]:
    yield from filter(is_old, _list_all(store, Status.ARCHIVED))


def _list_credited(store: MemoryStore) -> Iterator[Memory]:
    yield from (memory for memory in _list_all(store, Status.ACTIVE) if memory.metadata.get(_CREDITED) is True)


def _list_all(store: MemoryStore, status: Status) -> Iterator[Memory]:
    yield from list_all(store, project=ALL_PROJECTS, status=status, with_expired=True)


def _was_archived_here(store: MemoryStore, memory: Memory) -> bool:
    change = _find_last_change(store, memory)
    return change is not None and change.kind == f"archive: {REASON}"


def _was_credited_here(store: MemoryStore, memory: Memory) -> bool:
    change = _find_last_change(store, memory)
    return change is not None and change.before is not None and _CREDITED not in change.before.metadata


def _find_last_change(store: MemoryStore, memory: Memory) -> HistoryEntry | None:
    changes = [change for change in store.history(memory.id) if not change.undone and change.kind != "undo"]
    return changes[-1] if changes else None
