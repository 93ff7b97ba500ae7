"""Sessions of agents and their claims, so that two agents do not work on the same item.

Both are leases in the store. After its lease a session keeps its claims until another session takes them over.
Every process that opens the store sees the same claims, and of two sessions that race for a claim one wins.
"""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any, Final

from opencode_memory.entities import canonical
from opencode_memory.errors import InvalidInputError
from opencode_memory.models import Claim, Claimed, Session
from opencode_memory.store import arguments
from opencode_memory.store.work_trees import NO_WORK_TREES, WorkTrees

if TYPE_CHECKING:
    from opencode_memory._core import Engine

LEASE_SECONDS: Final = 900.0


class Sessions:
    """The sessions of a store; ``MemoryStore.sessions`` is one.

    Every method takes ``project``, by default the store's own. Without a project, the sessions without one are meant.
    """

    def __init__(self, engine: Engine, project: str | None, work_trees: WorkTrees = NO_WORK_TREES) -> None:
        self._engine = engine
        self._project = project
        self._work_trees = work_trees

    def start(
        self,
        session: str,
        *,
        working_on: str | None = None,
        lease_seconds: float = LEASE_SECONDS,
        project: str | None = None,
    ) -> Session:
        """Start a session, or renew it; its claims stay.

        Args:
            session: Its id.
            working_on: The current task; None keeps the earlier one.
            lease_seconds: Seconds until the session ends without a heartbeat; at most seven days.
            project: Its project.
        """
        if working_on is not None and not arguments.text(working_on, field="working_on").strip():
            # The engine would call it a topic.
            raise InvalidInputError("working_on: is empty; leave it out instead", field="working_on")
        return _session(
            self._engine.session_start(
                self._owner(project),
                arguments.text(session, field="session_id"),
                working_on,
                _lease_ms(lease_seconds),
            )
        )

    def heartbeat(self, session: str, *, lease_seconds: float = LEASE_SECONDS, project: str | None = None) -> Session:
        """Renew the lease of a session.

        Args:
            session: Its id.
            lease_seconds: Seconds until the session ends without another heartbeat; at most seven days.
            project: Its project.

        Raises:
            NotFoundError: It was never started.
            ConflictError: It has ended.
        """
        name = arguments.text(session, field="session_id")
        return _session(self._engine.session_heartbeat(self._owner(project), name, _lease_ms(lease_seconds)))

    def end(self, session: str, *, project: str | None = None) -> Session:
        """End a session; return it with the claims that it released.

        Raises:
            NotFoundError: It was never started.
        """
        return _session(self._engine.session_end(self._owner(project), arguments.text(session, field="session_id")))

    def active(self, *, project: str | None = None) -> builtins.list[Session]:
        """Return the sessions that are alive, most recently renewed first."""
        return [_session(found) for found in self._engine.sessions(self._owner(project))]

    def claim(
        self, session: str, item: str, *, lease_seconds: float = LEASE_SECONDS, project: str | None = None
    ) -> Claimed:
        """Claim an item for one session; start the session if needed.

        Args:
            session: The session that claims.
            item: ``!12``, ``src/app.py``, or any words; different spellings of one item are the same claim.
            lease_seconds: Seconds until the session ends without a heartbeat; at most seven days.
            project: Its project.

        Returns:
            The current owner. A claim of a living session stays with it. If the lease of its session has ended, the
            claim is taken over and the result names the previous owner.
        """
        owner = self._owner(project)
        found = self._engine.claim(
            owner, arguments.text(session, field="session_id"), self._item(item, owner), _lease_ms(lease_seconds)
        )
        before = found["taken_over_from"]
        return Claimed(
            granted=found["granted"],
            item=found["item"],
            owner=_session(found["owner"]),
            since=arguments.moment(found["since"]),
            taken_over_from=None if before is None else _session(before),
        )

    def release(self, session: str, item: str, *, project: str | None = None) -> bool:
        """Release a claim; return whether the session had it.

        Args:
            session: The session that claimed.
            item: The item, in any of its spellings.
            project: Its project.

        Raises:
            ConflictError: Another session has it.
        """
        owner = self._owner(project)
        return self._engine.release(owner, arguments.text(session, field="session_id"), self._item(item, owner))

    def _owner(self, project: str | None) -> str | None:
        return self._project if project is None else arguments.text(project, field="project")

    def _item(self, item: str, project: str | None) -> str:
        trees = self._work_trees.get(project, ())
        return canonical(arguments.text(item, field="item_ref"), project=project, work_trees=trees)


def _lease_ms(seconds: float) -> int:
    return arguments.ttl_ms(arguments.number(seconds, field="lease_seconds") or 0)


def _session(found: dict[str, Any]) -> Session:
    return Session(
        id=found["id"],
        working_on=found["working_on"],
        started_at=arguments.moment(found["started_at"]),
        seen_at=arguments.moment(found["seen_at"]),
        lease_until=arguments.moment(found["lease_until"]),
        ended_at=None if found["ended_at"] is None else arguments.moment(found["ended_at"]),
        claims=tuple(Claim(item=item, since=arguments.moment(since)) for item, since in found["claims"]),
    )
