"""Reads from a session's messages how far a turn is.

``session.idle`` is not enough: it also comes after errors, after aborts, and once for each queued prompt. So the
messages decide: a turn is done when the newest message from ours on is a complete answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

_REFUSALS: Final = frozenset({401, 402, 403})
_QUOTA: Final = ("quota", "billing", "insufficient", "credit", "usage limit")
_ABORTED: Final = "MessageAbortedError"


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
    completed = (info.get("time") or {}).get("completed")
    if not completed or info.get("finish") in {None, "tool-calls"}:
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
    lines = str(said or error.get("name") or "it failed").splitlines()
    return lines[0][:300] if lines else "it failed"
