"""Duty of the digest: sends sessions that are due to an OpenAI-compatible server, one at a time.

Sessions that a model of OpenCode digests are left to the server of the plugin.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Final

from opencode_memory.errors import InvalidInputError, StorageError
from opencode_memory.learning.digest.budget import BudgetExceeded, StoredUsage
from opencode_memory.learning.digest.digester import Digester
from opencode_memory.learning.digest.errors import DigestError, UnreachableError
from opencode_memory.learning.digest.queue import ClaimLostError, DigestQueue, Due
from opencode_memory.learning.digest.report import DigestReport
from opencode_memory.learning.digest.server_model import ServerModel
from opencode_memory.learning.digest.settings import read_settings
from opencode_memory.learning.digest.transcript import TranscriptSource
from opencode_memory.learning.switches import Switches
from opencode_memory.text.clock import to_ms

if TYPE_CHECKING:
    from opencode_memory.config.sections import LearningConfig
    from opencode_memory.store.memory_store import MemoryStore

_OFFLINE_SECONDS: Final = 600.0
_UNREADABLE_SECONDS: Final = 300.0
_SPARE_SECONDS: Final = 60.0


class ServerDigests:
    """Digests sessions with the model of an OpenAI-compatible server.

    Args:
        store: The store.
        config: Configuration of learning; ``uses_server`` holds for it.
        source: Reads the sessions.
        project_of: Returns the project of a folder.
        work_tree_of: Returns the work tree of a folder.
        clock: Returns the current time.

    Raises:
        InvalidInputError: The settings of the server are invalid.
    """

    def __init__(
        self,
        store: MemoryStore,
        config: LearningConfig,
        source: TranscriptSource,
        *,
        project_of: Callable[[str], str | None],
        work_tree_of: Callable[[str], str | None],
        clock: Callable[[], datetime],
    ) -> None:
        settings = read_settings(config)
        self._model = settings.model
        self._rest_seconds = config.digest_rest_seconds
        self._lease_seconds = config.digest_timeout_seconds * 2 + _SPARE_SECONDS
        self._source = source
        self._project_of = project_of
        self._work_tree_of = work_tree_of
        self._clock = clock
        self._server = ServerModel(settings, StoredUsage(store), clock=clock)
        self._queue = DigestQueue(store, now_ms=self._now_ms)
        self._digester = Digester(store, switches=Switches.from_config(config), now_ms=self._now_ms)

    def digest_next(self, worker: str, *, only: str | None = None) -> DigestReport | Due | None:
        """Digest the next session that is due.

        Args:
            worker: Name of this process.
            only: Id of the only session to digest; None for any.

        Returns:
            What was stored; the claimed session if it got no digest, whose row in the queue has the reason; None if no
            session is due.
        """
        due = self._queue.claim(
            worker,
            is_mine=lambda entry: only is None or entry.session == only,
            lease_seconds=self._lease_seconds,
        )
        if due is None:
            return None
        try:
            return self._digest(due) or due
        except ClaimLostError:
            return due
        except UnreachableError as error:
            self._queue.postpone(due, str(error), seconds=_OFFLINE_SECONDS)
        except DigestError as error:
            self._queue.fail(due, str(error), is_final=error.is_final, retry_after_seconds=error.retry_after_seconds)
        except (StorageError, InvalidInputError) as error:
            # OpenCode's database belongs to another program. It may be replaced or repaired at this moment.
            self._queue.postpone(due, str(error), seconds=_UNREADABLE_SECONDS)
        return due

    def _digest(self, due: Due) -> DigestReport | None:
        session = self._source.read_session(due.info.id)
        if session is None:
            self._queue.finish(due)
            return None
        info, messages, active_ms = session
        left_seconds = self._rest_seconds - (self._now_ms() - active_ms) / 1000
        if left_seconds > 0 and active_ms > due.active_ms:
            self._queue.postpone(due, "the session is active again", seconds=left_seconds)
            return None
        request = self._digester.prepare(
            due, messages, self._project_of(info.directory), work_tree=self._work_tree_of(info.directory)
        )
        if request is None:
            self._queue.finish(due)
            return None
        answer = self._server.ask(request.system, request.text)
        if isinstance(answer, BudgetExceeded):
            seconds = (answer.until - self._clock()).total_seconds()
            self._queue.postpone(due, f"the {answer.budget} of today are used up", seconds=seconds)
            return None
        return self._digester.accept(due, request, answer.text, tokens=answer.tokens, model=self._model)

    def _now_ms(self) -> int:
        return to_ms(self._clock())
