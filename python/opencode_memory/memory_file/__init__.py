"""``.opencode/MEMORY.md``: what a project remembers, as a file that people read, edit and keep beside their code.

``sync`` takes over what the person changed, then writes what the store has to say. Only the part between two marks is
ours; a change that came with git is a proposal, and what cannot be understood is left alone and reported.
"""

from __future__ import annotations

from opencode_memory.memory_file.diff import Change, Changes, Kind, Known, understand
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
    "sync",
    "understand",
]
