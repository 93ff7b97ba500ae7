"""Queue of sessions that want a digest: durable, shared by all processes, and claimable by choice.

A session has one row. It is due after it came to rest, is claimed with a lease, and is finished in the same transaction
that stores its memories. A process that dies leaves a lease that ends. Every change compares the version of the row and
is repeated if another process was faster, so two processes never hold the same session.

The queue of ``store.jobs`` hands out the next job of a kind. A session may only be digested by the OpenCode that works
in its folder, so claims need a choice.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from opencode_memory.errors import ConflictError, OpencodeMemoryError
from opencode_memory.learning.extraction.events import SessionInfo
from opencode_memory.learning.session_writes import retry
from opencode_memory.models import NewMemory, RememberResult
from opencode_memory.store.learning_state import Batch, Progress

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore

MOST_ATTEMPTS: Final = 5
LEASE_SECONDS: Final = 300.0
OLDEST_SECONDS: Final = 7 * 86_400
"""Age of a session's last message until which the session is digested by itself."""
_FEED: Final = "opencode-memory:digest"
_ROW: Final = "digest:"
_FIRST_PAUSE_SECONDS: Final = 60.0
_PAUSE_GROWS: Final = 4
_LONGEST_ERROR: Final = 500
_WANTS_NONE: Final = re.compile(r'"due_ms": ?null|"is_dead": ?true')
"""Matches a stored row that is not due. Quotes in its texts are escaped, so no text matches."""
_T = TypeVar("_T")


