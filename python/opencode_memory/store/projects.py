"""The projects of a store: listed, found by identity, renamed and merged."""

from __future__ import annotations

import builtins
import json
from pathlib import Path
from typing import TYPE_CHECKING

from opencode_memory.models import KeptValue, Project, ProjectIdentity, ProjectMerge
from opencode_memory.store import arguments, records

if TYPE_CHECKING:
    from opencode_memory._core import Engine


class Projects:
    """The projects of a store; ``MemoryStore.projects`` is one."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def list(self) -> builtins.list[Project]:
        """Return all projects, ordered by name. It counts their memories; ``names`` does not."""
        return [records.project(project) for project in self._engine.projects()]

    def names(self) -> builtins.list[str]:
        """Return the names of all projects, in order."""
        return self._engine.project_names()

    def resolve(self, identity: ProjectIdentity, *, create: bool = True) -> str | None:
        """Return the name of the project with an identity.

        Args:
            identity: What a repository is recognised by.
            create: Whether to create a project if the store knows none with this identity.

        Returns:
            The name; None if the project is not known and ``create`` is false.
        """
        return self._engine.resolve_project(*arguments.identity(identity), arguments.flag(create, field="create"))

    def name_for(self, identity: ProjectIdentity) -> str:
        """Return the name of an identity's project, or the name that it would get. Writes nothing."""
        return self._engine.project_name(*arguments.identity(identity))

    def needs_root_commits(self, identity: ProjectIdentity) -> bool:
        """Return whether only root commits, which an identity lacks, can tell which project it belongs to.

        They do if a known project was seen in the folder of the identity with other remotes, or if a known project
        without a remote has left its folder. Its new folder may have its first remote.
        """
        given = arguments.identity(identity)
        return self._engine.needs_root_commits(*given) or any(
            not Path(folder).is_dir() for folder in self._engine.folders_without_remotes(*given)
        )

    def rename(self, old: str, new: str) -> None:
        """Rename a project.

        Raises:
            NotFoundError: No project has the old name.
            ConflictError: Another project has the new name.
            InvalidInputError: The new name has control characters.
        """
        self._engine.rename_project(arguments.text(old, field="project"), arguments.text(new, field="project"))

    def merge(self, source: str, target: str) -> ProjectMerge:
        """Move everything of one project into another and remove the first.

        ``MemoryStore.undo`` brings the project back whole, as long as no moved memory is changed. If both projects
        have a value under one key, the target keeps its own.

        Raises:
            NotFoundError: One of the projects does not exist.
            InvalidInputError: Both are the same project.
        """
        moved, clashes = self._engine.merge_projects(
            arguments.text(source, field="project"), arguments.text(target, field="project")
        )
        values = tuple(
            KeptValue(key=key, kept=json.loads(kept), dropped=json.loads(dropped)) for key, kept, dropped in clashes
        )
        return ProjectMerge(moved=moved, clashes=values, is_undoable=moved > 0)
