"""Reads from a session's messages how far a turn is, and from its status whether it is at work.

``session.idle`` is not enough: it also comes after errors, after aborts, and once for each queued prompt. So the
messages decide: a turn is done when the newest message from ours on is a complete answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from opencode_memory.text.clock import to_ms

# Tuples, because looking for a list or an object in a set is an error, and OpenCode may send any value.
_REFUSALS: Final = (401, 402, 403)
_GOES_ON: Final = (None, "tool-calls")
_QUOTA: Final = ("quota", "billing", "insufficient", "credit", "usage limit")
_ABORTED: Final = "MessageAbortedError"
_SAID_CHARACTERS: Final = 300


class Progress(StrEnum):
    """How far a turn is."""

    ABSENT = "absent"
    """OpenCode does not have the message."""
    OPEN = "open"
    """It is not answered: a model works, or was interrupted."""
    ABORTED = "aborted"
    FAILED = "failed"
    REFUSED = "refused"
    """The provider refuses, and would refuse again."""
    DONE = "done"


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A turn.

    Attributes:
        progress: How far it is.
        text: The agent's last text.
        said: The error; empty if there is none.
        mark: Changes whenever the turn goes on.
        runs_tool: Whether a tool runs, which has a time limit of its own.
    """

    progress: Progress
    text: str = ""
    said: str = ""
    mark: str = ""
    runs_tool: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """The state of a session that is not idle.

    Attributes:
        kind: The state, for example ``busy``, or ``retry`` while OpenCode waits to ask the provider again.
        said: The error of the provider, on one line; empty if there is none.
        seconds_to_retry: Time until OpenCode asks the provider again; 0 if it does not wait.
    """

    kind: str
    said: str = ""
    seconds_to_retry: float = 0.0


def read_status(state: Any, *, at: datetime) -> Status | None:
    """Return the state of a session from OpenCode's form; None if it is idle.

    Args:
        state: The state, as ``/session/status`` has it.
        at: The current time.
    """
    match state:
        case {"type": "retry", **more}:
            due = more.get("next")
            seconds = (due - to_ms(at)) / 1000 if isinstance(due, int | float) else 0.0
            return Status(kind="retry", said=_first_line(more.get("message")), seconds_to_retry=max(seconds, 0.0))
        case {"type": str(kind)} if kind != "idle":
            return Status(kind=kind)
    return None


def read_turn(messages: Sequence[Any], message: str) -> Turn:
    """Return the turn that a message began.

    Args:
        messages: The messages of the session in OpenCode's form, in any order.
        message: Id of the message.
    """
    later = sorted((found for found in messages if _id(found) >= message), key=_id)
    if not later or _id(later[0]) != message:
        return Turn(progress=Progress.ABSENT)
    last = later[-1]
    info = last["info"]
    mark = f"{_id(last)}:{len(last.get('parts', ()))}:{_state_of_last_part(last)}"
    if info.get("role") != "assistant":
        return Turn(progress=Progress.OPEN, mark=mark)
    error = info.get("error")
    if isinstance(error, Mapping):
        return Turn(progress=_classify(error), said=_describe(error), mark=mark)
    # An OpenCode that was killed between the two writes leaves a finish without an end time, and never adds one.
    if info.get("finish") in _GOES_ON:
        return Turn(progress=Progress.OPEN, mark=mark, runs_tool=_runs_tool(last))
    text = "\n".join(
        part["text"]
        for part in last.get("parts", ())
        if isinstance(part, Mapping) and part.get("type") == "text" and isinstance(part.get("text"), str)
    )
    return Turn(progress=Progress.DONE, text=text.strip(), mark=mark)


def _id(message: Any) -> str:
    match message:
        case {"info": {"id": str(id_)}}:
            return id_
    return ""


def _state_of_last_part(message: Mapping[str, Any]) -> str:
    match message.get("parts"):
        case [*_, {"state": {"status": str(status)} as state}]:
            return f"{status}:{len(str(state.get('metadata', '')))}"
        case [*_, {"text": str(text)}]:
            return str(len(text))
    return ""


def _runs_tool(message: Mapping[str, Any]) -> bool:
    return any(
        isinstance(part, Mapping)
        and isinstance(part.get("state"), Mapping)
        and part["state"].get("status") == "running"
        for part in message.get("parts", ())
    )


def _classify(error: Mapping[str, Any]) -> Progress:
    if error.get("name") == _ABORTED:
        return Progress.ABORTED
    data = error.get("data")
    data = data if isinstance(data, Mapping) else {}
    said = str(data.get("message", "")).lower()
    is_refused = data.get("statusCode") in _REFUSALS or any(word in said for word in _QUOTA)
    if is_refused or error.get("name") == "ProviderAuthError":
        return Progress.REFUSED
    return Progress.FAILED


def _describe(error: Mapping[str, Any]) -> str:
    data = error.get("data")
    said = data.get("message") if isinstance(data, Mapping) else None
    return _first_line(said or error.get("name")) or "it failed"


def _first_line(said: Any) -> str:
    lines = str(said or "").splitlines()
    return lines[0][:_SAID_CHARACTERS] if lines else ""
