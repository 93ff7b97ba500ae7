"""File edits: extracts the changed files and a one-line summary from an agent's tool calls."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any, Final

EDITING: Final = frozenset({"edit", "write", "multiedit", "patch", "apply_patch"})
_MOST_CHARS: Final = 70


def list_edited_files(tool: str, arguments: Mapping[str, Any], *, directory: str) -> tuple[str, ...]:
    """Return the files that a tool call changed, relative to the session's directory if they are below it."""
    if tool not in EDITING:
        return ()
    path = arguments.get("filePath") or arguments.get("file_path") or arguments.get("path")
    if isinstance(path, str) and path:
        return (make_relative(path, directory),)
    text = arguments.get("patchText") or arguments.get("patch") or arguments.get("input")
    if not isinstance(text, str):
        return ()
    marks = ("*** Update File: ", "*** Add File: ", "*** Delete File: ", "+++ b/")
    found = (line.removeprefix(mark).strip() for line in text.splitlines() for mark in marks if line.startswith(mark))
    return tuple(dict.fromkeys(make_relative(name, directory) for name in found))


def summarize_change(arguments: Mapping[str, Any]) -> str:
    """Describe an edit of a single line completely; empty for a longer edit and for a new file."""
    old, new = arguments.get("oldString"), arguments.get("newString")
    if not isinstance(old, str) or not isinstance(new, str):
        return ""
    before, after = old.splitlines(), new.splitlines()
    while before and after and before[0] == after[0]:
        before, after = before[1:], after[1:]
    while before and after and before[-1] == after[-1]:
        before, after = before[:-1], after[:-1]
    changed = [[line.strip() for line in lines if line.strip()] for lines in (before, after)]
    if any(len(lines) > 1 or any(len(line) > _MOST_CHARS for line in lines) for lines in changed):
        return ""
    was, becomes = ("".join(lines) for lines in changed)
    if was and becomes:
        return f"`{was}` became `{becomes}`"
    if becomes:
        return f"added `{becomes}`"
    return f"removed `{was}`" if was else ""


def hash_edit(arguments: Mapping[str, Any], files: tuple[str, ...]) -> tuple[tuple[str, int, int], ...]:
    """Return the file and hashes of the old and new text, so that an edit can be matched with the edit that undoes it."""
    old, new = arguments.get("oldString"), arguments.get("newString")
    if not isinstance(old, str) or not isinstance(new, str) or len(files) != 1:
        return ()
    return ((files[0], zlib.crc32(old.encode(errors="replace")), zlib.crc32(new.encode(errors="replace"))),)


def make_relative(path: str, directory: str) -> str:
    """Return a path relative to the session's directory if it is below it."""
    if directory and PurePosixPath(path).is_relative_to(directory):
        return str(PurePosixPath(path).relative_to(directory))
    return path
