"""Converts rows of OpenCode's second engine (``session_message``) into messages and parts of the first engine.

One row is one message. Its type is the role, and the agent's texts and tool calls are a list inside it. Rows of other
types, for example a switch of the model or a text from a program, become messages without events.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

_STEP_FINISH: Final[dict[str, Any]] = {"type": "step-finish"}


def as_v1(id: str, kind: str, data: Mapping[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the ``info`` and the parts as the first engine would have written them.

    Args:
        id: The row's ``id``.
        kind: Its ``type``.
        data: Its ``data``.
    """
    info: dict[str, Any] = {"id": id, "role": kind, "time": data.get("time")}
    match kind:
        case "user":
            return info, [{"type": "text", "text": data.get("text")}]
        case "assistant":
            # OpenCode writes the row as a whole, so a finished row is complete.
            info |= {"agent": data.get("agent"), "error": data.get("error"), "finish": data.get("finish")}
            return info, [*_convert_parts(data.get("content")), _STEP_FINISH]
        case "shell":
            return info | {"role": "assistant", "finish": "stop"}, [_convert_shell(data), _STEP_FINISH]
        case "compaction":
            info |= {"role": "assistant", "summary": True, "finish": "stop", "time": _end_time(data)}
            return info, [{"type": "text", "text": data.get("summary")}, _STEP_FINISH]
    return info, []


def _convert_parts(content: Any) -> Iterator[dict[str, Any]]:
    for member in content if isinstance(content, list) else []:
        match member:
            case {"type": "tool", "name": name, "state": {"status": status} as state}:
                yield {"type": "tool", "tool": name, "callID": member.get("id"), "state": _convert_state(status, state)}
            case Mapping():
                yield dict(member)
            case _:
                yield {}


def _convert_state(status: Any, state: Mapping[str, Any]) -> dict[str, Any]:
    structured, error = state.get("structured"), state.get("error")
    structured = structured if isinstance(structured, Mapping) else {}
    code = structured.get("exit")
    content = state.get("content")
    lines = (
        [member.get("text") for member in content if isinstance(member, Mapping)] if isinstance(content, list) else []
    )
    texts = [text for text in lines if isinstance(text, str)]
    # Here the output ends with the exit code in words, for the model. The first engine leaves it out.
    if texts and texts[-1] == f"Command exited with code {code}.":
        texts.pop()
    output = "\n".join(texts) or state.get("output") or structured.get("content")
    return {
        "status": status,
        "input": state.get("input"),
        "output": output,
        "error": error.get("message") if isinstance(error, Mapping) else error,
        "metadata": {"exit": code},
    }


def _convert_shell(data: Mapping[str, Any]) -> dict[str, Any]:
    time = data.get("time")
    is_over = isinstance(time, Mapping) and time.get("completed") is not None
    state = {
        "status": "completed" if is_over else "running",
        "input": {"command": data.get("command")},
        "output": data.get("output"),
        "metadata": {"exit": data.get("exit")},
    }
    return {"type": "tool", "tool": "bash", "callID": data.get("callID"), "state": state}


def _end_time(data: Mapping[str, Any]) -> dict[str, Any]:
    time = data.get("time")
    created = time.get("created") if isinstance(time, Mapping) else None
    return {"created": created, "completed": created or 0}
