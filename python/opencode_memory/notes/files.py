"""Finds and reads notes, with a reason for each skipped path."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from opencode_memory.notes.tree import Note, SkippedPath, walk
from opencode_memory.platform import system
from opencode_memory.platform.system import WITHOUT_WAITING

SIZE_LIMIT: Final = 10 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Skipped:
    """A skipped file and the reason."""

    file: str
    reason: str


def find_notes(folder: Path, *, top: Path) -> Iterator[Path | Skipped]:
    """Yield the Markdown files under a folder in a stable order.

    Hidden and ignored paths are left out silently, as users expect. Symbolic links are reported as skipped, since they
    may lead anywhere.

    Args:
        folder: The folder.
        top: The work tree whose ignore files apply; the folder itself outside of a repository.
    """
    for found in walk(folder, top=top):
        if isinstance(found, Note):
            yield Path(found.path)
        elif isinstance(found, SkippedPath):
            yield Skipped(found.path, found.reason)


def read_note(file: Path) -> str:
    """Read a note.

    Args:
        file: The note; the last part of its path is no symbolic link.

    Raises:
        ValueError: The file is too large, not UTF-8, or not text; the message gives the reason.
        OSError: The file cannot be read.
    """
    # Reading a FIFO would block, also one that takes the place of a note after the folder was scanned.
    descriptor = system().open(file, os.O_RDONLY | WITHOUT_WAITING)
    try:
        # A folder may take its place as well, and ``fdopen`` would leave that open.
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            raise ValueError("a folder" if stat.S_ISDIR(mode) else "neither a file nor a folder")
        with os.fdopen(descriptor, "rb", closefd=False) as stream:
            data = stream.read(SIZE_LIMIT + 1)
    finally:
        os.close(descriptor)
    if len(data) > SIZE_LIMIT:
        raise ValueError(f"larger than {SIZE_LIMIT // 1024 // 1024} MiB")
    if b"\0" in data:
        raise ValueError("contains NUL bytes, so it is not UTF-8 text")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValueError(f"not UTF-8: byte 0x{data[error.start]:02x} in line {line}") from error
