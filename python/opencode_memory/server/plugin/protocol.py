"""What the plugin and the server say to each other, as it is checked.

The plugin is another program, perhaps of another version: everything it sends is looked at before it is used.

From the plugin, requests:

    hello        {protocol, version, directory, pid}  ->  {protocol, version, deadline_ms, events} or {refused, notice}
    messages     {sessionID, visible: [id], message: {id, text}, summary?}  ->  {blocks: {id: text}}
    compacting   {sessionID}  ->  {context: [text], prompt?}
    command      {sessionID, command, arguments}  ->  {text?}
    tool         {sessionID, messageID, agent, tool, arguments}  ->  {text, is_error}
    flush        {}  ->  {}              once everything that was told before is taken

and notifications:

    settled      {sessionID, messageID, state: "shown" | "late"}
    events       {directory, events}     as ``ingest.live`` documents them

From the server, requests ``oc.request`` {method, path, query?, body?} -> {status, body}, ``oc.subscribe`` {types}, and
``toast`` {title, message, variant}.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Final

from opencode_memory.errors import InvalidInputError
from opencode_memory.text.unicode import join_surrogates

PATH: Final = "/bridge"
EVENTS: Final = (
    "session.created",
    "session.updated",
    "session.idle",
    "session.deleted",
    "session.compacted",
    "message.updated",
    "message.part.updated",
    "message.removed",
    "message.part.removed",
    "permission.replied",
)
"""Types of events of OpenCode's bus that the plugin forwards."""
_NAME: Final = 512
_TEXT: Final = 1_000_000
_MANY: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Greeting:
    """What a plugin says of itself.

    Attributes:
        protocol: The version of the protocol that it speaks.
        version: Its own version.
        directory: The folder of its instance of OpenCode.
        pid: OpenCode's process.
    """

    protocol: int
    version: str
    directory: str
    pid: int

    @classmethod
    def of(cls, params: Any) -> Greeting:
        """Read the parameters of a ``hello``.

        Raises:
            InvalidInputError: They are none.
        """
        directory = text(params, "directory", most=4096)
        # A relative one would count from the server's own folder, which is nobody's project.
        if "\0" in directory or not PurePath(directory).is_absolute():
            raise InvalidInputError("directory: expected an absolute path", field="directory")
        return cls(
            protocol=number(params, "protocol"),
            version=name(params, "version"),
            directory=directory,
            pid=number(params, "pid"),
        )


def member(params: Any, key: str) -> Any:
    """Return a member of an object that has to be there."""
    if not isinstance(params, Mapping):
        raise InvalidInputError("params: expected an object", field="params")
    if key not in params:
        raise InvalidInputError(f"{key}: is missing", field=key)
    return params[key]


def text(params: Any, key: str, *, most: int = _TEXT) -> str:
    """Return a text."""
    found = member(params, key)
    if not isinstance(found, str):
        raise InvalidInputError(f"{key}: expected a text", field=key)
    if len(found) > most:
        raise InvalidInputError(f"{key}: has {len(found):,} characters, more than {most:,}", field=key, limit=str(most))
    return join_surrogates(found)


def name(params: Any, key: str) -> str:
    """Return a text that names something: short, and not empty."""
    found = text(params, key, most=_NAME)
    if not found:
        raise InvalidInputError(f"{key}: is empty", field=key)
    return found


def optional_text(params: Any, key: str) -> str:
    """Return a text; an empty one where nothing is said."""
    if isinstance(params, Mapping) and params.get(key) is None:
        return ""
    return text(params, key)


def number(params: Any, key: str) -> int:
    """Return a whole number that is not negative."""
    found = member(params, key)
    if not isinstance(found, int) or isinstance(found, bool) or found < 0:
        raise InvalidInputError(f"{key}: expected a whole number", field=key)
    return found


def names(params: Any, key: str) -> tuple[str, ...]:
    """Return a list of names."""
    found = member(params, key)
    if not isinstance(found, list) or len(found) > _MANY or not all(isinstance(one, str) for one in found):
        raise InvalidInputError(f"{key}: expected a list of at most {_MANY:,} texts", field=key)
    return tuple(map(join_surrogates, found))
