"""Where a client works: the folders that it was started for, and the project that these fix.

A client is in one project for good (I7). What it names in an argument can narrow that and never leads out of it, unless
the configuration allows it; only a client of which nothing is known may choose.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from opencode_memory.errors import InvalidInputError, NotFoundError
from opencode_memory.models import ALL_PROJECTS
from opencode_memory.text.suggest import did_you_mean

if TYPE_CHECKING:
    from opencode_memory.models import Memory
    from opencode_memory.store.memory_store import MemoryStore


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientScope:
    """Where a client works.

    Attributes:
        project: The project of its folder; None when nothing is known of the client.
        folders: Its work trees, the first one first; paths of files may lead there.
        may_cross: Whether the configuration lets it name other projects.
    """

    project: str | None = None
    folders: tuple[Path, ...] = ()
    may_cross: bool = False

    def narrow(self, asked: str | None, store: MemoryStore) -> str | None:
        """Return the project that a call is about.

        Args:
            asked: What the argument said: a project's name or the end of it, ``*`` for all, or None.
            store: Where projects are known.

        Raises:
            InvalidInputError: It leads out of the client's project.
        """
        if asked is None or asked in (".", self.project):
            return self.project
        if self.project is not None and self.project.endswith(f"/{asked}"):
            return self.project
        if self.project is not None and not self.may_cross:
            error = InvalidInputError(
                f"project: this client works in {self.project!r}, and {asked!r} is another project", field="project"
            )
            error.hint = "leave project out; its owner can set server.cross_project to allow it"
            raise error
        if asked == ALL_PROJECTS:
            if self.may_cross:
                return ALL_PROJECTS
            error = InvalidInputError("project: all projects at once are not shown here", field="project")
            error.hint = "name one project; its owner can set server.cross_project to allow it"
            raise error
        return self._known(asked, store)

    def get_visible(self, id: str, store: MemoryStore) -> Memory:
        """Return a memory that this client may see.

        Raises:
            NotFoundError: There is none; one of another project counts as none.
        """
        memory = store.get(id)
        self.check(memory, id)
        return memory

    def check(self, memory: Memory, id: str) -> None:
        """Refuse a memory of another project, as if it were not there.

        Raises:
            NotFoundError: It belongs to another project.
        """
        if self.project is None or self.may_cross or memory.project in (None, self.project):
            return
        raise NotFoundError(f'memory "{id}" was not found', id=id)

    @staticmethod
    def _known(asked: str, store: MemoryStore) -> str:
        names = [project.name for project in store.projects.list()]
        found = [name for name in names if name == asked] or [name for name in names if name.endswith(f"/{asked}")]
        if len(found) == 1:
            return found[0]
        if len(found) > 1:
            raise InvalidInputError(f"project: {asked!r} fits {', '.join(sorted(found))}; name one", field="project")
        error = NotFoundError(f"project: there is no project {asked!r}", id=asked)
        error.hint = did_you_mean(asked, names) if names else "no project has memories yet; leave project out"
        raise error
