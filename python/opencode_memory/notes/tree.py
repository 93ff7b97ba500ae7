"""Scanner of note folders: lists notes, folders and skipped paths.

A scan stores a stamp for each note. The stamp changes when the note changes, so that comparing two scans shows what
happened between them.
"""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Final

from opencode_memory.notes.gitignore import IgnoreRules

_SUFFIXES: Final = frozenset({".md", ".markdown"})
_NEVER: Final = frozenset({"node_modules", "__pycache__"})


class StoppedError(Exception):
    """The caller stopped the scan before it was complete."""


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder that was scanned."""

    path: str


@dataclass(frozen=True, slots=True)
class Note:
    """A note and its stamp."""

    path: str
    stamp: int


@dataclass(frozen=True, slots=True)
class SkippedPath:
    """A note or folder that exists but is skipped, with the reason."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class _PendingFolder:
    """A folder that the walk has not visited yet, and the ignore rules from the folders above it."""

    path: str
    inside: PurePosixPath
    rules: IgnoreRules


@dataclass(frozen=True, slots=True)
class Tree:
    """Result of a scan.

    Attributes:
        folders: Every scanned folder, including the root.
        notes: Every note with its stamp.
    """

    folders: frozenset[str] = frozenset()
    notes: Mapping[str, int] = field(default_factory=dict)


def scan(
    root: Path,
    *,
    top: Path | None,
    before: Tree | None = None,
    exclude: Collection[Path] = (),
    stop: threading.Event | None = None,
) -> Tree:
    """Scan everything under a folder.

    Args:
        root: The folder, without symbolic links; if it does not exist, the tree is empty.
        top: The work tree whose ignore files hold; None outside of one.
        before: Result of the last scan. Notes below a path that is skipped now are taken from it, because they may
            still exist.
        exclude: Folders that are not looked at.
        stop: Event that stops the scan.

    Raises:
        StoppedError: ``stop`` was set during the scan.
    """
    folders: set[str] = set()
    notes: dict[str, int] = {}
    passed: list[str] = []
    for found in walk(root, top=top, exclude=exclude):
        if stop is not None and stop.is_set():
            raise StoppedError
        if isinstance(found, Folder):
            folders.add(found.path)
        elif isinstance(found, Note):
            notes[found.path] = found.stamp
        else:
            passed.append(found.path)
    if before is not None and passed:
        places = tuple(f"{place}{os.sep}" for place in passed)
        notes.update((path, stamp) for path, stamp in before.notes.items() if f"{path}{os.sep}".startswith(places))
    return Tree(frozenset(folders), notes)


def walk(root: Path, *, top: Path | None, exclude: Collection[Path] = ()) -> Iterator[Folder | Note | SkippedPath]:
    """Yield everything under a folder in a stable order.

    Hidden and ignored paths are left out silently, as users expect. Symbolic links are reported as skipped, since they
    may lead anywhere.

    Args:
        root: The folder; if it does not exist, the result is empty.
        top: The work tree whose ignore files hold; None outside of one.
        exclude: Folders that are not looked at.
    """
    never = {str(path) for path in exclude}
    try:
        inside, rules = _load_outer_rules(root, root if top is None else top)
    except OSError as error:
        yield _make_skipped(str(root), error)
        return
    # A stack instead of recursion, because folders may be nested deeper than Python calls.
    waiting: list[_PendingFolder | Note | SkippedPath] = [_PendingFolder(str(root), inside, rules)]
    while waiting:
        found = waiting.pop()
        if not isinstance(found, _PendingFolder):
            yield found
        elif found.path not in never:
            try:
                # If the ignore file cannot be read, skip the folder, because its ignored files are unknown.
                rules = found.rules.extend(found.inside, Path(found.path, ".gitignore"))
                with os.scandir(found.path) as scan:
                    children = sorted(scan, key=lambda child: child.name)
                inner = [*_filter_children(children, found.inside, rules)]
            except (FileNotFoundError, NotADirectoryError):
                continue
            except OSError as error:
                yield _make_skipped(found.path, error)
                continue
            yield Folder(found.path)
            waiting.extend(reversed(inner))


