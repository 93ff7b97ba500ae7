"""A message of OpenCode, stored or live, as what happened in it.

Both feeds hand over the same two kinds of objects: the ``info`` of a message and its parts, as the database holds them
and as the bus of OpenCode sends them. Nothing here reads a file or a clock, and no content makes it fail: what another
version of OpenCode wrote is left out, with a line in the debug log that shows nothing of it.

A fork of a session copies messages under new ids and keeps everything else, the time of creation included; so the
digest is made of the role, that time, and what was said and called. The output of tools is no part of it: when it is
old, it is pruned.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from opencode_memory.learning.extraction.authored_text import strip_private
from opencode_memory.learning.extraction.events import (
    AssistantText,
    Compaction,
    Event,
    Feedback,
    Message,
    ToolCall,
    ToolStatus,
    UserText,
    truncate,
)
from opencode_memory.text.unicode import replace_surrogates

USER_GRACE_MS: Final = 60_000
"""How long after its last change a user's message is complete although nothing followed."""
SETTLED_MS: Final = 2_000
"""How long after its last change a finished message is complete that does not show whether all its parts are there."""
ABANDONED_MS: Final = 3_600_000
"""How long after its last change a message counts as complete that was never finished."""

_LOG: Final = logging.getLogger(__name__)
_FEEDBACK: Final = "The user rejected permission to use this specific tool call with the following feedback:"
_HIDDEN_AGENTS: Final = {"compaction", "title", "summary"}
_SILENT_PARTS: Final = {
    "agent", "compaction", "file", "patch", "reasoning", "retry", "snapshot", "step-start", "subtask",
}  # fmt: skip
_ENDED_STATES: Final = frozenset(ToolStatus)
_DEEPEST_INPUT: Final = 12
# `opencode run` puts quotes around an argument with spaces and escapes those inside, nothing else.
_QUOTED: Final = re.compile(r'"((?:[^"]|(?<=\\)")*)"')
# What OpenCode puts in the place of an image when it sends a message again after a compaction.
_STAND_IN: Final = re.compile(r"\[Attached [\w.+-]+/[\w.+-]+: [^\n]*\]")


def read_message(
    info: Mapping[str, Any],
    parts: Sequence[Mapping[str, Any]],
    *,
    now_ms: int = 0,
    touched_ms: int = 0,
    is_followed: bool = False,
    is_left: bool = False,
) -> Message | None:
    """Turn a message into its events, or return None while it is not complete.

    Args:
        info: The message: ``id``, ``role``, ``time``, for an agent's also ``error``, ``finish``, ``mode``, ``summary``.
        parts: Its parts, in the order of their ids.
        now_ms: The present moment, in UTC milliseconds.
        touched_ms: When the message or a part of it was last changed.
        is_followed: Whether a later message exists in the session, or the session is idle.
        is_left: Whether a later message of the agent is complete, so that nothing works on this one any more.
    """
    essences = [essence for part in parts if (essence := essence_of(part)) is not None]
    idle_ms = now_ms - touched_ms
    if not (
        is_left or idle_ms >= ABANDONED_MS or _is_complete(info, parts, essences, idle_ms, is_followed=is_followed)
    ):
        return None
    name, role = _words(info.get("id")), _words(info.get("role"))
    told = list(_events(info, essences))
    at_ms = created_ms(info)
    # Without a time, copies cannot be told from repetitions: the message is then like no other.
    identity = [role, at_ms or name, [mark for _, mark in told]]
    return Message(id=name, at_ms=at_ms, events=tuple(event for event, _ in told), digest=_digest(identity))


def essence_of(part: Mapping[str, Any]) -> dict[str, Any] | None:
    """Reduce a part to what events are made of, with long texts cut; None when nothing is.

    Reducing it again changes nothing, so that the live feed may keep essences instead of parts.
    """
    match part:
        case {"type": "text", "text": str(text)}:
            hidden = bool(part.get("synthetic")) or bool(part.get("ignored"))
            return {
                "type": "text",
                "text": "" if hidden else truncate(strip_private(_clean(text))),
                "synthetic": hidden,
            }
        case {"type": "tool", "tool": str(tool), "state": {"status": str(status)} as state} if tool:
            return {
                "type": "tool",
                "tool": _clean(tool),
                "callID": _words(part.get("callID")),
                "state": _ended(state) if status in _ENDED_STATES else {"status": status},
            }
        case {"type": "step-finish"}:
            return {"type": "step-finish"}
        case {"type": str(kind)} if kind in _SILENT_PARTS:
            return None
        case _:
            # The type is not named: in a part that is not what it seems, it could be anything.
            _LOG.debug("a part of an unknown kind, or one that is malformed, is left out")
            return None


def is_finished(info: Mapping[str, Any]) -> bool:
    """Tell whether this is a message of the agent that has come to its end, good or bad."""
    if info.get("role") != "assistant":
        return False
    time = info.get("time")
    return bool(info.get("error")) or (isinstance(time, Mapping) and time.get("completed") is not None)


