"""Which project a session's folder belongs to, asked once per folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from opencode_memory.project import ProjectIdentity, find_repository, identify, with_root_commits

if TYPE_CHECKING:
    from opencode_memory.memory import MemoryStore


class ProjectsOfFolders:
    """Finds projects in the store by folder, and enters those that are new."""

    def __init__(self, store: MemoryStore, environment: Mapping[str, str]) -> None:
        self._store = store
        self._environment = environment
        self._known: dict[str, str | None] = {}

    def of(self, directory: str) -> str | None:
        """Return the project of a folder, which need not exist any more; None for no folder."""
        if not directory:
            return None
        if directory not in self._known:
            self._known[directory] = self._store.resolve_project(self._identity(Path(directory)))
        return self._known[directory]

    def with_top(self, folder: Path) -> tuple[str | None, Path | None]:
        """Return the project of a folder of notes, and the top of its work tree.

        A folder that was removed belongs to the repository that it lay in, and may be made again in another one.
        """
        repository = find_repository(folder)
        top = None if repository is None else repository.work_tree
        if folder.is_dir():
            return self.of(str(folder)), top
        return (None if top is None else self.of(str(top))), top

    def _identity(self, folder: Path) -> ProjectIdentity:
        if not folder.is_dir():
            # What lies above may be another project: only the folder itself can be known.
            return ProjectIdentity(folder=str(folder))
        identity = identify(folder)
        return identity if identity.remotes else with_root_commits(identity, environment=self._environment)


def work_tree_of(directory: str) -> Path | None:
    """Return the top of the work tree that a folder lies in; None outside a repository."""
    folder = Path(directory)
    repository = find_repository(folder) if directory and folder.is_dir() else None
    return None if repository is None else repository.work_tree
