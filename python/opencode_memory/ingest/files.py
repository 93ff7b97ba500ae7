"""Finding the notes under a folder and reading them, with a reason for each that is passed over."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from opencode_memory.ingest.ignore import IgnoreRules

SIZE_LIMIT: Final = 10 * 1024 * 1024
_SUFFIXES: Final = frozenset({".md", ".markdown"})
_NEVER: Final = frozenset({"node_modules", "__pycache__"})


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that was passed over, and why."""

    file: str
    reason: str


def find_notes(folder: Path, *, top: Path) -> Iterator[Path | Skipped]:
    """Yield the Markdown files under a folder, in a stable order.

    Hidden and ignored files and folders are left out silently, as nobody expects them; symbolic links are named,
    since what they lead to may lie anywhere.

    Args:
        folder: Where to look.
        top: The work tree whose ignore files hold; the folder itself outside a repository.
    """
    inside = PurePosixPath(folder.relative_to(top).as_posix())
    rules = IgnoreRules().within(PurePosixPath(), top / ".git" / "info" / "exclude")
    for outer in reversed((inside, *inside.parents)[1:] if inside.parts else ()):
        rules = rules.within(outer, top / outer / ".gitignore")
    yield from _walk(folder, inside, rules)


def read_note(file: Path) -> str:
    """Read a note.

    Raises:
        ValueError: It is too large, not UTF-8, or not text; the message says which.
        OSError: It cannot be read.
    """
    with file.open("rb") as stream:
        data = stream.read(SIZE_LIMIT + 1)
    if len(data) > SIZE_LIMIT:
        raise ValueError(f"larger than {SIZE_LIMIT // 1024 // 1024} MiB")
    if b"\0" in data:
        raise ValueError("contains NUL bytes, so it is not UTF-8 text")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValueError(f"not UTF-8: byte 0x{data[error.start]:02x} in line {line}") from error


def _walk(folder: Path, inside: PurePosixPath, rules: IgnoreRules) -> Iterator[Path | Skipped]:
    rules = rules.within(inside, folder / ".gitignore")
    try:
        children = sorted(os.scandir(folder), key=lambda child: child.name)
    except OSError as error:
        yield Skipped(str(folder), error.strerror or str(error))
        return
    for child in children:
        below = inside / child.name
        is_folder = child.is_dir(follow_symlinks=False)
        is_note = Path(child.name).suffix.lower() in _SUFFIXES
        if child.name.startswith(".") or child.name in _NEVER or rules.ignores(below, is_folder=is_folder):
            continue
        if is_folder:
            # A folder with a repository of its own is another project.
            if not (folder / child.name / ".git").exists():
                yield from _walk(folder / child.name, below, rules)
        elif is_note and child.is_symlink():
            yield Skipped(str(folder / child.name), "symbolic link, not followed")
        elif is_note and child.is_file(follow_symlinks=False):
            yield folder / child.name
