"""The project file ``.opencode/MEMORY.md``: memories that users read, edit and keep beside their code.

``sync`` applies the user's changes to the store, then writes the file again. It owns only the part between two marks. A
change that came with git is a proposal. A change that it cannot interpret is left alone and reported.
"""

from __future__ import annotations

from opencode_memory.memory_file.diff import Change, Changes, Kind, Known, diff_part
from opencode_memory.memory_file.disk import RELATIVE
from opencode_memory.memory_file.origin import ChangedBy
from opencode_memory.memory_file.report import BulletChange, MemoryFileReport, Mode, Outcome
from opencode_memory.memory_file.synchronize import sync

__all__ = [
    "RELATIVE",
    "BulletChange",
    "Change",
    "ChangedBy",
    "Changes",
    "Kind",
    "Known",
    "MemoryFileReport",
    "Mode",
    "Outcome",
    "diff_part",
    "sync",
]
