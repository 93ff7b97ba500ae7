"""The rows of OpenCode's second engine (``session_message``), in the shape of the first one's messages and parts.

One row is one message; its type is the role, and what an agent did is a list inside it. Rows that tell nothing of the
work (a switch of the model, a text that a program put in) become messages without events.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

_STEP_FINISH: Final[dict[str, Any]] = {"type": "step-finish"}


def as_v1(id: str, kind: str, data: Mapping[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the ``info`` and the parts that the first engine would have written.

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
            # The row is written as a whole: what says that it is finished holds everything.
            info |= {"agent": data.get("agent"), "error": data.get("error"), "finish": data.get("finish")}
            return info, [*_parts(data.get("content")), _STEP_FINISH]
        case "shell":
            return info | {"role": "assistant", "finish": "stop"}, [_shell(data), _STEP_FINISH]
        case "compaction":
            info |= {"role": "assistant", "summary": True, "finish": "stop", "time": _ended(data)}
            return info, [{"type": "text", "text": data.get("summary")}, _STEP_FINISH]
    return info, []


def _parts(content: Any) -> Iterator[dict[str, Any]]:
    for member in content if isinstance(content, list) else []:
        match member:
            case {"type": "tool", "name": name, "state": {"status": status} as state}:
                yield {"type": "tool", "tool": name, "callID": member.get("id"), "state": _state(status, state)}
            case Mapping():
                yield dict(member)
            case _:
                yield {}


def _state(status: Any, state: Mapping[str, Any]) -> dict[str, Any]:
    structured, error = state.get("structured"), state.get("error")
    structured = structured if isinstance(structured, Mapping) else {}
    code = structured.get("exit")
    content = state.get("content")
    told = (
        [member.get("text") for member in content if isinstance(member, Mapping)] if isinstance(content, list) else []
    )
    texts = [text for text in told if isinstance(text, str)]
    # The model is told the exit code in words here; the first engine keeps it out of the output.
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


def _shell(data: Mapping[str, Any]) -> dict[str, Any]:
    time = data.get("time")
    is_over = isinstance(time, Mapping) and time.get("completed") is not None
    state = {
        "status": "completed" if is_over else "running",
        "input": {"command": data.get("command")},
        "output": data.get("output"),
        "metadata": {"exit": data.get("exit")},
    }
    return {"type": "tool", "tool": "bash", "callID": data.get("callID"), "state": state}


def _ended(data: Mapping[str, Any]) -> dict[str, Any]:
    time = data.get("time")
    created = time.get("created") if isinstance(time, Mapping) else None
    return {"created": created, "completed": created or 0}
