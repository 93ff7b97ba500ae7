"""Messages between the plugin and the server, as pydantic models.

The plugin is another program, perhaps of another version, so the server validates all its parameters.

From the plugin, requests:

    hello        {protocol, version, directory, pid}  ->  {protocol, version, deadline_ms, first_deadline_ms, events}
                 or {refused, notice}
    turn         {sessionID, left_out}  ->  {settled}     before a message of the user is taken up
    messages     {sessionID, visible: [id], created?: [ms], message: {id, text}, summary?, instructions?}
                 ->  {blocks: {id: text}}
    compacting   {sessionID}  ->  {context: [text], prompt?}
    command      {sessionID, command, arguments}  ->  {text?}
    tool         {sessionID, messageID, agent, tool, arguments}  ->  {text, is_error}
    shell        {sessionID}  ->  {env: {name: value}, confined, sandboxed}    before the first tool of a session
    guard        {sessionID, tool, arguments}  ->  {refusal?}       before each tool of a sandboxed session
    flush        {}  ->  {}              after all earlier notifications are handled

and notifications:

    settled      {sessionID, messageID, state: "shown" | "late", cause?: "starting" | "lost" | "slow"}
    events       {directory, events}     as ``hosts.opencode.feed.event_stream`` documents them

From the server, requests ``oc.request`` {method, path, query?, body?} -> {status, body}, ``oc.subscribe`` {types}, and
``toast`` {title, message, variant}.
"""

from __future__ import annotations

from pathlib import PurePath
from typing import Annotated, Any, Final, Literal, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import PydanticCustomError

from opencode_memory.errors import InvalidInputError
from opencode_memory.hosts.opencode.loaded_files import MOST_INSTRUCTIONS
from opencode_memory.text.problems import describe_first
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
    "session.status",
    "session.error",
    "permission.asked",
    "question.asked",
    "question.replied",
    "todo.updated",
)
"""Types of events of OpenCode's bus that the plugin forwards."""
_LONGEST_PATH: Final = 4096


def _clean(value: Any) -> Any:
    # JSON may contain lone surrogates, which cannot be encoded as UTF-8. Replace them instead of failing.
    return join_surrogates(value) if isinstance(value, str) else value


def _check_absolute(directory: str) -> str:
    # A relative path would be resolved against the server's own folder, which belongs to no project.
    if "\0" in directory or not PurePath(directory).is_absolute():
        raise PydanticCustomError("absolute_path", "expected an absolute path")
    return directory


def _choose_paths(value: Any) -> list[str]:
    # They come from OpenCode's configuration. A long or wrong list must not cost the message its memories.
    listed = value[:MOST_INSTRUCTIONS] if isinstance(value, list) else []
    return [join_surrogates(one) for one in listed if isinstance(one, str) and len(one) <= _LONGEST_PATH]


_Name = Annotated[str, BeforeValidator(_clean), Field(min_length=1, max_length=512)]
_Text = Annotated[str, BeforeValidator(_clean), Field(max_length=1_000_000)]
_OptionalText = Annotated[_Text | None, BeforeValidator(_clean)]
_Directory = Annotated[str, BeforeValidator(_clean), Field(max_length=4096), AfterValidator(_check_absolute)]
_Paths = Annotated[list[str], BeforeValidator(_choose_paths)]
_Names = Annotated[list[Annotated[str, BeforeValidator(_clean)]], Field(max_length=10_000)]
_Natural = Annotated[int, Field(ge=0)]


class _Params(BaseModel):
    """Parameters of a message; members that this version does not know are ignored."""

    # Each validator is built for the first message of its kind. Otherwise a server without plugins would build all.
    model_config = ConfigDict(strict=True, frozen=True, defer_build=True)

    @classmethod
    def parse(cls, params: Any) -> Self:
        """Validate the parameters of a message.

        Raises:
            InvalidInputError: A member is missing or invalid; the message names the first one.
        """
        try:
            return cls.model_validate(params)
        except ValidationError as error:
            field, problem = describe_first(error, "params")
            raise InvalidInputError(problem, field=field) from error


class Greeting(_Params):
    """Parameters of ``hello``.

    Attributes:
        protocol: Version of the protocol that the plugin speaks.
        version: Version of the plugin.
        directory: Folder of the plugin's instance of OpenCode.
        pid: Process id of OpenCode.
    """

    directory: _Directory
    protocol: _Natural
    version: _Name
    pid: _Natural


class SessionParams(_Params):
    """Parameters of ``compacting``, and of every message that belongs to a session."""

    session: _Name = Field(alias="sessionID")


class UserMessage(_Params):
    """The user's last message."""

    id: _Name
    text: _Text


class MessagesParams(SessionParams):
    """Parameters of ``messages``.

    Attributes:
        message: The message to decide on.
        summary: Text of the session's last summary, if the model still sees it.
        visible: Ids of the messages that the model still sees.
        created: Times of their creation, in Unix milliseconds, in the same order, or 0; empty from an older plugin.
        instructions: Files that OpenCode's configuration adds to the system prompt: paths, patterns and addresses.
    """

    message: UserMessage
    summary: _OptionalText = None
    visible: _Names
    created: Annotated[list[_Natural], Field(max_length=10_000)] = Field(default_factory=list)
    instructions: _Paths = Field(default_factory=list)


class TurnParams(SessionParams):
    """Parameters of ``turn``.

    Attributes:
        left_out: Whether the plugin added our MCP server as disabled, because it did not run at OpenCode's start.
    """

    left_out: bool


class CommandParams(SessionParams):
    """Parameters of ``command``."""

    command: _Name
    arguments: _Text


class ToolParams(SessionParams):
    """Parameters of ``tool``; the tool itself checks ``arguments``."""

    tool: _Name
    arguments: Any
    message: _OptionalText = Field(default=None, alias="messageID")
    agent: _OptionalText = None


class GuardParams(SessionParams):
    """Parameters of ``guard``."""

    tool: _Name
    arguments: Any


class SettledParams(SessionParams):
    """Parameters of ``settled``; ``cause`` tells why an answer was late."""

    message: _Name = Field(alias="messageID")
    state: Literal["shown", "late"]
    cause: Literal["starting", "lost", "slow"] | None = None
