"""Whose project a client works in, from its folder: what it says by header or roots, or where its server was started.

The resident server's own folder never counts. Folders come from the client for the length of its session; the project
is looked up at each call, since a person may rename it meanwhile.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit

from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types import InputRequiredResult, ListRootsRequest, ListRootsResult

from opencode_memory.errors import InvalidInputError
from opencode_memory.projects.resolver import work_tree
from opencode_memory.server.client_scope import ClientScope

if TYPE_CHECKING:
    from mcp.server import ServerRequestContext
    from mcp_types import CallToolRequestParams

    from opencode_memory.server.server_state import ServerState

HEADER: Final = "x-opencode-directory"
SESSION_HEADER: Final = "mcp-session-id"
_ROOTS_PATIENCE_SECONDS: Final = 5.0
_MOST_SESSIONS: Final = 10_000
_MOST_ROOTS: Final = 50
_log: Final = logging.getLogger(__name__)


class ClientProjects:
    """Finds the place of a client.

    Args:
        state: The server's.
        folder: Where the server was started, if it serves one client alone; None for a resident server.
    """

    def __init__(self, state: ServerState, folder: Path | None) -> None:
        self._state = state
        self._own_folder = folder
        self._lock = threading.Lock()
        self._roots: OrderedDict[str, tuple[Path, ...]] = OrderedDict()

    async def folders(
        self, context: ServerRequestContext[Any, Any], params: CallToolRequestParams
    ) -> tuple[Path, ...] | InputRequiredResult:
        """Return the folders that a client works in, the first one first, or what it has to be asked first.

        Raises:
            InvalidInputError: It names a folder that cannot be one.
        """
        headers: Mapping[str, str] = getattr(context.request, "headers", None) or {}
        if named := headers.get(HEADER):
            return (_folder_of_header(named),)
        capabilities = context.session.client_capabilities
        if capabilities is not None and capabilities.roots is not None:
            roots = await self._asked_roots(context, params, headers.get(SESSION_HEADER, ""))
            if roots is None:
                return InputRequiredResult(input_requests={"roots": ListRootsRequest()})
            if roots:
                return roots
        return () if self._own_folder is None else (self._own_folder,)

    def forget_roots(self, context: ServerRequestContext[Any, Any]) -> None:
        """Ask a client again, since its roots have changed."""
        headers: Mapping[str, str] = getattr(context.request, "headers", None) or {}
        with self._lock:
            self._roots.pop(headers.get(SESSION_HEADER, ""), None)

    def scope(self, folders: tuple[Path, ...]) -> ClientScope:
        """Return the place that folders fix; nothing is written.

        Args:
            folders: From ``folders``.

        Raises:
            InvalidInputError: One of them cannot be a folder.
        """
        may_cross = self._state.config.server.cross_project
        if not folders:
            return ClientScope(may_cross=may_cross)
        try:
            folders = tuple(map(_unquoted, folders))
            trees = tuple(dict.fromkeys(work_tree(folder) or folder for folder in folders))
            project = self._state.projects.name(folders[0])
        except OSError as error:
            raise InvalidInputError(f"{HEADER}: no folder can be called so: {error.strerror}", field=HEADER) from error
        # A project without memories still keeps its client out of the others.
        return ClientScope(project=project, folders=trees, may_cross=may_cross)

    def refresh(self, folders: tuple[Path, ...]) -> None:
        """Note what a project is recognised by, once something was written into it."""
        if folders:
            self._state.projects.refresh(_unquoted(folders[0]))

    async def _asked_roots(
        self, context: ServerRequestContext[Any, Any], params: CallToolRequestParams, session: str
    ) -> tuple[Path, ...] | None:
        """Return the roots of a client, asking it once; None when it can only be asked by way of the answer."""
        answered = (params.input_responses or {}).get("roots")
        if isinstance(answered, ListRootsResult):
            return _folders_of_roots(answered)
        with self._lock:
            if session in self._roots:
                self._roots.move_to_end(session)
                return self._roots[session]
        if not context.session.can_send_request:
            # The newer protocol asks by way of the answer; a stateless request of the older one has no way.
            return None if params.input_responses is None and _asks_by_answer(context) else ()
        try:
            result = await context.session.send_request(
                ListRootsRequest(),
                ListRootsResult,
                request_read_timeout_seconds=_ROOTS_PATIENCE_SECONDS,
                metadata=ServerMessageMetadata(related_request_id=context.request_id),
            )
        except MCPError as error:
            _log.warning("the client says it has roots, but does not name them: %s", error)
            # It is not asked again before it says that they have changed: each time would hold up a call.
            roots: tuple[Path, ...] = ()
        else:
            roots = _folders_of_roots(result)
        with self._lock:
            self._roots[session] = roots
            while len(self._roots) > _MOST_SESSIONS:
                self._roots.popitem(last=False)
        return roots


def _asks_by_answer(context: ServerRequestContext[Any, Any]) -> bool:
    from mcp_types.version import MODERN_PROTOCOL_VERSIONS  # noqa: PLC0415  only clients of the newer protocol

    return context.protocol_version in MODERN_PROTOCOL_VERSIONS


def _folder_of_header(value: str) -> Path:
    try:
        text = value.encode("latin-1").decode("utf-8")
    except UnicodeError as error:
        raise InvalidInputError(f"{HEADER}: is not UTF-8", field=HEADER) from error
    if "\0" in text or not Path(text).is_absolute():
        raise InvalidInputError(f"{HEADER}: {text!r} is not an absolute path", field=HEADER)
    return Path(text)


def _unquoted(folder: Path) -> Path:
    """Return the folder that a client meant, which may have quoted what headers cannot carry."""
    plain = Path(unquote(str(folder)))
    return plain if plain != folder and not folder.exists() and plain.exists() else folder


def _folders_of_roots(result: ListRootsResult) -> tuple[Path, ...]:
    folders = []
    for root in result.roots[:_MOST_ROOTS]:
        parts = urlsplit(str(root.uri))
        path = unquote(parts.path)
        if parts.scheme == "file" and parts.netloc in ("", "localhost") and path.startswith("/") and "\0" not in path:
            folders.append(Path(path))
    return tuple(folders)