def created_ms(info: Mapping[str, Any]) -> int:
    """Return when a message was created, in UTC milliseconds; 0 when it does not say so."""
    match info.get("time"):
        case {"created": int() | float() as created} if 0 <= created < 1 << 53:  # What JavaScript holds exactly.
            return int(created)
    return 0


def _is_complete(
    info: Mapping[str, Any],
    parts: Sequence[Mapping[str, Any]],
    essences: Sequence[Mapping[str, Any]],
    idle_ms: int,
    *,
    is_followed: bool,
) -> bool:
    match info.get("role"):
        case "user":
            # The message is written before its parts are, so none may mean "not yet".
            return bool(parts) and (is_followed or idle_ms >= USER_GRACE_MS)
        case "assistant":
            if not is_finished(info) or any(_is_running(part) for part in essences):
                return False
            # A copy of a message arrives finished, its parts after it, the end of the step among the last of them.
            is_whole = "finish" in info and any(part["type"] == "step-finish" for part in essences)
            return is_whole or is_followed or idle_ms >= SETTLED_MS
        case _:
            _LOG.debug("a message of an unknown role is left out")
            return True


def _events(info: Mapping[str, Any], essences: Sequence[Mapping[str, Any]]) -> Iterator[tuple[Event, Any]]:
    """Yield each event with what identifies it in a copy of the message."""
    if info.get("role") == "user":
        for text in _texts(essences):
            if (typed := _typed(text)) is not None:
                yield UserText(text=typed), ["text", typed]
    elif info.get("role") == "assistant" and info.get("summary") is True:
        summary = "\n".join(_texts(essences))
        if summary and not info.get("error"):
            yield Compaction(summary=truncate(summary)), ["summary", summary]
    elif info.get("role") == "assistant" and not {info.get("mode"), info.get("agent")} & _HIDDEN_AGENTS:
        for part in essences:
            if part["type"] == "text" and part["text"].strip():
                yield AssistantText(text=part["text"]), ["text", part["text"]]
            elif part["type"] == "tool" and not _is_running(part):
                state = part["state"]
                yield _tool_event(part["tool"], state), [part["tool"], part["callID"], state["status"], state["input"]]


def _texts(essences: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    return (part["text"] for part in essences if part["type"] == "text" and part["text"].strip())


def _typed(text: str) -> str | None:
    """Return what the person typed, without the quotes of ``opencode run``; None when a program wrote it."""
    if _STAND_IN.fullmatch(text):
        return None
    quoted = _QUOTED.fullmatch(text)
    if quoted is None or " " not in quoted[1]:
        return text
    return quoted[1].replace('\\"', '"') if quoted[1].strip() else None


def _tool_event(tool: str, state: Mapping[str, Any]) -> Event:
    error = state["error"]
    if error.startswith(_FEEDBACK) and (said := error.removeprefix(_FEEDBACK).strip()):
        return Feedback(tool=tool, input=state["input"], text=said)
    return ToolCall(
        tool=tool,
        input=state["input"],
        status=ToolStatus(state["status"]),
        exit=state["metadata"].get("exit"),
        output=state["output"],
        error=error,
    )


def _ended(state: Mapping[str, Any]) -> dict[str, Any]:
    metadata, given = state.get("metadata"), state.get("input")
    code = metadata.get("exit") if isinstance(metadata, Mapping) else None
    return {
        "status": state["status"],
        "input": _bounded(given, _DEEPEST_INPUT) if isinstance(given, Mapping) else {},
        "output": truncate(_words(state.get("output"))),
        "error": truncate(_words(state.get("error"))),
        "metadata": {"exit": code} if isinstance(code, int) and not isinstance(code, bool) else {},
    }


def _is_running(part: Mapping[str, Any]) -> bool:
    return part["type"] == "tool" and part["state"]["status"] not in _ENDED_STATES


def _bounded(value: Any, depth: int) -> Any:
    """Copy the arguments of a tool with long texts cut, and nothing below what any tool has."""
    if isinstance(value, str):
        return truncate(_clean(value))
    if isinstance(value, Mapping):
        return (
            {truncate(_clean(str(key))): _bounded(member, depth - 1) for key, member in value.items()} if depth else {}
        )
    if isinstance(value, list | tuple):
        return [_bounded(member, depth - 1) for member in value] if depth else []
    return value if value is None or isinstance(value, bool | int | float) else str(value)


def _words(value: Any) -> str:
    return _clean(value) if isinstance(value, str) else ""


def _clean(text: str) -> str:
    """Replace half characters, which JSON may hold and no file or hash takes, and NULs, which no text holds."""
    return replace_surrogates(text.replace("\0", " "))


def _digest(identity: Any) -> str:
    written = json.dumps(identity, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(written.encode("ascii")).hexdigest()[:32]
