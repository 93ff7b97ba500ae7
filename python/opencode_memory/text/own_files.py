"""Marks of the Markdown files that this program writes, by which its readers recognise them.

An ingest skips such a file. Otherwise the file's memories would be stored a second time, as notes.
"""

from __future__ import annotations

import re
from typing import Final

from opencode_memory.text.front_matter import read_front_matter

EXPORT_MARK: Final = re.compile(r"<!-- opencode-memory export (?P<version>\d+)\b.*-->")
"""The first line of a Markdown export."""
_MEMORY_FILE: Final = "memory.md"
_BEGIN_MARK: Final = re.compile(r"^ {0,3}<!--\s*opencode-memory:begin\s+v\d", re.MULTILINE)
# Ids of memories are UUIDs of version 7.
_UUID: Final = r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}"
_MEMORY_ID: Final = re.compile(rf"^id:[ \t]*[\"']?{_UUID}[\"']?[ \t]*$", re.MULTILINE)


def describe_own_file(name: str, text: str) -> str | None:
    """Return what a file of this program holds, and how it is read instead; None for any other file.

    Args:
        name: Name of the file, without its folder.
        text: Its text.
    """
    text = text.removeprefix("\ufeff")
    if EXPORT_MARK.match(text):
        return "an export of opencode-memory, which `opencode-memory import` reads"
    # Another note, such as a manual, may quote the mark.
    if name.lower() == _MEMORY_FILE and _BEGIN_MARK.search(text):
        return "the file of memories that `opencode-memory memory-file` synchronizes"
    about, _ = read_front_matter(text)
    if about.category is not None and about.date is not None and _MEMORY_ID.search(about.raw.replace("\r\n", "\n")):
        return "the file of one memory, which `opencode-memory files` synchronizes"
    return None
