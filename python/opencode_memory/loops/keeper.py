"""Runs the loops and approved plans of one server in the connected processes of OpenCode.

It sleeps until something happens: a plugin connects, the user changes a loop, or OpenCode tells something.
"""

from __future__ import annotations

import logging
import os
import secrets
import time
from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Final

import anyio
from anyio import to_thread
from anyio.abc import TaskGroup

from opencode_memory.errors import OpencodeMemoryError
from opencode_memory.loops.execution import carry_out_plan
from opencode_memory.loops.host import Host, HostError
from opencode_memory.loops.hosts import Hosts
from opencode_memory.loops.lease import LEASE_SECONDS
from opencode_memory.loops.model import Loop, LoopState, Rest
from opencode_memory.loops.records import Loops
from opencode_memory.loops.retention import forget_old_loops
from opencode_memory.loops.todos import Todos
from opencode_memory.loops.transition import resume
from opencode_memory.plans import Mode, Plan, PlanStatus
from opencode_memory.plans.plans import KIND, to_plan
from opencode_memory.store.documents import sort_out
from opencode_memory.text import clock
from opencode_memory.text.clock import to_ms
from opencode_memory.text.display import one_line

if TYPE_CHECKING:
    from opencode_memory.config.sections import LoopConfig
    from opencode_memory.loops.own_host import OwnHost
    from opencode_memory.loops.runner import Runner
    from opencode_memory.store.memory_store import MemoryStore

_PLAN_SECONDS: Final = 10.0
"""Pause before an approved plan is tried again."""
_MOST_TOAST: Final = 160
_MOST_SAID: Final = 300
_DAY_SECONDS: Final = 86_400.0
_log: Final = logging.getLogger(__name__)