def find_ingest_path(root: Path, path: Path, *, top: Path | None) -> Path:
    """Return the path to ingest so that the memories of a changed path are up to date.

    That is the path itself, or the folder in which a walk skips it.

    Args:
        root: The watched folder, without symbolic links.
        path: A path below the root; it may be gone.
        top: The work tree whose ignore files hold; None outside of one.

    Raises:
        OSError: A folder on the way to the path cannot be read.
    """
    try:
        root.stat()
    except (FileNotFoundError, NotADirectoryError):
        return path
    inside, rules = _load_outer_rules(root, root if top is None else top)
    place = root
    for name in path.relative_to(root).parts:
        rules = rules.extend(inside, place / ".gitignore")
        inside /= name
        try:
            mode = (place / name).lstat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            return path
        is_folder = stat.S_ISDIR(mode)
        is_wanted = is_folder or (stat.S_ISREG(mode) and is_note(name) and place / name == path)
        if not is_wanted or _is_left_out(str(place / name), inside, rules, is_folder=is_folder):
            return place
        place /= name
    return path


def is_note(name: str) -> bool:
    """Return whether a file of this name is a note, unless an ignore rule applies."""
    return PurePosixPath(name).suffix.lower() in _SUFFIXES and not name.startswith(".")


def is_always_ignored(name: str) -> bool:
    """Return whether a name is ignored independently of the ignore rules."""
    return name.startswith(".") or name in _NEVER


def compute_stamp(found: os.stat_result) -> int:
    """Compute a number that changes when a file is changed or replaced."""
    # Size and inode show changes within one tick of the file system's clock.
    return hash((found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino))


def _load_outer_rules(root: Path, top: Path) -> tuple[PurePosixPath, IgnoreRules]:
    """Return the path of a folder in its work tree, and the ignore rules from the folders above it."""
    inside = PurePosixPath(root.relative_to(top).as_posix())
    rules = IgnoreRules().extend(PurePosixPath(), top / ".git" / "info" / "exclude")
    for outer in reversed((inside, *inside.parents)[1:] if inside.parts else ()):
        rules = rules.extend(outer, top / outer / ".gitignore")
    return inside, rules


def _filter_children(
    children: list[os.DirEntry[str]], inside: PurePosixPath, rules: IgnoreRules
) -> Iterator[_PendingFolder | Note | SkippedPath]:
    for child in children:
        is_folder = child.is_dir(follow_symlinks=False)
        if not is_folder and not is_note(child.name):
            continue
        below = inside / child.name
        if _is_left_out(child.path, below, rules, is_folder=is_folder):
            continue
        if not _is_utf8(child.name):
            # A memory cannot store such a name.
            plain = child.path.encode(errors="backslashreplace").decode()
            yield SkippedPath(plain, "its name is not UTF-8")
        elif is_folder:
            yield _PendingFolder(child.path, below, rules)
        elif child.is_symlink():
            yield SkippedPath(child.path, "symbolic link, not followed")
        elif child.is_file(follow_symlinks=False):
            yield from _read_stamp(child)


def _read_stamp(child: os.DirEntry[str]) -> Iterator[Note | SkippedPath]:
    try:
        yield Note(child.path, compute_stamp(child.stat(follow_symlinks=False)))
    except FileNotFoundError:
        return
    except OSError as error:
        yield _make_skipped(child.path, error)


def _is_left_out(path: str, inside: PurePosixPath, rules: IgnoreRules, *, is_folder: bool) -> bool:
    if is_always_ignored(inside.name) or rules.ignores(inside, is_folder=is_folder):
        return True
    # A folder that contains its own repository is another project. If that cannot be checked, the walk cannot read it.
    return is_folder and os.path.exists(os.path.join(path, ".git"))  # noqa: PTH110, PTH118  Path.exists may raise


def _make_skipped(path: str, error: OSError) -> SkippedPath:
    return SkippedPath(path, error.strerror or str(error))


def _is_utf8(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
