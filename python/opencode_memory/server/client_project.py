"""Determines a client's project from its folder: the request header, the MCP roots, or the server's own folder.

The own folder counts only for a server that one client started for itself, never for the resident server. Folders are
known for the lifetime of a session. The project is looked up at each call, because the user may rename it.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit

from opencode_memory.errors import InvalidInputError
from opencode_memory.projects.resolver import work_tree
from opencode_memory.server.client_scope import ClientScope

if TYPE_CHECKING:
    from mcp.server import ServerRequestContext
    from mcp_types import CallToolRequestParams, InputRequiredResult, ListRootsResult

    from opencode_memory.server.server_state import ServerState

HEADER: Final = "x-opencode-directory"
SESSION_HEADER: Final = "mcp-session-id"
_ROOTS_PATIENCE_SECONDS: Final = 5.0
_MOST_SESSIONS: Final = 10_000
_MOST_ROOTS: Final = 50
Described = Mapping[str, Sequence[str] | None]
"""Sessions and their folders, as JSON values; None for folders that only the header of each request tells."""
_log: Final = logging.getLogger(__name__)


class ClientProjects:
    """Determines the folders and the scope of clients.

    Args:
        state: The state of the server.
        folder: The working directory of a server for a single client; None for the resident server.
    """

    def __init__(self, state: ServerState, folder: Path | None) -> None:
        self._state = state
        self._own_folder = folder
        self._lock = threading.Lock()
        self._roots: OrderedDict[str, tuple[Path, ...]] = OrderedDict()
        self.adopted: dict[str, tuple[Path, ...] | None] = {}
        """The sessions that another server started, which this one has replaced, and their folders.

        The folders are None if only the header of each request tells them.
        """

    async def folders(
        self, context: ServerRequestContext[Any, Any], params: CallToolRequestParams
    ) -> tuple[Path, ...] | InputRequiredResult:
        """Return the folders of a client, the main one first, or a request for its roots if they are needed first.

        Raises:
            InvalidInputError: The header holds an invalid folder.
        """
        headers: Mapping[str, str] = getattr(context.request, "headers", None) or {}
        if value := headers.get(HEADER):
            return (_parse_header(value),)
        session = headers.get(SESSION_HEADER, "")
        if (adopted := self.adopted.get(session)) is not None:
            return adopted
        capabilities = context.session.client_capabilities
        if capabilities is not None and capabilities.roots is not None:
            from mcp_types import InputRequiredResult, ListRootsRequest  # noqa: PLC0415  as in ``_request_roots``

            roots = await self._request_roots(context, params, session)
            if roots is None:
                return InputRequiredResult(input_requests={"roots": ListRootsRequest()})
            if roots:
                return roots
        elif session:
            self._keep_roots(session, ())
        return () if self._own_folder is None else (self._own_folder,)

    def known_folders(self, directory: str | None, session: str | None) -> tuple[Path, ...] | None:
        """Return the folders of a client of the resident server; None if only ``folders`` can tell them.

        Args:
            directory: The value of the request header, if any.
            session: The session of the request, which must be alive, if any.

        Raises:
            InvalidInputError: The header holds an invalid folder.
        """
        if directory:
            return (_parse_header(directory),)
        if session is None:
            return ()
        if session in self.adopted:
            return self.adopted[session]
        with self._lock:
            return self._roots.get(session)

    def describe(self, sessions: Iterable[str]) -> Described:
        """Return what is known of the folders of sessions, as ``adopt`` takes it."""
        with self._lock:
            known = {session: self._roots.get(session) for session in sessions} | self.adopted
        return {session: None if folders is None else [*map(str, folders)] for session, folders in known.items()}

    def adopt(self, sessions: Described) -> None:
        """Serve the sessions that another server has described."""
        for session, folders in sessions.items():
            self.adopted[session] = None if folders is None else tuple(map(Path, folders))

    def forget_roots(self, context: ServerRequestContext[Any, Any]) -> None:
        """Drop the cached roots of a client that has changed them. The next call requests them again."""
        headers: Mapping[str, str] = getattr(context.request, "headers", None) or {}
        with self._lock:
            self._roots.pop(headers.get(SESSION_HEADER, ""), None)

    def scope(self, folders: tuple[Path, ...]) -> ClientScope:
        """Return the scope for a client's folders. Writes nothing to the store.

        Args:
            folders: The result of ``folders``.

        Raises:
            InvalidInputError: A folder is invalid.
        """
        may_cross = self._state.config.server.cross_project
        if not folders:
            return ClientScope(may_cross=may_cross)
        try:
            folders = tuple(map(_unquote, folders))
            trees = {folder: work_tree(folder) or folder for folder in folders}
            project = self._state.projects.name(folders[0])
            # A root may be another repository, whose src/app.py is another file.
            own = [tree for folder, tree in trees.items() if folder == folders[0] or self._is_of(project, folder)]
        except OSError as error:
            raise InvalidInputError(f"{HEADER}: is not a valid folder: {error.strerror}", field=HEADER) from error
        # Set the project even if it has no memories. Otherwise its client could name other projects.
        return ClientScope(
            project=project,
            folders=tuple(dict.fromkeys(trees.values())),
            work_trees=tuple(dict.fromkeys(own)),
            may_cross=may_cross,
        )

    def refresh(self, folders: tuple[Path, ...]) -> None:
        """Update the identity of a project (its remotes and folder) after a call wrote into it."""
        if folders:
            self._state.projects.refresh(_unquote(folders[0]))

    def _is_of(self, project: str, folder: Path) -> bool:
        try:
            return self._state.projects.name(folder) == project
        except InvalidInputError:
            # A folder whose path is not UTF-8 has no project.
            return False

    async def _request_roots(
        self, context: ServerRequestContext[Any, Any], params: CallToolRequestParams, session: str
    ) -> tuple[Path, ...] | None:
        """Request the roots of a client once per session. Return None if only the result of the call can request them.

        That is the way of the newer MCP protocol, in which the client then repeats the call with its roots.
        """
        # The plugin's connection needs this module before the SDK is imported, which takes long.
        from mcp.shared.exceptions import MCPError  # noqa: PLC0415  as explained
        from mcp.shared.message import ServerMessageMetadata  # noqa: PLC0415  as explained
        from mcp_types import ListRootsRequest, ListRootsResult  # noqa: PLC0415  as explained

        response = (params.input_responses or {}).get("roots")
        if isinstance(response, ListRootsResult):
            return _parse_roots(response)
        with self._lock:
            if session in self._roots:
                self._roots.move_to_end(session)
                return self._roots[session]
        if not context.session.can_send_request:
            # A stateless request of the older protocol has no way to request roots.
            return None if params.input_responses is None and _is_modern(context) else ()
        try:
            result = await context.session.send_request(
                ListRootsRequest(),
                ListRootsResult,
                request_read_timeout_seconds=_ROOTS_PATIENCE_SECONDS,
                metadata=ServerMessageMetadata(related_request_id=context.request_id),
            )
        except MCPError as error:
            _log.warning("the client declares roots, but did not list them: %s", error)
            # Cache the empty result until the client reports a change. Each further request would delay a call.
            roots: tuple[Path, ...] = ()
        else:
            roots = _parse_roots(result)
        self._keep_roots(session, roots)
        return roots

    def _keep_roots(self, session: str, roots: tuple[Path, ...]) -> None:
        with self._lock:
            self._roots[session] = roots
            while len(self._roots) > _MOST_SESSIONS:
                self._roots.popitem(last=False)


def _is_modern(context: ServerRequestContext[Any, Any]) -> bool:
    from mcp_types.version import MODERN_PROTOCOL_VERSIONS  # noqa: PLC0415  needed for some clients only

    return context.protocol_version in MODERN_PROTOCOL_VERSIONS


def _parse_header(value: str) -> Path:
    try:
        text = value.encode("latin-1").decode("utf-8")
    except UnicodeError as error:
        raise InvalidInputError(f"{HEADER}: is not UTF-8", field=HEADER) from error
    if "\0" in text or not Path(text).is_absolute():
        raise InvalidInputError(f"{HEADER}: {text!r} is not an absolute path", field=HEADER)
    return Path(text)


def _unquote(folder: Path) -> Path:
    """Decode a percent-encoded folder if only the decoded one exists. Headers cannot carry all characters."""
    plain = Path(unquote(str(folder)))
    return plain if plain != folder and not folder.exists() and plain.exists() else folder


def _parse_roots(result: ListRootsResult) -> tuple[Path, ...]:
    folders = []
    for root in result.roots[:_MOST_ROOTS]:
        parts = urlsplit(str(root.uri))
        path = unquote(parts.path)
        if parts.scheme == "file" and parts.netloc in ("", "localhost") and path.startswith("/") and "\0" not in path:
            folders.append(Path(path))
    return tuple(folders)
