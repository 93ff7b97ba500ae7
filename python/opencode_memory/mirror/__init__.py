"""The mirror: memories as one Markdown file each, in ``~/.opencode/memory`` and ``.opencode/memory`` of a project.

``sync`` applies the user's changes to the store, then writes the files that differ. A change that came with git or with
a copy of the folder is a proposal. A file that cannot be interpreted is left alone and reported.
"""

from __future__ import annotations

from opencode_memory.mirror.place import (
    RELATIVE,
    TEAM,
    Place,
    global_place,
    project_place,
    shows_global,
    shows_projects,
)
from opencode_memory.mirror.purged import Purged, PurgedFiles, find_texts, remove_purged
from opencode_memory.mirror.report import FileChange, Kind, MirrorReport
from opencode_memory.mirror.synchronize import sync
from opencode_memory.mirror.team import share

__all__ = [
    "RELATIVE",
    "TEAM",
    "FileChange",
    "Kind",
    "MirrorReport",
    "Place",
    "Purged",
    "PurgedFiles",
    "find_texts",
    "global_place",
    "project_place",
    "remove_purged",
    "share",
    "shows_global",
    "shows_projects",
    "sync",
]
