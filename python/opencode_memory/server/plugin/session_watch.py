"""Learns from the events of one plugin, and judges whether the shown memories were useful."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from opencode_memory.context.usefulness import is_taken_up
from opencode_memory.errors import NotFoundError, OpencodeMemoryError
from opencode_memory.hosts.opencode.feed.live_learning import LiveLearning
from opencode_memory.learning.extraction.events import AssistantText, ToolCall, UserText
from opencode_memory.learning.switches import Switches
from opencode_memory.models import Memory, Status, Trust
from opencode_memory.store.ledger import Decision, Outcome, State
from opencode_memory.text import clock
from opencode_memory.text.clock import to_ms

if TYPE_CHECKING:
    from opencode_memory.hosts.opencode.feed.event_stream import Batch
    from opencode_memory.server.server_state import ServerState
    from opencode_memory.store.memory_store import MemoryStore

_MAX_CHARACTERS: Final = 20_000
_MAX_SESSIONS: Final = 200
_MAX_SHOWN: Final = 60
_log: Final = logging.getLogger(__name__)
_JUDGES: Final = frozenset({Trust.USER, Trust.AGENT})


@dataclass(slots=True)
class _Turn:
    """The user's last request, and the agent's texts and tool inputs since then."""

    asked: str = ""
    done: str = ""


class Watch:
    """Follows the events of one plugin.

    Args:
        server: The server's state.
    """

    def __init__(self, server: ServerState) -> None:
        self._server = server
        config = server.config
        self._switches = Switches.from_config(config.learning)
        self._switches.note(server.store, at_ms=to_ms(clock.now()))
        self._learning = LiveLearning(
            server.store,
            projects=server.projects,
            switches=self._switches,
            rest_seconds=config.learning.rest_seconds,
            on_batch=self._follow,
        )
        self._turns: OrderedDict[str, _Turn] = OrderedDict()
        # Events are handled one after another, but a compaction may run at the same time.
        self._lock = threading.Lock()

    def take(self, params: Any, *, at: datetime) -> None:
        """Handle the parameters of an ``events`` notification.

        Raises:
            InvalidInputError: The parameters are invalid.
        """
        with self._lock:
            learned = self._learning.take(params, at_ms=to_ms(at))
        if any(result.active for result in learned):
            self._server.wake_worker()

    def rest(self, session: str, *, at: datetime) -> None:
        """Learn from a session now, before its messages are compacted away."""
        with self._lock:
            has_learned = self._learning.rest(session, at_ms=to_ms(at))
        if has_learned:
            self._server.wake_worker()

    def rest_others(self, session: str, directory: str, *, at: datetime) -> None:
        """Learn from the other idle sessions of a folder's project now, because a session begins."""
        with self._lock:
            has_learned = self._learning.rest_others(session, directory, at_ms=to_ms(at))
        if has_learned:
            self._server.wake_worker()

    def _follow(self, batch: Batch) -> None:
        session = batch.session.id
        turn = self._turns.setdefault(session, _Turn())
        self._turns.move_to_end(session)
        while len(self._turns) > _MAX_SESSIONS:
            self._turns.popitem(last=False)
        is_read = self._is_read(batch)
        for message in batch.messages:
            for event in message.events:
                match event:
                    case UserText():
                        if is_read:
                            self._note_typed(batch, event.text)
                        # A message may have several texts, and the user may send another before the agent answers.
                        before = "" if turn.done else f"{turn.asked}\n"
                        turn.asked, turn.done = f"{before}{event.text}"[-_MAX_CHARACTERS:], ""
                    case AssistantText():
                        turn.done = f"{turn.done}\n{event.text}"[-_MAX_CHARACTERS:]
                    case ToolCall():
                        written = " ".join(str(value) for value in event.input.values() if isinstance(value, str))
                        turn.done = f"{turn.done}\n{written}"[-_MAX_CHARACTERS:]
        if not is_read:
            self._server.typed.forget(session)
        if batch.ended and turn.done:
            try:
                judge(self._server.store, session, asked=turn.asked, done=turn.done)
            except OpencodeMemoryError as error:
                # Learning from the batch is more important, so go on.
                _log.warning("the usefulness of the memories shown to session %s is not recorded: %s", session, error)

    def _note_typed(self, batch: Batch, text: str) -> None:
        project = self._server.projects.of_session(batch.session.directory)
        self._server.typed.add(batch.session.id, text, project=project, parent=batch.session.parent)

    def _is_read(self, batch: Batch) -> bool:
        """Return whether messages of a session may be read at all: learning is on for it."""
        project = self._server.projects.of_session(batch.session.directory)
        is_on = self._switches.is_enabled("live") or self._switches.is_enabled("opencode")
        return is_on and not self._switches.skips(self._server.store, project, batch.session)


def judge(store: MemoryStore, session: str, *, asked: str, done: str) -> None:
    """Record which of the memories shown to a session were used, and which turned out to be wrong."""
    used: list[str] = []
    wrong: list[str] = []
    for id_, is_known in _open(store.ledger.decisions(session)).items():
        try:
            memory = store.get(id_)
        except NotFoundError:
            continue  # Purged in the meantime.
        if _was_put_away(store, memory):
            wrong.append(id_)
        elif not is_known and is_taken_up(memory.content, id=id_, asked=asked, done=done):
            used.append(id_)
    if used:
        store.ledger.note(session, used, Outcome.USED)
        store.note_uses(used)
    if wrong:
        store.ledger.note(session, wrong, Outcome.CONTRADICTED)


def _was_put_away(store: MemoryStore, memory: Memory) -> bool:
    """Return whether the user or an agent archived a memory after it was shown.

    The worker archives only old memories and duplicates, and a superseded memory was said again in other words.
    """
    if memory.status is not Status.ARCHIVED:
        return False
    ends = [entry for entry in store.history(memory.id) if entry.kind.startswith("archive") and not entry.undone]
    return bool(ends) and ends[-1].actor in _JUDGES


def _open(decisions: list[Decision]) -> dict[str, bool]:
    """Return the memories shown last that are not contradicted yet, each with whether it is known to be used."""
    all_shown = [
        shown
        for decision in reversed(decisions)
        if decision.state is State.SHOWN
        for shown in decision.shown
        if shown.outcome is not Outcome.CONTRADICTED
    ]
    return {shown.memory: shown.outcome is Outcome.USED for shown in all_shown[:_MAX_SHOWN]}
