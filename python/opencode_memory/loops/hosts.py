"""The processes of OpenCode that run loops: those that people have open, and the one that the server may start."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

import anyio

from opencode_memory.errors import InvalidInputError, OpencodeMemoryError
from opencode_memory.loops.model import Loop, LoopState, Rest
from opencode_memory.loops.process import is_alive

if TYPE_CHECKING:
    from opencode_memory.loops.host import Host
    from opencode_memory.loops.own_host import OwnHost

_CONNECT_SECONDS: Final = 60.0
_MOST_STARTS: Final = 3
"""How often OpenCode is opened for one step."""
_IDLE_SECONDS: Final = 10.0
"""Pause after which an OpenCode of ours that no loop needs is ended."""
_NEVER: Final = float("inf")


class Hosts:
    """The connected processes of OpenCode.

    Args:
        project_of: Finds the project of a folder.
        own: The OpenCode that the server may start.
    """

    def __init__(self, project_of: Callable[[str], str | None], own: OwnHost) -> None:
        self._project_of = project_of
        self._own = own
        self._connected: list[Host] = []
        self._changed = anyio.Event()
        self._lock = anyio.Lock()
        self._uses_own = False
        self._idle_since: float | None = None
        self._starts: dict[str, tuple[int, int]] = {}
        """For a loop that needs our OpenCode: the step, and how often it was opened for that step."""

    def add(self, host: Host) -> None:
        """Use a connection of OpenCode from now on."""
        self._connected.append(host)
        # All loops that wait hold this event. Whoever waits from now on needs a new one.
        self._changed.set()
        self._changed = anyio.Event()

    def remove(self, host: Host) -> None:
        """Use a connection no longer, because it has ended."""
        self._connected.remove(host)

    def find(self, loop: Loop) -> Host | None:
        """Return the OpenCode that runs the sessions of a loop; None if there is none now.

        A session is run by one process. So a process that has had it keeps it until it has ended.
        """
        if loop.host is not None and is_alive(loop.host, loop.host_started):
            mine = [host for host in self._connected if host.pid == loop.host and host.is_connected]
            return mine[-1] if mine else None
        return self._find(loop.project, loop.directory, with_own=loop.program is not None)

    def find_open(self, project: str | None, directory: str | None) -> Host | None:
        """Return the newest OpenCode that the user has open in a folder, or else in its project."""
        return self._find(project, directory, with_own=False)

    async def find_or_open(self, loop: Loop) -> Host | None:
        """Return the OpenCode for a loop; start one if none is open and the user allowed it.

        Raises:
            OpencodeMemoryError: It does not start, does not connect, or ended several times during this step.
        """
        found = self.find(loop)
        is_held = loop.host is not None and loop.host != self._own.pid and is_alive(loop.host, loop.host_started)
        if found is not None or loop.program is None or is_held:
            return found
        step, starts = self._starts.pop(loop.id, (loop.steps, 0))
        starts = starts + 1 if step == loop.steps else 1
        if starts > _MOST_STARTS:
            raise OpencodeMemoryError(f"OpenCode has ended {_MOST_STARTS} times during this step")
        self._starts[loop.id] = (loop.steps, starts)
        async with self._lock:
            self._uses_own = True
            await self._own.open(loop.program, loop.directory)
        with anyio.move_on_after(_CONNECT_SECONDS):
            while (found := self.find(loop)) is None:
                await self._changed.wait()
        if found is None:
            error = OpencodeMemoryError("OpenCode was started for the loop, but its plugin does not connect")
            error.hint = "opencode-memory doctor"
            raise error
        return found

    async def end_idle(self, loops: Iterable[Loop]) -> float:
        """End our OpenCode if none of all loops needs it. Return the seconds until it has to be looked at again."""
        needing = {loop.id for loop in loops if _may_need_own(loop)}
        self._starts = {id_: starts for id_, starts in self._starts.items() if id_ in needing}
        pid = self._own.pid
        if pid is None:
            return _NEVER
        # The server before this one may have started it.
        self._uses_own = self._uses_own or any(host.pid == pid for host in self._connected)
        if needing:
            self._idle_since = None
            return _NEVER
        now = time.monotonic()
        self._idle_since = self._idle_since or now
        left = self._idle_since + _IDLE_SECONDS - now
        if left > 0 or not self._uses_own:
            return max(left, _IDLE_SECONDS)
        await self._own.end()
        return _NEVER

    async def close(self) -> None:
        """End our OpenCode, whose plugin would start this server again."""
        if self._uses_own:
            with anyio.CancelScope(shield=True):
                await self._own.end()

    def _find(self, project: str | None, directory: str | None, *, with_own: bool) -> Host | None:
        own = None if with_own else self._own.pid
        known = [host for host in self._connected if host.is_connected and host.pid != own]
        here = [host for host in known if str(host.folder) == directory]
        if not here and project is not None:
            here = [host for host in known if self._is_in(host, project)]
        return here[-1] if here else None

    def _is_in(self, host: Host, project: str) -> bool:
        """Return whether the folder of an OpenCode belongs to a project."""
        try:
            return self._project_of(str(host.folder)) == project
        except (InvalidInputError, OSError):
            # Its path is not UTF-8, so it has no project, or it cannot be reached. The loops of the others go on.
            return False


def _may_need_own(loop: Loop) -> bool:
    return loop.program is not None and (loop.state is LoopState.RUNNING or loop.rest is Rest.HOST)
