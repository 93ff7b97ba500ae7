"""What is learned from one plugin, and what became of the memories that were shown to its sessions."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from opencode_memory.errors import NotFoundError
from opencode_memory.extraction.events import AssistantText, ToolCall, UserText
from opencode_memory.injection.usefulness import is_taken_up
from opencode_memory.learning.live import LiveLearning
from opencode_memory.learning.projects import ProjectsOfFolders
from opencode_memory.learning.switches import Switches
from opencode_memory.ledger import Decision, Outcome, State
from opencode_memory.models import Status

if TYPE_CHECKING:
    from opencode_memory.ingest.live import Batch
    from opencode_memory.memory import MemoryStore
    from opencode_memory.server.state import State as Server

_LONGEST: Final = 20_000
_MOST_SESSIONS: Final = 200
_MOST_SHOWN: Final = 60
_GONE: Final = frozenset({Status.SUPERSEDED, Status.ARCHIVED})


@dataclass(slots=True)
class _Turn:
    """What was asked last, and what the agent has done about it so far."""

    asked: str = ""
    done: str = ""


class Watch:
    """What follows the events of one plugin.

    Args:
        server: The server's state.
    """

    def __init__(self, server: Server) -> None:
        self._server = server
        config = server.config
        self._learning = LiveLearning(
            server.store,
            projects=ProjectsOfFolders(server.store, config.environment),
            switches=Switches.of(config.learning),
            rest_seconds=config.learning.rest_seconds,
            on_batch=self._follow,
        )
        self._turns: OrderedDict[str, _Turn] = OrderedDict()
        # Events come one after the other, but a compaction comes in between.
        self._lock = threading.Lock()

    def take(self, params: Any, *, at: datetime) -> None:
        """Take the parameters of an ``events`` notification.

        Raises:
            InvalidInputError: They are no such parameters.
        """
        with self._lock:
            learned = self._learning.take(params, at_ms=_milliseconds(at))
        if any(one.active for one in learned):
            self._server.wake_worker()

    def rest(self, session: str, *, at: datetime) -> None:
        """Write what waits in a session, before what was said goes out of sight."""
        with self._lock:
            has_learned = self._learning.rest(session, at_ms=_milliseconds(at))
        if has_learned:
            self._server.wake_worker()

    def _follow(self, batch: Batch) -> None:
        session = batch.session.id
        turn = self._turns.setdefault(session, _Turn())
        self._turns.move_to_end(session)
        while len(self._turns) > _MOST_SESSIONS:
            self._turns.popitem(last=False)
        for message in batch.messages:
            for event in message.events:
                match event:
                    case UserText():
                        turn.asked, turn.done = event.text[-_LONGEST:], ""
                    case AssistantText():
                        turn.done = f"{turn.done}\n{event.text}"[-_LONGEST:]
                    case ToolCall():
                        written = " ".join(str(value) for value in event.input.values() if isinstance(value, str))
                        turn.done = f"{turn.done}\n{written}"[-_LONGEST:]
        if batch.ended and turn.done:
            judge(self._server.store, session, asked=turn.asked, done=turn.done)


def judge(store: MemoryStore, session: str, *, asked: str, done: str) -> None:
    """Note which of the memories that were shown to a session were taken up, and which turned out wrong."""
    used: list[str] = []
    wrong: list[str] = []
    for id_, decision in _open(store.ledger.decisions(session)).items():
        try:
            memory = store.get(id_)
        except NotFoundError:
            continue  # Purged meanwhile.
        if memory.status in _GONE and memory.updated_at > decision.at:
            wrong.append(id_)
        elif is_taken_up(memory.content, id=id_, asked=asked, done=done):
            used.append(id_)
    if used:
        store.ledger.note(session, used, Outcome.USED)
        store.note_uses(used)
    if wrong:
        store.ledger.note(session, wrong, Outcome.CONTRADICTED)


def _open(decisions: list[Decision]) -> dict[str, Decision]:
    """Return the memories that were shown and may still turn out otherwise, the last ones first."""
    shown = [
        (one.memory, decision)
        for decision in reversed(decisions)
        if decision.state is State.SHOWN
        for one in decision.shown
        if one.outcome is not Outcome.CONTRADICTED
    ]
    return dict(shown[:_MOST_SHOWN])


def _milliseconds(at: datetime) -> int:
    return round(at.timestamp() * 1000)
