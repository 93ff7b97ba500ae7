"""Context of a tool call: the store, the configuration, the client's scope and the current time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from opencode_memory.config import paths
from opencode_memory.entities import canonical
from opencode_memory.errors import InvalidInputError
from opencode_memory.models import Source, Trust

if TYPE_CHECKING:
    from opencode_memory.config.load import Config
    from opencode_memory.models import Memory
    from opencode_memory.server.client_scope import ClientScope
    from opencode_memory.server.server_state import ServerState
    from opencode_memory.store.memory_store import MemoryStore


@dataclass(frozen=True, slots=True)
class Call:
    """The context of one tool call.

    Attributes:
        state: The state of the server.
        client: The scope of the client.
        at: The current time.
    """

    state: ServerState
    client: ClientScope
    at: datetime

    @property
    def store(self) -> MemoryStore:
        """The store of the server, which knows the work trees of the client."""
        return self._in_work_trees(self.state.store)

    @property
    def config(self) -> Config:
        """The configuration of the server."""
        return self.state.config

    @property
    def exports(self) -> Path:
        """The folder of the data directory where the client may write exports. It may not exist yet."""
        return self.state.exports_of(self.client.project)

    @property
    def count_tokens(self) -> Callable[[str], int]:
        """The function that counts the tokens of a text."""
        return self.state.count_tokens

    def resolve_project(self, requested: str | None) -> str | None:
        """Return the project of the call; see ``ClientScope.resolve_project``."""
        return self.client.resolve_project(requested, self.store)

    def name_entity(self, reference: str, project: str | None) -> str:
        """Return the canonical name of an entity that the client refers to in a project."""
        client = self.client
        trees = [tree.as_posix() for tree in client.work_trees] if project == client.project else []
        return canonical(reference, project=project, work_trees=trees)

    def get_visible(self, id: str) -> Memory:
        """Return a memory that the client may see; see ``ClientScope.get_visible``."""
        return self.client.get_visible(id, self.store)

    def get_visible_ids(self, ids: Iterable[str]) -> list[str]:
        """Return the full ids of memories that the client may see.

        Raises:
            NotFoundError: At least one of them does not exist for the client.
        """
        return list(dict.fromkeys(self.get_visible(memory_id).id for memory_id in ids))

    def confine(self, path: str, *, field: str) -> Path:
        """Resolve a path, with its symbolic links, and check that the client may use it.

        Allowed are the client's own folder of exports, its working trees, and ``server.allowed_folders``. A relative
        path starts at the client's first working tree, or at its exports if it has none.

        Raises:
            InvalidInputError: The path leads to another place, or this system cannot look it up.
        """
        if "\0" in path:
            raise InvalidInputError(f"{field}: a path cannot contain NUL", field=field)
        relative = Path(path).expanduser() if path.startswith("~/") else Path(path)
        base = self.client.folders[0] if self.client.folders else self.exports
        try:
            return self._resolve_allowed(base / relative)
        except InvalidInputError as error:
            refusal = InvalidInputError(f"{field}: {error}", field=field)
            refusal.hint = "use a path in your project; the user can allow other folders with server.allowed_folders"
            if any(_contains_home(folder) for folder in self.client.folders):
                refusal.hint = f"a home folder, or a folder above it, gives no access to its files; {refusal.hint}"
            raise refusal from error
        except (OSError, RuntimeError, ValueError) as error:
            raise InvalidInputError(f"{field}: {path!r} is not a usable path: {error}", field=field) from error

    def _in_work_trees(self, store: MemoryStore) -> MemoryStore:
        client = self.client
        return store if client.project is None else store.in_work_trees(client.project, client.work_trees)

    def _resolve_allowed(self, path: Path) -> Path:
        projects = (folder for folder in self.client.folders if not _contains_home(folder))
        resolved = paths.confine(path, (self.exports, *projects, *self.state.allowed_folders))
        if resolved.is_relative_to(self.state.exports.resolve()):
            # An allowed folder may contain the exports of all clients; allow only those of this client.
            resolved = paths.confine(resolved, (self.exports,))
        with suppress(FileNotFoundError, NotADirectoryError):
            resolved.lstat()
        return resolved


@dataclass(frozen=True, slots=True)
class SessionCall(Call):
    """The context of a call from an OpenCode session, with details that an MCP client does not send.

    Attributes:
        session: The id of the session.
        message: The id of the message that the call belongs to.
        agent: The name of the calling agent.
        is_typed: Whether the user typed it; the history then names the user.
    """

    session: str | None = None
    message: str | None = None
    agent: str | None = None
    is_typed: bool = False

    @property
    def store(self) -> MemoryStore:
        """The store of the server, which knows the work trees of the client."""
        store = self.state.store.acting_as(Trust.USER) if self.is_typed else self.state.store
        return self._in_work_trees(store)

    @property
    def source(self) -> Source:
        """The source of memories that this call writes."""
        return Source(tool="opencode", session=self.session, message=self.message)


def _contains_home(folder: Path) -> bool:
    """Check whether a folder is the root of a file system, the user's home, or a parent of it.

    Such a folder is too large to be one project.
    """
    resolved, home = folder.resolve(), Path.home().resolve()
    return resolved == Path(resolved.anchor) or resolved == home or resolved in home.parents
