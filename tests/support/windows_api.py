"""The Windows API in memory: locks of open files, access lists, processes and pipes."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

SID = "S-1-5-21-1-2-3-1001"


@dataclass
class FakeApi:
    """Locks are those of the file, not of its descriptor, so a second descriptor finds them."""

    sid: str = SID
    access: dict[str, str] = field(default_factory=dict)
    running: set[int] = field(default_factory=set)
    ended: list[int] = field(default_factory=list)
    input_after: int = 0
    priority_is_low: bool = False
    children_are_bound: bool = False
    _locks: dict[int, dict[int, bool]] = field(default_factory=dict)

    def lock(self, descriptor: int, *, shared: bool) -> bool:
        others = {key: kind for key, kind in self._holders(descriptor).items() if key != descriptor}
        if any(not (shared and kind) for kind in others.values()):
            return False
        self._holders(descriptor)[descriptor] = shared
        return True

    def unlock(self, descriptor: int) -> None:
        if self._holders(descriptor).pop(descriptor, None) is None:
            raise OSError(158, "the segment is already unlocked")

    def user_sid(self) -> str:
        return self.sid

    def set_access(self, path: str, sddl: str) -> None:
        self.access[path] = sddl

    def get_access(self, path: str) -> str:
        return self.access[path]

    def process_runs(self, pid: int) -> bool:
        return pid in self.running

    def terminate(self, pid: int) -> None:
        if pid not in self.running:
            raise ProcessLookupError(pid)
        self.ended.append(pid)

    def bind_children(self) -> None:
        self.children_are_bound = True

    def lower_priority(self) -> None:
        self.priority_is_low = True

    def has_input(self, descriptor: int) -> bool:
        self.input_after -= 1
        return self.input_after < 0

    def _holders(self, descriptor: int) -> dict[int, bool]:
        return self._locks.setdefault(os.fstat(descriptor).st_ino, {})
