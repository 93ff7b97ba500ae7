"""Runs the loops and approved plans of one server in the connected processes of OpenCode.

It sleeps until something happens: a plugin connects, a person changes a loop, or OpenCode tells something.
"""

from __future__ import annotations

import logging
import os
import secrets
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeVar

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup

from opencode_memory.errors import OpencodeMemoryError
from opencode_memory.loops.execution import carry_out_plan
from opencode_memory.loops.host import Host
from opencode_memory.loops.model import Loop, LoopState, Rest
from opencode_memory.loops.process import is_alive
from opencode_memory.loops.records import Loops
from opencode_memory.loops.runner import LEASE_SECONDS, Runner
from opencode_memory.loops.transition import resume
from opencode_memory.plans import Mode, Plan, PlanStatus
from opencode_memory.plans.plans import KIND, to_plan
from opencode_memory.text import clock

if TYPE_CHECKING:
    from opencode_memory.config.settings import LoopConfig
    from opencode_memory.store.memory_store import MemoryStore

_PLAN_SECONDS: Final = 10.0
"""Pause before an approved plan is tried again."""
_log: Final = logging.getLogger(__name__)
_T = TypeVar("_T")


class Keeper:
    """Runs the loops of one server.

    Args:
        store: The store.
        config: The settings of loops.
        project_of: Finds the project of a folder.
    """

    def __init__(
        self,
        store: MemoryStore,
        config: LoopConfig,
        project_of: Callable[[str], str | None],
    ) -> None:
        self._store = store
        self._config = config
        self._project_of = project_of
        self._owner = f"{os.getpid()}-{secrets.token_hex(4)}"
        self._hosts: list[Host] = []
        self._runners: dict[str, Runner] = {}
        self._later: dict[str, float] = {}
        self._wake = anyio.Event()

    def add(self, host: Host) -> None:
        """Use a connection of OpenCode from now on."""
        self._hosts.append(host)
        self.wake()

    def remove(self, host: Host) -> None:
        """Use a connection no longer, because it has ended."""
        self._hosts.remove(host)

    def wake(self) -> None:
        """Look again for loops and plans, because one was changed."""
        self._wake.set()

    def notify(self) -> None:
        """Tell the running loops that something happened in OpenCode."""
        for runner in self._runners.values():
            runner.notify()

    async def serve(self) -> None:
        """Run loops until this task is cancelled."""
        async with anyio.create_task_group() as tasks:
            while True:
                self._wake = anyio.Event()
                wake = self._wake
                try:
                    pause = await self._start_all(tasks)
                except OpencodeMemoryError as error:
                    _log.warning("the loops cannot be read: %s", error)
                    pause = LEASE_SECONDS
                with anyio.move_on_after(pause):
                    await wake.wait()

    async def _start_all(self, tasks: TaskGroup) -> float:
        """Start what can run. Return the seconds until the next look; infinity if nothing waits."""
        now = time.monotonic()
        pause = float("inf")
        for loop in await _on_thread(Loops(self._store).list_all):
            is_due = loop.state is LoopState.RUNNING or (loop.rest is Rest.HOST and self.find_host(loop) is not None)
            if loop.id in self._runners or not is_due:
                continue
            if (wait := self._later.get(loop.id, now) - now) > 0:
                pause = min(pause, wait)
                continue
            self._later[loop.id] = now + LEASE_SECONDS
            runner = Runner(
                store=self._store,
                id=loop.id,
                owner=self._owner,
                find_host=self.find_host,
                stall_seconds=float(self._config.stall_seconds),
            )
            self._runners[loop.id] = runner
            tasks.start_soon(self._run, runner, loop)
        for plan in await _on_thread(self._approved):
            host = self._find_by_project(plan.project, plan.directory)
            if host is None:
                continue
            if (wait := self._later.get(plan.id, now) - now) > 0:
                pause = min(pause, wait)
                continue
            self._later[plan.id] = now + _PLAN_SECONDS
            tasks.start_soon(self._carry_out, host, plan)
        return pause

    async def _run(self, runner: Runner, loop: Loop) -> None:
        try:
            if loop.rest is Rest.HOST:
                resumed = resume(loop)
                await _on_thread(
                    lambda: runner.loops.write(resumed, why="resumed, because OpenCode is back", at=clock.now())
                )
            await runner.run()
            after = await _on_thread(lambda: runner.loops.get(loop.id))
            if after.state is not LoopState.RUNNING:
                self._later.pop(loop.id, None)
        except OpencodeMemoryError as error:
            _log.warning("the loop %s stopped: %s", loop.name, error)
        except Exception:  # noqa: BLE001  a bug in one loop must not end the others
            _log.exception("the loop %s stopped", loop.name)
        finally:
            del self._runners[loop.id]
            self.wake()

    async def _carry_out(self, host: Host, plan: Plan) -> None:
        try:
            await carry_out_plan(self._store, host, plan, model=self._config.execution_model)
        except OpencodeMemoryError as error:
            _log.warning("the plan [%s] is tried again: %s", plan.id, error)
        except Exception:  # noqa: BLE001  as above
            _log.exception("the plan [%s] is tried again", plan.id)
        finally:
            self.wake()

    def _approved(self) -> list[Plan]:
        """Return the plans that wait for a session."""
        plans = map(to_plan, self._store.documents.list(KIND))
        return [
            plan
            for plan in plans
            if plan.status is PlanStatus.APPROVED
            and plan.approval is not None
            and plan.approval.mode in {Mode.HERE, Mode.NEW}
        ]

    def find_host(self, loop: Loop) -> Host | None:
        """Return the OpenCode that runs the sessions of a loop; None if there is none now.

        A session is run by one process. So a process that has had it keeps it until it has ended.
        """
        if loop.host is not None and is_alive(loop.host, loop.host_started):
            mine = [host for host in self._hosts if host.pid == loop.host and host.is_connected]
            return mine[-1] if mine else None
        return self._find_by_project(loop.project, loop.directory)

    def _find_by_project(self, project: str | None, directory: str | None) -> Host | None:
        """Return the newest connection in a folder, or else in its project."""
        known = [host for host in self._hosts if host.is_connected]
        here = [host for host in known if str(host.folder) == directory]
        if not here and project is not None:
            here = [host for host in known if self._project_of(str(host.folder)) == project]
        return here[-1] if here else None


async def _on_thread(work: Callable[[], _T]) -> _T:
    return await anyio.to_thread.run_sync(work)
