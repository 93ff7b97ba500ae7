"""What happens in a session, whichever feed brought it: the database of OpenCode, or the plugin while it happens.

An event belongs to a message, and a message is what counts once: feeds overlap, they restart, and sessions are forked.
Texts are cut to ``LONGEST_TEXT`` at the source; nothing that is learned lies in the middle of a log of megabytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, TypeAlias

LONGEST_TEXT: Final = 20_000
_HEAD: Final = 12_000


class ToolStatus(StrEnum):
    """How a tool call ended."""

    COMPLETED = "completed"
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class UserText:
    """What the person typed; nothing that a program put into the message for them."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AssistantText:
    """What the agent said, without its reasoning."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A tool call that has ended.

    Attributes:
        tool: Its name as the model sees it: ``bash``, ``edit``, ``memory_recall``.
        input: Its arguments.
        status: How it ended; a command with a failing exit code is ``completed``.
        exit: Exit code of a shell command; None for other tools, and when it was aborted or timed out.
        output: What it returned.
        error: Why it failed.
    """

    tool: str
    input: Mapping[str, Any] = field(default_factory=dict)
    status: ToolStatus = ToolStatus.COMPLETED
    exit: int | None = None
    output: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Feedback:
    """What the person said when they refused a tool call."""

    tool: str
    input: Mapping[str, Any] = field(default_factory=dict)
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction:
    """The summary that took the place of everything before it."""

    summary: str


@dataclass(frozen=True, slots=True)
class SessionEnd:
    """Nothing more is to be expected for now: the session is idle, or has not been touched for long."""


Event: TypeAlias = UserText | AssistantText | ToolCall | Feedback | Compaction | SessionEnd


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A complete message.

    Attributes:
        id: As the feeds call it.
        at_ms: When it was created, in UTC milliseconds.
        events: What happened in it, in order; may be empty.
        digest: The same for a copy of the message in a fork of its session, and for no other message.
    """

    id: str
    at_ms: int
    events: tuple[Event, ...]
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionInfo:
    """A session of OpenCode.

    Attributes:
        id: As OpenCode calls it.
        directory: The folder that it works in; empty when it is not known.
        parent: The session that started it as a subagent; its "user" is an agent then.
        title: As OpenCode calls it for people.
    """

    id: str
    directory: str = ""
    parent: str | None = None
    title: str = ""


def truncate(text: str) -> str:
    """Shorten a text to its beginning and its end, where errors and results are."""
    if len(text) <= LONGEST_TEXT:
        return text
    tail = LONGEST_TEXT - _HEAD
    return f"{text[:_HEAD]}\n…\n{text[-tail:]}"
