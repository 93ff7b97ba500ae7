"""Digests sessions that are due through the connected instances of OpenCode, one session at a time.

The user comes first: a digest begins only if no session of the process of OpenCode is at work, and it is given up as
soon as the user writes. Problems are recorded in the queue and logged. The user's session never sees them.
"""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import anyio
import anyio.to_thread

from opencode_memory.config.sections import Digest
from opencode_memory.errors import OpencodeMemoryError
from opencode_memory.hosts.opencode.feed.messages import read_message
from opencode_memory.learning.digest.budget import BudgetExceeded, Charge, DailyBudget, StoredUsage
from opencode_memory.learning.digest.errors import DigestError
from opencode_memory.learning.digest.queue import ClaimLostError, DigestQueue, Due, Entry
from opencode_memory.learning.digest.settings import uses_opencode
from opencode_memory.learning.extraction.events import Message
from opencode_memory.learning.switches import Switches
from opencode_memory.server.plugin.child_session import (
    Model,
    ModelAnswer,
    ModelError,
    ask_in_child,
    delete_leftovers,
    has_agent,
)
from opencode_memory.server.plugin.json_rpc import DisconnectedError, RemoteError
from opencode_memory.server.plugin.opencode_client import NotThereError, OpenCode
from opencode_memory.text import clock
from opencode_memory.text.clock import to_ms

if TYPE_CHECKING:
    from opencode_memory.learning.digest.digester import Digester, DigestRequest
    from opencode_memory.server.server_state import ServerState

_START_SECONDS: Final = 10.0
"""Pause after OpenCode has started, because the user may be about to write."""
_MOST_LEFT_SECONDS: Final = 3_600.0
"""Longest pause before sessions that could not be deleted are tried again."""
_LOOK_SECONDS: Final = 15.0
_LEAST_LOOK_SECONDS: Final = 0.2
_LEASE_SECONDS: Final = 60.0
_LEAST_LEASE_SECONDS: Final = 2.0
_BLOCKED_SECONDS: Final = 3_600.0
"""Pause if the user has to change something first."""
_LOST_SECONDS: Final = 60.0
_MOST_MESSAGES: Final = 1_000
_PAGE_SECONDS: Final = 30.0
_THREADS: Final = 2
_ID_LENGTH: Final = 16
_log: Final = logging.getLogger(__name__)
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, eq=False)
class Instance:
    """One connected instance of OpenCode.

    Attributes:
        opencode: Its client.
        folder: Its folder. One process of OpenCode may have several folders.
        pid: The process.
    """

    opencode: OpenCode
    folder: Path
    pid: int


@dataclass(slots=True)
class _Left:
    """A deletion of hidden sessions that is still to do in an instance.

    Attributes:
        due: Time of the next attempt, of the monotonic clock.
        pause: Pause after that attempt if it fails, too.
    """

    due: float
    pause: float


class _BlockedError(OpencodeMemoryError):
    """The digest is not possible until the user changes something, or for some time.

    Args:
        reason: The reason, for people.
        seconds: Pause until the session is due again.
    """

    def __init__(self, reason: str, *, seconds: float = _BLOCKED_SECONDS) -> None:
        super().__init__(reason)
        self.seconds = seconds


