"""Events of a session, independent of the feed (OpenCode's database or the plugin) that delivers them.

An event belongs to a message. Messages are the unit of deduplication, because feeds overlap, feeds restart, and
sessions are forked. Feeds truncate texts to ``LONGEST_TEXT``: the middle of a log of megabytes is never learned from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, TypeAlias

LONGEST_TEXT: Final = 20_000
SHELLS: Final = frozenset({"bash", "shell"})
"""Names of the tools that run commands."""
_HEAD: Final = 12_000


class ToolStatus(StrEnum):
    """How a tool call ended."""

    COMPLETED = "completed"
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class UserText:
    """Text that the user typed, without text that programs added to the message."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AssistantText:
    """Text of the agent, without its reasoning."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A finished tool call.

    Attributes:
        tool: Name of the tool as the LLM sees it, for example ``bash``, ``edit`` or ``memory_recall``.
        input: Arguments of the call.
        status: How the call ended; a command with a failing exit code is ``completed``.
        exit: Exit code of a shell command; None for other tools, and if the command was aborted or timed out.
        output: Output of the call.
        error: Error message, if the call failed.
        begun_ms: When it began, in UTC milliseconds; 0 if that is not known.
        ended_ms: When it ended; 0 if that is not known.
    """

    tool: str
    input: Mapping[str, Any] = field(default_factory=dict)
    status: ToolStatus = ToolStatus.COMPLETED
    exit: int | None = None
    output: str = ""
    error: str = ""
    begun_ms: int = 0
    ended_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Feedback:
    """The user's reason for refusing a tool call."""

    tool: str
    input: Mapping[str, Any] = field(default_factory=dict)
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction:
    """The summary that replaces all earlier messages."""

    summary: str


@dataclass(frozen=True, slots=True)
class SessionEnd:
    """The session is idle, so no message is expected soon."""


Event: TypeAlias = UserText | AssistantText | ToolCall | Feedback | Compaction | SessionEnd


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A complete message.

    Attributes:
        id: Id used by all feeds.
        at_ms: Time of creation, in UTC milliseconds.
        events: Events in order; may be empty.
        digest: Hash that is equal for copies of the message in forked sessions, and different for all other messages.
    """

    id: str
    at_ms: int
    events: tuple[Event, ...]
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionInfo:
    """A session of OpenCode.

    Attributes:
        id: Id in OpenCode.
        directory: Working directory; empty if unknown.
        parent: The session that started this one as a subagent, if any. Its "user" is then an agent.
        title: Title that OpenCode shows.
    """

    id: str
    directory: str = ""
    parent: str | None = None
    title: str = ""


def truncate(text: str) -> str:
    """Truncate a text to its beginning and its end, where errors and results are."""
    if len(text) <= LONGEST_TEXT:
        return text
    tail = LONGEST_TEXT - _HEAD
    return f"{text[:_HEAD]}\n…\n{text[-tail:]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoneMessages:
    """Messages of a session that the user has undone.

    Attributes:
        since: Id of the first message that is undone and can still be redone; None if there is none. Ids of later
            messages are greater.
        removed: Ids of messages that were removed. They are undone for good if they were undone before.
        keeps_since: Whether ``since`` is unknown, so that it stays as it was.
        is_certain: Whether OpenCode itself says so. A database may be a copy from another time.
    """

    since: str | None = None
    removed: tuple[str, ...] = ()
    keeps_since: bool = False
    is_certain: bool = True
