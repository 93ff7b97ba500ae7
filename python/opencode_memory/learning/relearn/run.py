"""One run of relearning: a proposal, its application in one change, and its undo.

Memories are judged before anything is written, so an interrupted run changes nothing. The application is one change,
so ``undo`` takes all of it back as long as no other change came later; ``undo_run`` does so at any later time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from opencode_memory.errors import NotFoundError
from opencode_memory.learning.extraction.events import Message, SessionInfo
from opencode_memory.learning.extraction.rules_version import RULES
from opencode_memory.learning.relearn.judge import Judge, Verdict
from opencode_memory.learning.relearn.offer import settle_offer
from opencode_memory.learning.relearn.selection import JUDGED, find_protection, is_old, list_old, list_successors
from opencode_memory.models import ALL_PROJECTS, Memory, Status

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore

REASON: Final = f"no longer learned by the rules (relearn, rules {RULES})"
"""Reason in the history of an archived memory, by which ``undo_run`` finds it again."""
_PAGE: Final = 500


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

    Memories that were confirmed, used or archived since the proposal are left out.
    """
    successors = list_successors(store)
    ids = tuple(verdict.id for verdict in proposal.archive if _may_archive(store, verdict.id, successors))
    if ids:
        store.archive(ids, reason=REASON)
    settle_offer(store)
    return ids


def undo_run(store: MemoryStore) -> tuple[str, ...]:
    """Bring back all memories that relearning has archived and nothing has changed since; return their ids."""
    ids = tuple(memory.id for memory in _list_archived(store) if _was_archived_here(store, memory))
    if ids:
        store.undo(ids)
    return ids


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


def _list_archived(store: MemoryStore) -> Iterator[Memory]:
    offset = 0
    while page := store.list(
        project=ALL_PROJECTS, status=Status.ARCHIVED, with_expired=True, limit=_PAGE, offset=offset
    ):
        offset += len(page)
        yield from filter(is_old, page)


def _was_archived_here(store: MemoryStore, memory: Memory) -> bool:
    changes = [change for change in store.history(memory.id) if not change.undone and change.kind != "undo"]
    return bool(changes) and changes[-1].kind == f"archive: {REASON}"