class DigestRunner:
    """Digests the sessions of one server.

    Args:
        server: The server's state.
    """

    def __init__(self, server: ServerState) -> None:
        self._server = server
        self._config = server.config.learning
        now_ms: Callable[[], int] = lambda: to_ms(clock.now())  # noqa: E731  its type is needed
        self._now_ms = now_ms
        self._queue = DigestQueue(server.store, now_ms=now_ms)
        self._digester: Digester | None = None
        self._budget = DailyBudget(
            StoredUsage(server.store),
            calls_per_day=self._config.digest_calls_per_day,
            tokens_per_day=self._config.digest_tokens_per_day,
            clock=clock.now,
        )
        rest = float(self._config.digest_rest_seconds)
        self._lease_seconds = max(_LEAST_LEASE_SECONDS, min(_LEASE_SECONDS, rest))
        self._start_seconds = min(_START_SECONDS, rest)
        self._look_seconds = max(_LEAST_LOOK_SECONDS, min(_LOOK_SECONDS, rest / 2))
        self._worker = f"server {os.getpid()}"
        self._store_id = hashlib.sha256(str(server.store.data_dir).encode()).hexdigest()[:_ID_LENGTH]
        self._limiter = anyio.CapacityLimiter(_THREADS)
        self._one_at_a_time = anyio.Lock()
        self._instances: set[Instance] = set()
        self._left: dict[Instance, _Left] = {}
        self._running: tuple[int, anyio.CancelScope] | None = None

    async def serve(self, instance: Instance) -> None:
        """Digest the due sessions of an instance until it disconnects, which cancels this task."""
        self._instances.add(instance)
        self._note_left(instance)  # An earlier connection may have left some.
        try:
            await self._delete_leftovers(instance)
            if not uses_opencode(self._config):
                while (left := self._left.get(instance)) is not None:
                    await anyio.sleep(max(0.0, left.due - anyio.current_time()))
                    await self._delete_leftovers(instance)
                return
            await anyio.sleep(self._start_seconds)
            while True:
                try:
                    await self._delete_leftovers(instance)
                    await self._digest_next(instance)
                except OpencodeMemoryError as error:
                    _log.info("no session of OpenCode in %s is digested now: %s", instance.folder, error)
                except Exception:  # noqa: BLE001  a bug here must not end the connection
                    _log.exception("the digest of a session of OpenCode in %s failed", instance.folder)
                await anyio.sleep(self._look_seconds)
        finally:
            self._instances.discard(instance)
            self._left.pop(instance, None)

    def interrupt(self, pid: int) -> None:
        """Give up a running digest, because the user writes in the same process of OpenCode."""
        if self._running is not None and self._running[0] == pid:
            self._running[1].cancel()

    def _note_left(self, instance: Instance) -> None:
        """Note that a digest may have left its hidden session in an instance."""
        self._left[instance] = _Left(due=anyio.current_time(), pause=self._look_seconds)

    async def _delete_leftovers(self, instance: Instance) -> None:
        """Delete hidden sessions that may be left. If that fails, the pause before the next attempt doubles."""
        # A running digest has a child, too, and it may be in the database of this instance.
        async with self._one_at_a_time:
            left = self._left.get(instance)
            if left is None or left.due > anyio.current_time():
                return
            try:
                number = await delete_leftovers(instance.opencode, store=self._store_id)
            except RemoteError as error:
                left.due, left.pause = anyio.current_time() + left.pause, min(2 * left.pause, _MOST_LEFT_SECONDS)
                _log.info("sessions that a digest may have left behind are not deleted: %s", error)
                return
            self._left.pop(instance, None)
        if number:
            _log.info("deleted %d sessions that a digest had left behind", number)

    async def _digest_next(self, instance: Instance) -> None:
        is_mine = partial(self._is_of, instance)
        async with self._one_at_a_time:
            if not await self._on_thread(partial(self._queue.has_due, is_mine=is_mine)):
                return
            if await self._is_busy(instance.pid):
                return
            due = await self._on_thread(
                partial(self._queue.claim, self._worker, is_mine=is_mine, lease_seconds=self._lease_seconds)
            )
            if due is None:
                return
            is_settled = False
            scope = anyio.CancelScope()
            try:
                with scope:
                    self._running = (instance.pid, scope)
                    await self._settle(instance, due)
                    is_settled = True
            finally:
                self._running = None
                if not is_settled:
                    with anyio.CancelScope(shield=True):
                        await self._release(due, is_in_use=scope.cancel_called)

    async def _release(self, due: Due, *, is_in_use: bool) -> None:
        """End a claim because the user writes, or because the connection was lost."""
        seconds = float(self._config.digest_rest_seconds)
        postpone = partial(self._queue.postpone, due, "OpenCode was in use", seconds=seconds)
        record: Callable[[], object] = postpone if is_in_use else self._record_loss(due)
        try:
            await self._on_thread(record)
        except OpencodeMemoryError as error:
            _log.info("session %s: %s", due.info.id, error)

    async def _settle(self, instance: Instance, due: Due) -> None:
        """Digest a session, and record the outcome in the queue."""
        record: Callable[[], object] | None = None
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._keep_lease, due, tasks.cancel_scope)
            record = await self._try(instance, due)
            tasks.cancel_scope.cancel()
        if record is not None:
            with anyio.CancelScope(shield=True):
                await self._on_thread(record)

    async def _try(self, instance: Instance, due: Due) -> Callable[[], object] | None:
        """Digest a session. Return how to record the outcome; None if it is recorded already."""
        try:
            is_stored = await self._digest(instance, due)
        except ClaimLostError:
            return None
        except _BlockedError as error:
            return partial(self._queue.postpone, due, str(error), seconds=error.seconds)
        except DisconnectedError:
            return self._record_loss(due)
        except OpencodeMemoryError as error:
            _log.info("session %s is not digested: %s", due.info.id, error)
            is_final = isinstance(error, ModelError | DigestError) and error.is_final
            return partial(self._queue.fail, due, str(error), is_final=is_final)
        return None if is_stored else partial(self._queue.finish, due)

    def _record_loss(self, due: Due) -> Callable[[], object]:
        """Return how to record that OpenCode has gone.

        This counts as an attempt, because the answer to a request may have ended the connection.
        """
        seconds = min(_LOST_SECONDS, float(self._config.digest_rest_seconds))
        return partial(self._queue.fail, due, "the connection to OpenCode was lost", retry_after_seconds=seconds)

    async def _keep_lease(self, due: Due, digest: anyio.CancelScope) -> None:
        """Renew the lease of a session, and cancel its digest if another worker has it."""
        while True:
            await anyio.sleep(self._lease_seconds / 3)
            try:
                await self._on_thread(partial(self._queue.renew, due, lease_seconds=self._lease_seconds))
            except ClaimLostError:
                digest.cancel()
            except OpencodeMemoryError as error:
                # For example on a full disk. The lease lasts for two more attempts.
                _log.info("the lease of session %s is not renewed: %s", due.info.id, error)

    def _load_digester(self) -> Digester:
        if self._digester is None:
            from opencode_memory.learning.digest.digester import Digester  # noqa: PLC0415  slow to import, rarely used

            switches = Switches.from_config(self._config)
            self._digester = Digester(self._server.store, switches=switches, now_ms=self._now_ms)
        return self._digester

    async def _digest(self, instance: Instance, due: Due) -> bool:
        """Return whether the digest is stored; false if there is nothing to digest."""
        opencode, session = instance.opencode, due.info.id
        try:
            facts = await opencode.get_facts(session, seconds=10.0)
        except NotThereError as error:
            raise _BlockedError("this OpenCode does not have the session") from error
        if facts.parent is not None or facts.is_ours:
            return False
        messages = await opencode.list_latest_messages(session, most=_MOST_MESSAGES, seconds=_PAGE_SECONDS)
        project = await self._on_thread(partial(self._server.projects.of_session, due.info.directory))
        digester = await self._on_thread(self._load_digester)
        tree = await self._on_thread(partial(self._server.projects.work_tree_of_session, due.info.directory))
        request = await self._on_thread(
            partial(digester.prepare, due, _read_messages(messages), project, work_tree=tree)
        )
        if request is None:
            return False
        model = await self._choose_model(opencode, messages)
        if not await has_agent(opencode):
            raise _BlockedError("OpenCode lacks the agent for digests: run `opencode-memory setup`, restart OpenCode")
        charge = await self._on_thread(partial(self._budget.charge, request.estimate))
        if isinstance(charge, BudgetExceeded):
            seconds = max(1.0, (charge.until - clock.now()).total_seconds())
            raise _BlockedError(f"the {charge.budget} of today are used up", seconds=seconds)
        answer = await self._ask(instance, session, request, model, charge)
        # From here on, the user's next message no longer stops the digest, because the tokens are spent.
        with anyio.CancelScope(shield=True):
            accept = partial(digester.accept, due, request, answer.text, tokens=answer.tokens, model=str(model))
            await self._on_thread(accept)
        self._server.wake_worker()
        return True

    async def _ask(
        self, instance: Instance, session: str, request: DigestRequest, model: Model, charge: Charge
    ) -> ModelAnswer:
        # The instructions come with each request, so that an agent of an earlier setup knows them, too.
        text = f"{request.system}\n\n{request.text}"
        seconds = float(self._config.digest_timeout_seconds)
        # Noted first, because OpenCode may create the child without an answer, and may fail to delete it.
        self._note_left(instance)
        try:
            answer = await ask_in_child(
                instance.opencode,
                parent=session,
                store=self._store_id,
                text=text,
                model=model,
                seconds=seconds,
                on_deleted=lambda: self._left.pop(instance, None),
            )
        except ModelError as error:
            if error.tokens is not None:
                await self._on_thread(partial(self._budget.correct, charge, tokens=error.tokens))
            raise
        except DisconnectedError:
            raise  # The model may have worked, so the estimate stays charged.
        except RemoteError:
            await self._on_thread(partial(self._budget.refund, charge))
            raise
        await self._on_thread(partial(self._budget.correct, charge, tokens=answer.tokens))
        return answer

    async def _choose_model(self, opencode: OpenCode, messages: list[Any]) -> Model:
        if self._config.digest is Digest.SMALL:
            config = await opencode.request("GET", "/config")
            model = Model.parse(config.get("small_model")) if isinstance(config, dict) else None
            if model is None:
                raise _BlockedError(
                    "OpenCode's configuration has no small_model: set it, or set learning.digest to session"
                )
            return model
        model = next(filter(None, map(_find_model, reversed(messages))), None)
        if model is None:
            raise _BlockedError("the session names no model")
        return model

    async def _is_busy(self, pid: int) -> bool:
        """Return whether any session of a process of OpenCode is at work, in any of its folders."""
        for instance in tuple(self._instances):
            if instance.pid == pid and await instance.opencode.find_active():
                return True
        return False

    def _is_of(self, instance: Instance, entry: Entry) -> bool:
        """Return whether a session belongs to the folder of an instance, or to the same project."""
        if entry.directory == str(instance.folder):
            return True
        projects = self._server.projects
        project = projects.of_session(entry.directory)
        return project is not None and project == projects.of_session(str(instance.folder))

    async def _on_thread(self, work: Callable[[], _T]) -> _T:
        return await anyio.to_thread.run_sync(work, limiter=self._limiter)


def _read_messages(raw: list[Any]) -> list[Message]:
    """Convert messages of OpenCode's API; a session at rest has complete ones only."""
    found = []
    for message in raw:
        match message:
            case {"info": {"id": str()} as info, "parts": list(parts)}:
                shown = [part for part in parts if isinstance(part, dict)]
                if (read := read_message(info, shown, is_left=True)) is not None:
                    found.append(read)
    return found


def _find_model(message: Any) -> Model | None:
    """Return the model of a message of the user or of the agent; None if it names none."""
    match message:
        case {"info": {"model": {"providerID": str(provider), "modelID": str(name)}}}:
            return Model(provider, name)
        case {"info": {"providerID": str(provider), "modelID": str(name)}}:
            return Model(provider, name)
    return None
