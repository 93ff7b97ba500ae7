"""The scope of a client: its folders, and the project that they belong to.

A client belongs to one project for its lifetime (I7). A ``project`` argument never leads out of that project, unless
``server.cross_project`` allows it. Only a client without a known project may name any project. Tools that take an id
have no such argument, so for them that client sees the global memories only. A project that another call has named
opens no ids: one such client may serve several people or conversations, and ids also change and delete memories.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from opencode_memory.errors import InvalidInputError, NotFoundError
from opencode_memory.models import ALL_PROJECTS
from opencode_memory.text.suggest import did_you_mean

if TYPE_CHECKING:
    from opencode_memory.models import Memory
    from opencode_memory.store.memory_store import MemoryStore

_NO_FOLDER: Final = (
    "the server does not know the folder of this client, so only global memories have an id here, "
    "also after a call that named a project; recall with project=NAME shows the texts of a project; "
    "the user can start the client in the folder of the project, "
    "let it send the folder as the header x-opencode-directory, or set server.cross_project"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientScope:
    """The folders and the project of a client.

    Attributes:
        project: The project of the client's folder; None if the client has no known folder.
        folders: The client's working trees, the main one first. Tools may read and write files there.
        work_trees: Those of them that belong to the project. Files below them are named by their relative paths.
        may_cross: Whether the configuration allows the client to name other projects.
    """

    project: str | None = None
    folders: tuple[Path, ...] = ()
    work_trees: tuple[Path, ...] = ()
    may_cross: bool = False

    def resolve_project(self, requested: str | None, store: MemoryStore) -> str | None:
        """Return the project of a call.

        Args:
            requested: The ``project`` argument: the name of a project or its last part, ``*`` for all, or None.
            store: The store that knows the projects.

        Raises:
            InvalidInputError: The argument leads out of the client's project.
        """
        if requested is None or requested in (".", self.project):
            return self.project
        if self.project is not None and self.project.endswith(f"/{requested}"):
            return self.project
        if self.project is not None and not self.may_cross:
            error = InvalidInputError(
                f"project: this client works in {self.project!r}, and {requested!r} is another project",
                field="project",
            )
            error.hint = "leave project out; the user can set server.cross_project to allow other projects"
            raise error
        if requested == ALL_PROJECTS:
            if self.may_cross:
                return ALL_PROJECTS
            error = InvalidInputError("project: all projects at once are not allowed here", field="project")
            error.hint = "name one project; the user can set server.cross_project to allow all projects"
            raise error
        return self._find_project(requested, store)

    def get_visible(self, id: str, store: MemoryStore) -> Memory:
        """Return a memory that this client may see.

        Raises:
            NotFoundError: The memory does not exist, or belongs to another project.
        """
        try:
            memory = store.get(id)
        except NotFoundError as error:
            self.explain(error)
            raise
        self.check(memory, id)
        return memory

    def may_see(self, project: str | None) -> bool:
        """Return whether the client may see memories of a project; None stands for the global memories."""
        return self.may_cross or project is None or project == self.project

    def check(self, memory: Memory, id: str) -> None:
        """Refuse a memory of another project with the same error as a missing one.

        Raises:
            NotFoundError: The memory belongs to another project.
        """
        if self.may_see(memory.project):
            return
        error = NotFoundError(f'memory "{id}" was not found', id=id)
        self.explain(error)
        raise error

    def explain(self, error: NotFoundError) -> None:
        """Say why a client without a known project finds no memories of projects by their id."""
        if self.project is None and not self.may_cross:
            error.hint = _NO_FOLDER

    @staticmethod
    def _find_project(requested: str, store: MemoryStore) -> str:
        names = store.projects.names()
        exact = [name for name in names if name == requested]
        matches = exact or [name for name in names if name.endswith(f"/{requested}")]
        if len(matches) == 1:
            return matches[0]
        if len(matches) > 1:
            raise InvalidInputError(
                f"project: {requested!r} matches several projects: {', '.join(sorted(matches))}; name one of them",
                field="project",
            )
        error = NotFoundError(f"project: there is no project {requested!r}", id=requested)
        error.hint = did_you_mean(requested, names) if names else "no project has memories yet; leave project out"
        raise error
