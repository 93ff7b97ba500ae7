"""Finds the project of a folder. The only place that does: the CLI, the server, the worker and the feeds all use it.

A repository whose remote is renamed stays in its project: its folder and its root commits are the same. So root commits
are stored with each project, although the remotes decide as long as one of them is known.

The resolver caches what a folder is recognised by, because reading root commits starts git. It never caches the name of
a project: the user may rename or merge projects while a server or a worker runs, and a write under the old name would
create the old project again.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from opencode_memory.errors import InvalidInputError
from opencode_memory.models import ProjectIdentity
from opencode_memory.projects.identity import find_repository, identify, with_root_commits
from opencode_memory.text.unicode import is_encodable, replace_surrogates

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore

_MAX_FOLDERS: Final = 10_000


class ProjectResolver:
    """Finds and creates projects by folder; safe to share between threads.

    Args:
        store: The store that knows the projects.
        environment: Environment of this process, for git.
    """

    def __init__(self, store: MemoryStore, environment: Mapping[str, str]) -> None:
        self._store = store
        self._environment = environment
        self._lock = threading.Lock()
        self._identities: dict[Path, ProjectIdentity] = {}
        # By folder and remotes, because another repository may come to the folder.
        self._root_commits: dict[tuple[str | None, tuple[str, ...]], tuple[str, ...]] = {}

    def identity(self, folder: Path, *, is_complete: bool = False) -> ProjectIdentity:
        """Return what the project of a folder is recognised by.

        A folder that no longer exists keeps the identity that it had; if it was never seen, only its path is known,
        because the repository around it may be another project. Remotes are read each time, root commits only once.

        Args:
            folder: The folder.
            is_complete: Whether to read root commits although the remotes tell the project.

        Raises:
            InvalidInputError: The path is not UTF-8.
        """
        if not folder.is_dir():
            with self._lock:
                return self._identities.get(folder) or ProjectIdentity(folder=str(folder))
        identity = identify(folder)
        if identity.folder is not None and not is_encodable(identity.folder):
            named = replace_surrogates(identity.folder)
            error = InvalidInputError(f"folder: the path {named} is not UTF-8, so it has no project", field="folder")
            error.hint = "rename the folder, or name a project: --project NAME"
            raise error
        if is_complete or not identity.remotes or self._store.projects.needs_root_commits(identity):
            identity = self._read_root_commits(identity)
        with self._lock:
            if len(self._identities) >= _MAX_FOLDERS:
                self._identities.clear()
                self._root_commits.clear()
            self._identities[folder] = identity
        return identity

    def find(self, folder: Path) -> str | None:
        """Return the name of the folder's project; None if the store does not know it. Writes nothing."""
        return self._store.projects.resolve(self.identity(folder), create=False)

    def name(self, folder: Path) -> str:
        """Return the name of the folder's project, or the name that it would get. Writes nothing."""
        return self._store.projects.name_for(self.identity(folder))

    def ensure(self, folder: Path) -> str:
        """Return the name of the folder's project; creates the project if the store does not know it."""
        identity = self.identity(folder)
        if self._store.projects.resolve(identity, create=False) is None:
            identity = self.identity(folder, is_complete=True)
        name = self._store.projects.resolve(identity)
        if name is None:
            raise AssertionError("a created project has a name")
        return name

    def refresh(self, folder: Path) -> None:
        """Add what is new in the folder's identity, for example a remote, to its project, if the store knows it."""
        if self._store.projects.resolve(self.identity(folder), create=False) is not None:
            self._store.projects.resolve(self.identity(folder, is_complete=True), create=True)

    def _read_root_commits(self, identity: ProjectIdentity) -> ProjectIdentity:
        key = (identity.folder, identity.remotes)
        with self._lock:
            known = self._root_commits.get(key)
        if known is None:
            known = with_root_commits(identity, environment=self._environment).root_commits
            # Without a remote, a repository of today may have its first commit tomorrow. With one, the remote tells the
            # project, and a failed attempt is not repeated: in a large repository it takes long.
            if known or identity.remotes:
                with self._lock:
                    self._root_commits[key] = known
        return replace(identity, root_commits=known)

    def of_session(self, directory: str) -> str | None:
        """Return the project of a session's directory, created if needed; None if the session names no directory."""
        return self.ensure(Path(directory)) if directory else None

    @staticmethod
    def work_tree_of_session(directory: str) -> str | None:
        """Return the work tree of a session as its texts name it: the folder itself outside of a repository.

        None if the session names no directory, or one that holds all projects, such as the home folder.
        """
        if not directory:
            return None
        folder = Path(directory)
        top = work_tree(folder)
        # Texts name the folder as the session does, also if that is a symbolic link.
        tree = folder if top is None else next((one for one in (folder, *folder.parents) if _is_same(one, top)), folder)
        return None if tree == Path(tree.anchor) or tree in (Path.home(), *Path.home().parents) else str(tree)

    def of_notes(self, folder: Path) -> tuple[str | None, Path | None]:
        """Return the project of a folder of notes, and the top of its work tree.

        A folder that was removed belongs to the repository that contained it; the folder may appear again in another.
        """
        top = work_tree(folder)
        if folder.is_dir():
            return self.ensure(folder), top
        return (None if top is None else self.ensure(top)), top


def _is_same(one: Path, other: Path) -> bool:
    """Return whether two paths lead to the same folder; false if one of them does not exist, or cannot be seen."""
    try:
        return one.samefile(other)
    except OSError:
        return False


def work_tree(folder: Path) -> Path | None:
    """Return the top of the work tree that contains a folder; None outside a repository."""
    repository = find_repository(folder)
    return None if repository is None else repository.work_tree