class Keeper:
    """Runs the loops of one server.

    Args:
        store: The store.
        config: The settings of loops.
        project_of: Finds the project of a folder.
        own: The OpenCode that it may start.

    Attributes:
        todos: What the sessions work at, by their todo lists.
    """

    def __init__(
        self,
        store: MemoryStore,
        config: LoopConfig,
        project_of: Callable[[str], str | None],
        own: OwnHost,
    ) -> None:
        self._store = store
        self._config = config
        self._owner = f"{os.getpid()}-{secrets.token_hex(4)}"
        self._hosts = Hosts(project_of, own)
        self._runners: dict[str, Runner] = {}
        self._later: dict[str, float] = {}
        self._wake = anyio.Event()
        self._forgets_at = 0.0
        self._damaged: frozenset[str] = frozenset()
        self.todos = Todos()

    def add(self, host: Host) -> None:
        """Use a connection of OpenCode from now on."""
        self._hosts.add(host)
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
        try:
            async with anyio.create_task_group() as tasks:
                while True:
                    self._wake = anyio.Event()
                    wake = self._wake
                    try:
                        await self._forget_old()
                        pause = await self._start_all(tasks)
                    except (OpencodeMemoryError, OSError) as error:
                        # A store that is busy or damaged, or a folder of it that is full, must not end the server.
                        _log.warning("the loops cannot be read: %s", one_line(str(error), _MOST_SAID))
                        pause = LEASE_SECONDS
                    with anyio.move_on_after(pause):
                        await wake.wait()
        finally:
            await self._hosts.close()

    async def _forget_old(self) -> None:
        """Forget loops that ended long ago, once a day."""
        now = time.monotonic()
        if not self._config.keep_days or now < self._forgets_at:
            return
        self._forgets_at = now + _DAY_SECONDS
        before = clock.now() - timedelta(days=self._config.keep_days)
        if forgotten := await to_thread.run_sync(lambda: forget_old_loops(self._store, before=before)):
            _log.info("%d loops that ended long ago were forgotten", forgotten)

    async def _start_all(self, tasks: TaskGroup) -> float:
        """Start what can run. Return the seconds until the next look; infinity if nothing waits."""
        now = time.monotonic()
        # A server runs for months, and a time that has passed no longer delays anything.
        self._later = {id_: at for id_, at in self._later.items() if at > now}
        loops = await to_thread.run_sync(self._list_readable)
        pause = await self._hosts.end_idle(loops)
        for loop in loops:
            has_host = loop.program is not None or self._hosts.find(loop) is not None
            is_due = loop.state is LoopState.RUNNING or (loop.rest is Rest.HOST and has_host)
            if loop.id in self._runners or not is_due:
                continue
            if (wait := self._later.get(loop.id, now) - now) > 0:
                pause = min(pause, wait)
                continue
            self._later[loop.id] = now + LEASE_SECONDS
            runner_type = await to_thread.run_sync(_load_runner)
            runner = runner_type(
                store=self._store,
                id=loop.id,
                owner=self._owner,
                find_host=self._hosts.find_or_open,
                stall_seconds=float(self._config.stall_seconds),
            )
            self._runners[loop.id] = runner
            tasks.start_soon(self._run, runner, loop)
        for plan in await to_thread.run_sync(self._list_approved):
            host = self._hosts.find_open(plan.project, plan.directory)
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
                await to_thread.run_sync(
                    lambda: runner.loops.write(resumed, why="resumed, because OpenCode is back", at=clock.now())
                )
            await runner.run()
            after = await to_thread.run_sync(lambda: runner.loops.get(loop.id))
            if after.state is not LoopState.RUNNING:
                self._later.pop(loop.id, None)
                await self._announce(after)
        except OpencodeMemoryError as error:
            _log.warning("the loop %s stopped: %s", loop.name, error)
        except Exception:  # noqa: BLE001  a bug in one loop must not end the others
            _log.exception("the loop %s stopped", loop.name)
        finally:
            del self._runners[loop.id]
            self.wake()

    async def _announce(self, loop: Loop) -> None:
        """Tell the user what became of a loop, and archive the sessions of one that has ended."""
        host = self._hosts.find(loop)
        if host is None or loop.rest is Rest.HOST:
            return  # An OpenCode that has come meanwhile goes on with the loop at once.
        steps = await to_thread.run_sync(lambda: Loops(self._store).steps(loop.id)) if loop.state.has_ended else []
        archived = {"time": {"archived": to_ms(clock.now())}}
        folder = loop.worktree or loop.directory
        try:
            await host.request("POST", "/tui/show-toast", directory=str(host.folder), body=_toast(loop))
            for session in {step.session for step in steps if step.session is not None}:
                await host.request("PATCH", f"/session/{session}", directory=folder, body=archived)
        except HostError as error:
            _log.info("the end of the loop %s was not told to OpenCode: %s", loop.name, error)

    async def _carry_out(self, host: Host, plan: Plan) -> None:
        try:
            await carry_out_plan(self._store, host, plan, model=self._config.execution_model)
        except OpencodeMemoryError as error:
            _log.warning("the plan [%s] is tried again: %s", plan.id, error)
        except Exception:  # noqa: BLE001  as above
            _log.exception("the plan [%s] is tried again", plan.id)
        finally:
            self.wake()

    def _list_readable(self) -> list[Loop]:
        """Return the loops that can be read, and log the others once."""
        loops = Loops(self._store)
        problems = frozenset(damaged.problem for damaged in loops.damaged())
        for problem in sorted(problems - self._damaged):
            _log.warning("%s; the other loops go on", one_line(problem, _MOST_SAID))
        self._damaged = problems
        return loops.list_all()

    def _list_approved(self) -> list[Plan]:
        """Return the plans that wait for a session."""
        plans, _ = sort_out(self._store.documents.list(KIND), to_plan)
        return [
            plan
            for plan in plans
            if plan.status is PlanStatus.APPROVED
            and plan.approval is not None
            and plan.approval.mode in {Mode.HERE, Mode.NEW}
        ]


def _toast(loop: Loop) -> dict[str, str]:
    why = f": {one_line(loop.reason, _MOST_TOAST)}" if loop.reason else ""
    variant = "success" if loop.state is LoopState.COMPLETED else "warning"
    return {"title": "opencode-memory", "message": f"The loop {loop.name} is {loop.state}{why}", "variant": variant}


def _load_runner() -> type[Runner]:
    """Import the class when a loop runs, because most servers run none. It takes long, so it happens on a thread."""
    from opencode_memory.loops.runner import Runner  # noqa: PLC0415  as explained

    return Runner
