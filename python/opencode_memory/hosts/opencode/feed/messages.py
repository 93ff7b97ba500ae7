"""Converts a message of OpenCode, stored or live, into events.

Both feeds pass the same two kinds of objects: the ``info`` of a message and its parts, as the database stores them and
as OpenCode's bus sends them. This module reads no file and no clock, and no content makes it fail. Content of an
unknown version of OpenCode is skipped, with a line in the debug log that shows no text of it.

A fork of a session copies messages under new ids and keeps all other fields, including the time of creation. So the
digest covers the role, that time, the texts and the tool calls. It leaves out the output of tools, because OpenCode
prunes old output.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

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
from opencode_memory.text.pasted import strip_command, strip_private
from opencode_memory.text.unicode import replace_surrogates

USER_GRACE_MS: Final = 60_000
"""Time after its last change when a user's message is complete without a following message."""
SETTLED_MS: Final = 2_000
"""Time after its last change when a finished message is complete although some parts may be missing."""
ABANDONED_MS: Final = 3_600_000
"""Time after its last change when an unfinished message counts as complete."""

_LOG: Final = logging.getLogger(__name__)
_FEEDBACK: Final = "The user rejected permission to use this specific tool call with the following feedback:"
_HIDDEN_AGENTS: Final = {"compaction", "title", "summary"}
_SILENT_PARTS: Final = {
    "agent", "compaction", "file", "patch", "reasoning", "retry", "snapshot", "step-start", "subtask",
}  # fmt: skip
_ENDED_STATES: Final = frozenset(ToolStatus)
_DEEPEST_INPUT: Final = 12
# `opencode run` quotes an argument with spaces, and escapes the quotes inside it and no other characters.
_QUOTED: Final = re.compile(r'"((?:[^"]|(?<=\\)")*)"')
# OpenCode replaces an image with this text when it sends a message again after a compaction.
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
    """Convert a message into its events; None if the message is not complete yet.

    Args:
        info: The message: ``id``, ``role``, ``time``, for an agent's also ``error``, ``finish``, ``mode``, ``summary``.
        parts: Its parts, in the order of their ids.
        now_ms: The current time, in UTC milliseconds.
        touched_ms: Time of the last change of the message or of one of its parts.
        is_followed: Whether a later message exists in the session, or the session is idle.
        is_left: Whether a later message of the agent is complete, so that the agent no longer works on this one.
    """
    essences = [essence for part in parts if (essence := extract_essence(part)) is not None]
    idle_ms = now_ms - touched_ms
    if not (
        is_left or idle_ms >= ABANDONED_MS or _is_complete(info, parts, essences, idle_ms, is_followed=is_followed)
    ):
        return None
    name, role = _clean_text(info.get("id")), _clean_text(info.get("role"))
    marked = list(_extract_events(info, essences))
    at_ms = created_ms(info)
    # Without a time, a copy cannot be distinguished from a repetition. Then the id makes the digest unique.
    identity = [role, at_ms or name, [mark for _, mark in marked]]
    return Message(id=name, at_ms=at_ms, events=tuple(event for event, _ in marked), digest=_digest(identity))


def extract_essence(part: Mapping[str, Any]) -> dict[str, Any] | None:
    """Reduce a part to the fields that events need, with long texts truncated; None if events need no field.

    The function is idempotent, so the live feed can keep essences instead of parts.
    """
    match part:
        case {"type": "text", "text": str(text)}:
            hidden = bool(part.get("synthetic")) or bool(part.get("ignored"))
            return {
                "type": "text",
                "text": "" if hidden else truncate(strip_command(strip_private(_clean(text)))),
                "synthetic": hidden,
            }
        case {"type": "tool", "tool": str(tool), "state": {"status": str(status)} as state} if tool:
            return {
                "type": "tool",
                "tool": _clean(tool),
                "callID": _clean_text(part.get("callID")),
                "state": _parse_end_state(state) if status in _ENDED_STATES else {"status": status},
            }
        case {"type": "step-finish"}:
            return {"type": "step-finish"}
        case {"type": str(kind)} if kind in _SILENT_PARTS:
            return None
        case _:
            # Do not log the type: in a malformed part, it may contain any text.
            _LOG.debug("skipped a part that is malformed or of an unknown kind")
            return None


def is_finished(info: Mapping[str, Any]) -> bool:
    """Return whether this is a message of the agent that has ended, successfully or not."""
    if info.get("role") != "assistant":
        return False
    time = info.get("time")
    return bool(info.get("error")) or (isinstance(time, Mapping) and time.get("completed") is not None)


def created_ms(info: Mapping[str, Any]) -> int:
    """Return the time of a message's creation in UTC milliseconds; 0 if the message has none."""
    return _read_ms(info.get("time"), "created")