class ClaimLostError(OpencodeMemoryError):
    """The lease of a session has ended and another process digests it, so this one has to stop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A session in the queue. Times are in UTC milliseconds.

    Attributes:
        session: Its id.
        directory: Its folder.
        parent: The session that started it; None for a session of the user.
        title: Its title.
        active_ms: Time of its last activity.
        due_ms: Time from which it may be digested; None if it wants no digest.
        lease_until: End of the lease; 0 if no process has it.
        worker: Name of the process that has it; empty if none.
        attempts: How often it was claimed since its last success.
        error: Why the last attempt failed; empty if it did not.
        error_ms: Time of that failure; 0 if there is none.
        is_dead: Whether it is not tried any more, until it rests again.
        requests: Number of answered requests for this session.
        tokens: Tokens of these requests.
        digested_ms: Time of the last digest; 0 if there is none.
        model: Model of the last digest.
        summary: Summary of the session by its digests so far.
        replaced: Ids of memories that the last digest replaces and that are not archived yet.
    """

    session: str
    directory: str = ""
    parent: str | None = None
    title: str = ""
    active_ms: int = 0
    due_ms: int | None = None
    lease_until: int = 0
    worker: str = ""
    attempts: int = 0
    error: str = ""
    error_ms: int = 0
    is_dead: bool = False
    requests: int = 0
    tokens: int = 0
    digested_ms: int = 0
    model: str = ""
    summary: str = ""
    replaced: tuple[str, ...] = ()

    @property
    def info(self) -> SessionInfo:
        """The session."""
        return SessionInfo(id=self.session, directory=self.directory, parent=self.parent, title=self.title)

    @property
    def is_due(self) -> bool:
        """Whether the session wants a digest, now or later."""
        return self.due_ms is not None and not self.is_dead

    @classmethod
    def from_json(cls, session: str, text: str) -> Self:
        """Build an entry from stored JSON; members of later versions are ignored."""
        stored: Any = json.loads(text)
        known = {name: value for name, value in stored.items() if name in cls.__slots__ and name != "session"}
        return cls(**{**known, "session": session, "replaced": tuple(known.get("replaced", ()))})

    def to_json(self) -> str:
        """Convert to JSON."""
        return json.dumps({name: value for name, value in asdict(self).items() if name != "session"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """A claimed session.

    Attributes:
        info: The session.
        active_ms: Time of its last activity, in UTC milliseconds.
        due_ms: Time from which it was due; a later rest changes it.
        worker: Name of the process that claimed it.
        attempts: How often it was claimed since its last success.
    """

    info: SessionInfo
    active_ms: int
    due_ms: int
    worker: str
    attempts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """What is written when a session was digested.

    Attributes:
        memories: The memories.
        links: Links from these memories, as ``Batch`` takes them.
        processed: Names of the messages that this digest covers; none may be written already.
        tokens: Tokens of the request and its answer.
        model: The model.
        summary: Summary of the session, for its next digest.
        replaced: Ids of memories that ``settle`` archives.
        is_partial: Whether more messages wait, so that the session stays due.
    """

    memories: Sequence[NewMemory] = ()
    links: Sequence[tuple[int, str | int, str, str]] = ()
    processed: Sequence[str] = ()
    tokens: int = 0
    model: str = ""
    summary: str = ""
    replaced: Sequence[str] = ()
    is_partial: bool = False


class DigestQueue:
    """Queue of a store.

    Args:
        store: The store.
        now_ms: Returns the current time in UTC milliseconds.
    """

    def __init__(self, store: MemoryStore, *, now_ms: Callable[[], int]) -> None:
        self._store = store
        self._now_ms = now_ms

    def add(self, info: SessionInfo, *, active_ms: int, rest_seconds: float, at_once: bool = False) -> bool:
        """Queue a session that came to rest, or move its time if it is queued already.

        Args:
            info: The session; subagents' sessions are not queued.
            active_ms: Time of its last activity.
            rest_seconds: Seconds without activity after which it is due.
            at_once: Whether it is due now and its age does not matter.

        Returns:
            Whether it was queued.
        """
        now = self._now_ms()
        is_old = now - active_ms > OLDEST_SECONDS * 1000
        if info.parent is not None or (is_old and not at_once):
            return False
        due_ms = now if at_once else max(now, active_ms + round(rest_seconds * 1000))

        def change(entry: Entry) -> Entry:
            # A session that failed is tried again, because it has more messages by now.
            return replace(
                entry,
                directory=info.directory,
                title=info.title,
                active_ms=active_ms,
                due_ms=due_ms,
                attempts=0 if entry.is_dead else entry.attempts,
                is_dead=False,
            )

        self._change(info.id, change)
        return True

    def entries(self) -> tuple[Entry, ...]:
        """Return all sessions that were ever queued, the one that is due first in front."""
        return self._find(lambda _: True)

    def has_due(self, *, is_mine: Callable[[Entry], bool] = lambda _: True) -> bool:
        """Return whether ``claim`` would find a session. Reads only."""
        return any(self._is_free(entry) and is_mine(entry) for entry in self._find_due())

    def claim(
        self, worker: str, *, is_mine: Callable[[Entry], bool] = lambda _: True, lease_seconds: float = LEASE_SECONDS
    ) -> Due | None:
        """Claim the session that has been due for the longest time; None if there is none.

        Args:
            worker: Name of the process; no other process may have it.
            is_mine: Returns whether this process can digest a session.
            lease_seconds: Duration of the lease.
        """
        for entry in self._find_due():
            if self._is_free(entry) and is_mine(entry):
                claimed = self._claim(entry.session, worker, lease_seconds)
                if claimed is not None:
                    return claimed
        return None

    def renew(self, due: Due, *, lease_seconds: float = LEASE_SECONDS) -> None:
        """Renew a lease.

        Raises:
            ClaimLostError: Another process has the session.
        """
        until = self._now_ms() + round(lease_seconds * 1000)
        self._change_held(due, lambda entry: replace(entry, lease_until=until))

    def finish(self, due: Due) -> None:
        """End a claim without a digest, because there is nothing to digest.

        Raises:
            ClaimLostError: Another process has the session.
        """
        self._change_held(due, lambda entry: _end(entry, due))

    def postpone(self, due: Due, reason: str, *, seconds: float) -> None:
        """End a claim that could not begin: the session is busy, the model offline, or a budget used up.

        Raises:
            ClaimLostError: Another process has the session.
        """
        now = self._now_ms()

        def change(entry: Entry) -> Entry:
            due_ms = max(entry.due_ms or 0, now + round(seconds * 1000))
            attempts = max(0, entry.attempts - 1)
            return replace(_free(entry), due_ms=due_ms, attempts=attempts, error=reason[:_LONGEST_ERROR], error_ms=now)

        self._change_held(due, change)

    def fail(self, due: Due, error: str, *, is_final: bool = False, retry_after_seconds: float | None = None) -> None:
        """End a claim that failed. The pauses grow; after ``MOST_ATTEMPTS`` attempts the session is dead.

        Args:
            due: As it was claimed.
            error: The reason, for people; without texts of the session.
            is_final: Whether a repetition cannot help.
            retry_after_seconds: Pause that the server asked for.

        Raises:
            ClaimLostError: Another process has the session.
        """
        now = self._now_ms()

        def change(entry: Entry) -> Entry:
            pause = retry_after_seconds or _FIRST_PAUSE_SECONDS * _PAUSE_GROWS ** max(0, entry.attempts - 1)
            return replace(
                _free(entry),
                due_ms=now + round(pause * 1000),
                is_dead=is_final or entry.attempts >= MOST_ATTEMPTS,
                error=error[:_LONGEST_ERROR],
                error_ms=now,
            )

        self._change_held(due, change)

    def complete(self, due: Due, completion: Completion) -> list[RememberResult]:
        """Write the memories of a digest, its marks and the end of the claim in one transaction.

        Raises:
            ClaimLostError: Another process has the session, or has digested the same messages.
        """
        now = self._now_ms()

        def change(entry: Entry) -> Entry:
            # With something left to archive the session stays due, so that the next claim does it after a crash.
            ended = _free(entry) if completion.is_partial or completion.replaced else _end(entry, due)
            return replace(
                ended,
                attempts=0,
                error="",
                error_ms=0,
                requests=entry.requests + 1,
                tokens=entry.tokens + completion.tokens,
                digested_ms=now,
                model=completion.model,
                summary=completion.summary,
                replaced=tuple(completion.replaced),
            )

        return self._change_held(due, change, completion)

    def read(self, due: Due) -> Entry:
        """Return the row of a claimed session."""
        return self._read(due.info.id)[1]

    def settle(self, due: Due, archive: Callable[[Sequence[str]], None], *, is_over: bool) -> None:
        """Archive the memories that the last digest of a session replaces, unless that was done.

        Args:
            due: The session, as it was claimed.
            archive: Archives memories; may be called again for the same ones.
            is_over: Whether the session wants no further digest after that.
        """
        if not (replaced := self.read(due).replaced):
            return
        archive(replaced)

        def change(entry: Entry) -> Entry:
            ends = is_over and not entry.worker and entry.due_ms == due.due_ms
            return replace(entry, replaced=(), due_ms=None if ends else entry.due_ms)

        self._change(due.info.id, change)

    def revive(self) -> int:
        """Let dead sessions be tried again; return how many."""
        dead = [entry for entry in self.entries() if entry.is_dead]
        for entry in dead:
            self._change(
                entry.session,
                lambda found: replace(found, is_dead=False, attempts=0, due_ms=self._now_ms()),
            )
        return len(dead)

    def _find_due(self) -> tuple[Entry, ...]:
        """Return the sessions that are due now or later.

        Rows of the others are not parsed: there is one for each session, and processes look every few seconds.
        """
        return self._find(lambda row: _WANTS_NONE.search(row) is None)

    def _find(self, is_wanted: Callable[[str], bool]) -> tuple[Entry, ...]:
        rows = self._store.learning.progress(_FEED)
        found = [
            Entry.from_json(name.removeprefix(_ROW), progress.mark)
            for name, progress in rows.items()
            if is_wanted(progress.mark)
        ]
        return tuple(sorted(found, key=lambda entry: (not entry.is_due, entry.due_ms or 0, entry.session)))

    def _is_free(self, entry: Entry) -> bool:
        now = self._now_ms()
        return entry.is_due and (entry.due_ms or 0) <= now and entry.lease_until <= now

    def _claim(self, session: str, worker: str, lease_seconds: float) -> Due | None:
        version, entry = self._read(session)
        if not self._is_free(entry):
            return None
        now = self._now_ms()
        if entry.attempts >= MOST_ATTEMPTS:
            # Every process that had it has died, so it never reported a failure.
            error = entry.error or "every process that had it died"
            claimed = replace(_free(entry), is_dead=True, error=error, error_ms=now)
        else:
            claimed = replace(
                entry, lease_until=now + round(lease_seconds * 1000), worker=worker, attempts=entry.attempts + 1
            )
        try:
            self._write(version, claimed)
        except ConflictError:
            return None  # Another process was faster.
        if claimed.is_dead:
            return None
        return Due(
            info=entry.info,
            active_ms=entry.active_ms,
            due_ms=entry.due_ms or 0,
            worker=worker,
            attempts=claimed.attempts,
        )

    def _change(self, session: str, change: Callable[[Entry], Entry]) -> None:
        def attempt() -> None:
            version, entry = self._read(session)
            self._write(version, change(entry))

        _retry(attempt, session)

    def _change_held(
        self, due: Due, change: Callable[[Entry], Entry], completion: Completion | None = None
    ) -> list[RememberResult]:
        def attempt() -> list[RememberResult]:
            version, entry = self._read(due.info.id)
            if entry.worker != due.worker or entry.attempts != due.attempts:
                raise ClaimLostError(f"another process digests session {due.info.id} by now")
            if completion is not None and any(self._store.learning.are_processed(list(completion.processed))):
                raise ClaimLostError(f"messages of session {due.info.id} were digested in another session meanwhile")
            return self._write(version, change(entry), completion)

        return _retry(attempt, due.info.id)

    def _read(self, session: str) -> tuple[int, Entry]:
        version, state = self._store.learning.open(_ROW + session)
        return version, Entry.from_json(session, state)

    def _write(self, version: int, entry: Entry, completion: Completion | None = None) -> list[RememberResult]:
        state = entry.to_json()
        done = completion or Completion()
        return self._store.learning.write(
            Batch(
                session=_ROW + entry.session,
                version=version,
                state=state,
                processed=done.processed,
                memories=done.memories,
                links=done.links,
                feed=_FEED,
                progress=Progress(mark=state, cursor=None),
            )
        )


def _free(entry: Entry) -> Entry:
    return replace(entry, lease_until=0, worker="")


def _end(entry: Entry, due: Due) -> Entry:
    """End a claim. If the session came to rest again meanwhile, it stays due."""
    rested_again = entry.due_ms is not None and entry.due_ms != due.due_ms
    return replace(_free(entry), attempts=0, error="", error_ms=0, due_ms=entry.due_ms if rested_again else None)


def _retry(attempt: Callable[[], _T], session: str) -> _T:
    return retry(attempt, busy=f"session {session} is changed by other processes all the time; it is digested later")
