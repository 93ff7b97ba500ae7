"""The folders of the mirror: ``~/.opencode/memory`` and ``.opencode/memory`` of a project's main work tree.

A folder is not trusted, because a repository may bring it. All operations are confined to it (see
``memory_file.confined``): links, devices and subfolders are never followed, read or replaced.
"""

from __future__ import annotations

import hashlib
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from opencode_memory.config.sections import Files
from opencode_memory.errors import ConflictError
from opencode_memory.files.atomic import PRIVATE_FILE, PRIVATE_FOLDER
from opencode_memory.memory_file.confined import (
    Found,
    open_folder,
    read_in,
    refusals,
    remove_abandoned,
    replace_in,
)
from opencode_memory.mirror.page import MOST_BYTES
from opencode_memory.platform import HeldFolder
from opencode_memory.projects.identity import Repository, find_repository, real

FOLDERS: Final = (".opencode", "memory")
RELATIVE: Final = "/".join(FOLDERS)
TEAM: Final = "team"
ENDING: Final = ".md"
MOST_FILES: Final = 50_000
IGNORE: Final = f"*\n!{TEAM}/\n!{TEAM}/**\n"
_IGNORE_NAME: Final = ".gitignore"
_KEY_CHARACTERS: Final = 32

Sign = tuple[int, int, int]
"""Time, size and inode of a file."""


@dataclass(frozen=True, slots=True)
class Listing:
    """The files of a folder.

    Attributes:
        signs: The signs of its Markdown files, by name.
        refused: Why other entries with such a name are left alone, by name.
    """

    signs: Mapping[str, Sign]
    refused: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Folder:
    """An open folder of the mirror.

    Attributes:
        held: The open folder.
        at: The current time.
    """

    held: HeldFolder
    at: datetime

    def list(self) -> Listing:
        """List the Markdown files.

        Raises:
            ConflictError: There are too many.
        """
        signs: dict[str, Sign] = {}
        refused: dict[str, str] = {}
        for name in self.held.names():
            if not name.endswith(ENDING) or name.startswith("."):
                continue
            if len(signs) + len(refused) >= MOST_FILES:
                raise ConflictError(f"it has more than {MOST_FILES:,} files; move some away")
            try:
                found = self.held.status(name)
            except FileNotFoundError:
                continue
            if stat.S_ISREG(found.st_mode) and _is_text(name):
                signs[name] = (found.st_mtime_ns, found.st_size, found.st_ino)
            elif stat.S_ISLNK(found.st_mode):
                refused[name] = "it is a symbolic link, which is never followed"
            else:
                refused[name] = "it is not a file with a name in UTF-8"
        return Listing(signs, refused)

    def read(self, name: str) -> Found | None:
        """Read a file; None if it does not exist.

        Raises:
            ConflictError: It is a link, has the wrong type, or is too large.
            StorageError: The file system refuses.
        """
        with refusals(Path(name), "read"):
            return read_in(self.held, name, most_bytes=MOST_BYTES)

    def write(self, name: str, data: bytes, *, before: Found | None) -> None:
        """Replace the version that was read by a new one.

        Raises:
            ConflictError: The file changed since it was read.
            StorageError: The file system refuses.
        """
        with refusals(Path(name), "write"):
            replace_in(self.held, name, data, before=before, most_bytes=MOST_BYTES, new_mode=PRIVATE_FILE, at=None)

    def remove(self, name: str, *, before: Found) -> None:
        """Remove the version that was read.

        Raises:
            ConflictError: The file changed since it was read.
            StorageError: The file system refuses.
        """
        with refusals(Path(name), "remove"):
            if read_in(self.held, name, most_bytes=MOST_BYTES) != before:
                raise ConflictError("it was changed while it was being removed; the next time takes that up")
            self.held.remove(name)
            self.held.sync()


@dataclass(frozen=True, slots=True)
class Place:
    """The folder of a project's memories or of the global ones.

    Attributes:
        top: The home folder, or the main work tree of the project.
        project: The project; None for the global memories.
        repository: The repository that contains the folder; None outside git.
    """

    top: Path
    project: str | None
    repository: Repository | None

    @property
    def path(self) -> Path:
        """The folder."""
        return self.top.joinpath(*FOLDERS)

    @property
    def key(self) -> str:
        """Key of the record of this folder. It is a hash, because a path may be too long."""
        name = str(self.path).encode(errors="surrogateescape")
        return hashlib.sha256(name).hexdigest()[:_KEY_CHARACTERS]

    def name_in_git(self, name: str) -> str | None:
        """Return the path of a file in the repository; None if the folder is not in one."""
        if self.repository is None or not self.path.is_relative_to(self.repository.work_tree):
            return None
        return f"{self.path.relative_to(self.repository.work_tree).as_posix()}/{name}"

    @contextmanager
    def open(self, at: datetime, *, create: bool = False, team: bool = False) -> Iterator[Folder | None]:
        """Open the folder, or the folder of shared memories in it; None if it does not exist.

        Raises:
            ConflictError: A part of the path is a link or not a folder.
            StorageError: The file system refuses.
        """
        names = (*FOLDERS, TEAM) if team else FOLDERS
        with (
            refusals(self.top.joinpath(*names), "open"),
            open_folder(self.top, names, create=create, mode=PRIVATE_FOLDER) as held,
        ):
            if held is None:
                yield None
                return
            remove_abandoned(held, at)
            yield Folder(held, at)

    def create(self, at: datetime, *, is_new: bool) -> None:
        """Create the folder. In a repository, git ignores all in it but the shared memories.

        Args:
            at: The current time.
            is_new: Whether the folder was never written before. A list of what git ignores that the user removed later
                is not written again, and neither is one for a folder whose files came with the repository.

        Raises:
            ConflictError: A part of the path is a link or not a folder.
            StorageError: The file system refuses.
        """
        with self.open(at) as existing:
            is_new = is_new or existing is None
        with self.open(at, create=True) as folder:
            if folder is None or self.repository is None or not is_new or folder.list().signs:
                return
            if folder.held.mode(_IGNORE_NAME) is None:
                replace_in(
                    folder.held,
                    _IGNORE_NAME,
                    IGNORE.encode(),
                    before=None,
                    most_bytes=MOST_BYTES,
                    new_mode=PRIVATE_FILE,
                    at=None,
                )


def global_place(environment: Mapping[str, str]) -> Place | None:
    """Return the place of the global memories; None if the environment has no home folder."""
    home = environment.get("HOME", "")
    if not home.startswith("/") or not Path(home).is_dir():
        return None
    return place_at(real(Path(home)), None)


def project_place(folder: Path, project: str, environment: Mapping[str, str]) -> Place | None:
    """Return the place of a project: in its main work tree, also if the folder is in another one.

    None outside a work tree, for a bare repository, and if the work tree is the home folder, whose files are the global
    memories.
    """
    repository = find_repository(folder)
    if repository is None:
        return None
    top = repository.main_work_tree
    if top == repository.common_dir or not top.is_dir():
        return None
    home = global_place(environment)
    return None if home is not None and home.top == real(top) else place_at(real(top), project)


def shows_global(files: Files) -> bool:
    """Return whether the global memories are kept as files."""
    return files in {Files.GLOBAL, Files.BOTH}


def shows_projects(files: Files) -> bool:
    """Return whether the memories of projects are kept as files."""
    return files in {Files.PROJECT, Files.BOTH}


def place_at(top: Path, project: str | None) -> Place:
    """Return the place in a home folder or a main work tree."""
    return Place(top, project, find_repository(top))


def _is_text(name: str) -> bool:
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return "\n" not in name
