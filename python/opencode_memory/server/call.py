"""What a tool is given besides its arguments: the store, the configuration, the client's place, and the moment."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from opencode_memory.config import paths
from opencode_memory.errors import InvalidInputError
from opencode_memory.models import Source

if TYPE_CHECKING:
    from opencode_memory.config.load import Config
    from opencode_memory.models import Memory
    from opencode_memory.server.client_scope import ClientScope
    from opencode_memory.server.server_state import ServerState
    from opencode_memory.store.memory_store import MemoryStore


@dataclass(frozen=True, slots=True)
class Call:
    """One call of one tool."""

    state: ServerState
    client: ClientScope
    at: datetime

    @property
    def store(self) -> MemoryStore:
        """The store."""
        return self.state.store

    @property
    def config(self) -> Config:
        """The configuration of the server."""
        return self.state.config

    @property
    def exports(self) -> Path:
        """The folder of the data directory where the client may write; it need not exist yet."""
        return self.state.exports_of(self.client.project)

    @property
    def count_tokens(self) -> Callable[[str], int]:
        """What counts the tokens of a text."""
        return self.state.count_tokens

    def resolve_project(self, asked: str | None) -> str | None:
        """Return the project that the call is about; see ``ClientScope.narrow``."""
        return self.client.narrow(asked, self.store)

    def get_visible(self, id: str) -> Memory:
        """Return a memory that the client may see; see ``ClientScope.get_visible``."""
        return self.client.get_visible(id, self.store)

    def get_visible_ids(self, ids: Iterable[str]) -> list[str]:
        """Return the full ids of memories, all of which the client may see.

        Raises:
            NotFoundError: One of them is not there for the client; nothing was done then.
        """
        return list(dict.fromkeys(self.get_visible(one).id for one in ids))

    def confine(self, path: str, *, field: str) -> Path:
        """Return a path that the client may use, with symbolic links resolved.

        It may lie in the client's own part of the data directory's exports, in the client's work trees, or where the
        configuration allows it. A relative path counts from the client's first work tree, else from the exports.

        Raises:
            InvalidInputError: It leads anywhere else, or is no path that this machine can look up.
        """
        if "\0" in path:
            raise InvalidInputError(f"{field}: a path has no NUL", field=field)
        given = Path(path).expanduser() if path.startswith("~/") else Path(path)
        base = self.client.folders[0] if self.client.folders else self.exports
        try:
            return self._resolved(base / given)
        except InvalidInputError as error:
            told = InvalidInputError(f"{field}: {error}", field=field)
            told.hint = "use a path in your project; its owner can allow more with server.allowed_folders"
            if any(_holds_a_home(folder) for folder in self.client.folders):
                told.hint = f"a home folder or one above it opens no files; {told.hint}"
            raise told from error
        except (OSError, RuntimeError, ValueError) as error:
            raise InvalidInputError(f"{field}: {path!r} is not a usable path: {error}", field=field) from error

    def _resolved(self, path: Path) -> Path:
        projects = (folder for folder in self.client.folders if not _holds_a_home(folder))
        resolved = paths.confine(path, (self.exports, *projects, *self.state.allowed_folders))
        if resolved.is_relative_to(self.state.exports.resolve()):
            # A folder that is allowed may lie around everybody's exports.
            resolved = paths.confine(resolved, (self.exports,))
        with suppress(FileNotFoundError, NotADirectoryError):
            resolved.lstat()
        return resolved


@dataclass(frozen=True, slots=True)
class SessionCall(Call):
    """A call out of a session of OpenCode, of which the plugin tells more than an MCP client can.

    Attributes:
        session: Its id.
        message: Id of the message that it belongs to.
        agent: Name of the agent that calls.
    """

    session: str | None = None
    message: str | None = None
    agent: str | None = None

    @property
    def source(self) -> Source:
        """Where what is written now comes from."""
        return Source(tool="opencode", session=self.session, message=self.message)


def _holds_a_home(folder: Path) -> bool:
    """Say whether a folder is the root of a file system, or the user's home or above it: too much for one project."""
    resolved, home = folder.resolve(), Path.home().resolve()
    return resolved == Path(resolved.anchor) or resolved == home or resolved in home.parents