def _read_ms(times: object, name: str) -> int:
    value = times.get(name) if isinstance(times, Mapping) else None
    # Up to the largest integer that JavaScript represents exactly.
    return int(value) if isinstance(value, int | float) and 0 <= value < 1 << 53 else 0


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
            # OpenCode writes the message before its parts, so missing parts may still follow.
            return bool(parts) and (is_followed or idle_ms >= USER_GRACE_MS)
        case "assistant":
            if not is_finished(info) or any(_is_running(part) for part in essences):
                return False
            # A copy of a message arrives finished, and its parts arrive later. The end of the step is among the last.
            is_whole = "finish" in info and any(part["type"] == "step-finish" for part in essences)
            return is_whole or is_followed or idle_ms >= SETTLED_MS
        case _:
            _LOG.debug("skipped a message of an unknown role")
            return True


def _extract_events(info: Mapping[str, Any], essences: Sequence[Mapping[str, Any]]) -> Iterator[tuple[Event, Any]]:
    """Yield each event with the value that identifies it in a copy of the message."""
    if info.get("role") == "user":
        for text in _texts(essences):
            if (typed := _extract_typed(text)) is not None:
                yield UserText(text=typed), ["text", typed]
    elif info.get("role") == "assistant" and info.get("summary") is True:
        summary = "\n".join(_texts(essences))
        if summary and not info.get("error"):
            yield Compaction(summary=truncate(summary)), ["summary", summary]
    elif info.get("role") == "assistant" and not _is_hidden(info):
        for part in essences:
            if part["type"] == "text" and part["text"].strip():
                yield AssistantText(text=part["text"]), ["text", part["text"]]
            elif part["type"] == "tool" and not _is_running(part):
                state = part["state"]
                yield _tool_event(part["tool"], state), [part["tool"], part["callID"], state["status"], state["input"]]


def _texts(essences: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    return (part["text"] for part in essences if part["type"] == "text" and part["text"].strip())


def _extract_typed(text: str) -> str | None:
    """Return the text that the user typed, without the quotes of ``opencode run``; None if a program wrote it."""
    if _STAND_IN.fullmatch(text):
        return None
    quoted = _QUOTED.fullmatch(text)
    if quoted is None or " " not in quoted[1]:
        return text
    return quoted[1].replace('\\"', '"') if quoted[1].strip() else None


def _tool_event(tool: str, state: Mapping[str, Any]) -> Event:
    error = state["error"]
    if error.startswith(_FEEDBACK) and (text := error.removeprefix(_FEEDBACK).strip()):
        return Feedback(tool=tool, input=state["input"], text=text)
    return ToolCall(
        tool=tool,
        input=state["input"],
        status=ToolStatus(state["status"]),
        exit=state["metadata"].get("exit"),
        output=state["output"],
        error=error,
        begun_ms=state["time"]["start"],
        ended_ms=state["time"]["end"],
    )


def _parse_end_state(state: Mapping[str, Any]) -> dict[str, Any]:
    metadata, given = state.get("metadata"), state.get("input")
    code = metadata.get("exit") if isinstance(metadata, Mapping) else None
    return {
        "status": state["status"],
        "input": _truncate_input(given, _DEEPEST_INPUT) if isinstance(given, Mapping) else {},
        "output": truncate(_clean_text(state.get("output"))),
        "error": truncate(_clean_text(state.get("error"))),
        "metadata": {"exit": code} if isinstance(code, int) and not isinstance(code, bool) else {},
        "time": {name: _read_ms(state.get("time"), name) for name in ("start", "end")},
    }


def _is_hidden(info: Mapping[str, Any]) -> bool:
    return not _HIDDEN_AGENTS.isdisjoint({_clean_text(info.get("mode")), _clean_text(info.get("agent"))})


def _is_running(part: Mapping[str, Any]) -> bool:
    return part["type"] == "tool" and part["state"]["status"] not in _ENDED_STATES


def _truncate_input(value: Any, depth: int) -> Any:
    """Copy the arguments of a tool. Truncate long texts, and drop levels that are deeper than in any tool."""
    if isinstance(value, str):
        return truncate(_clean(value))
    if isinstance(value, Mapping):
        return (
            {truncate(_clean(str(key))): _truncate_input(member, depth - 1) for key, member in value.items()}
            if depth
            else {}
        )
    if isinstance(value, list | tuple):
        return [_truncate_input(member, depth - 1) for member in value] if depth else []
    return value if value is None or isinstance(value, bool | int | float) else str(value)


def _clean_text(value: Any) -> str:
    return _clean(value) if isinstance(value, str) else ""


def _clean(text: str) -> str:
    """Replace lone surrogates, which cannot be encoded as UTF-8, and NULs."""
    return replace_surrogates(text.replace("\0", " "))


def _digest(identity: Any) -> str:
    written = json.dumps(identity, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(written.encode("ascii")).hexdigest()[:32]
