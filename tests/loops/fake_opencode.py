"""An OpenCode that stands for the real one: sessions, exactly-once prompts, and a model that does as a test says."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel

from opencode_memory.loops.host import HostGoneError, HostNotFoundError
from opencode_memory.loops.process import process_start

Answer = Callable[["Asked"], dict[str, Any]]
"""What the model does with a prompt. Returns members of the answer's ``info``."""


@dataclass(frozen=True)
class Asked:
    """A prompt.

    Attributes:
        session: Id of the session.
        directory: Folder of the session.
        text: The prompt.
        body: The whole request.
    """

    session: str
    directory: Path
    text: str
    body: Mapping[str, Any]


@dataclass
class FakeOpenCode:
    """A process of OpenCode.

    Attributes:
        answer: The model.
        asked: All prompts that the model has seen.
        aborted: Sessions that were aborted.
        replies: Answers to questions of permission.
        deleted: Sessions that a person deleted.
        questions: Open questions of permission.
        busy: States of sessions at work, for a test to set.
    """

    folder: Path
    answer: Answer
    pid: int = 1
    asked: list[Asked] = field(default_factory=list)
    aborted: list[str] = field(default_factory=list)
    replies: list[tuple[str, Any]] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)
    questions: list[dict[str, Any]] = field(default_factory=list)
    busy: dict[str, dict[str, Any]] = field(default_factory=dict)
    session_id: Callable[[], str] = lambda: f"ses_{secrets.token_hex(8)}"
    models: tuple[str, ...] = ("small", "large")
    _sessions: dict[str, dict[str, Any]] = field(default_factory=dict)
    _messages: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    _closed: anyio.Event = field(default_factory=anyio.Event)

    @property
    def started(self) -> int | None:
        return process_start(self.pid)

    @property
    def is_connected(self) -> bool:
        return not self._closed.is_set()

    @property
    def sessions(self) -> list[dict[str, Any]]:
        return list(self._sessions.values())

    def delete(self, id: str) -> None:
        """Delete a session, as a person does in the terminal."""
        del self._sessions[id], self._messages[id]
        self.deleted.append(id)

    def close(self) -> None:
        self._closed.set()

    def open_again(self) -> None:
        """Be the next process, with the same sessions."""
        self._closed = anyio.Event()

    async def wait_closed(self) -> None:
        await self._closed.wait()

    async def request(
        self,
        method: str,
        path: str,
        *,
        directory: str,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        seconds: float = 10.0,
    ) -> Any:
        """Answer as OpenCode does; ``seconds`` is not needed."""
        assert seconds > 0
        if not self.is_connected:
            raise HostGoneError("the connection has ended")
        await anyio.lowlevel.checkpoint()
        match method, path.strip("/").split("/"):
            case "GET", ["session"]:
                wanted = (query or {}).get("search", "")
                return [found for found in self.sessions if wanted in found["title"]]
            case "POST", ["session"]:
                id_ = self.session_id()
                self._sessions[id_] = {"id": id_, "tokens": {"input": 0, "output": 0}, "cost": 0.0, **body}
                self._messages[id_] = []
                return self._sessions[id_]
            case "GET", ["session", "status"]:
                return dict(self.busy)
            case "GET", ["session", id_, "message"]:
                return list(self._messages[self._known(id_)])
            case "GET", ["session", id_, "children"]:
                return []
            case "GET", ["session", id_]:
                return self._sessions[self._known(id_)]
            case "POST", ["session", id_, "abort"]:
                self.aborted.append(id_)
                self.busy.pop(id_, None)
                return True
            case "POST", ["session", id_, "prompt_async"]:
                self._prompt(self._known(id_), directory, body)
                return None
            case "GET", ["agent"]:
                return [{"name": "build"}, {"name": "opencode-memory-auditor"}]
            case "GET", ["config", "providers"]:
                return {"providers": [{"id": "forge", "models": {name: {} for name in self.models}}]}
            case "GET", ["permission"]:
                return list(self.questions)
            case "POST", ["permission", id_, "reply"]:
                self.questions = [question for question in self.questions if question["id"] != id_]
                self.replies.append((id_, body))
                return True
        raise AssertionError((method, path))

    def _known(self, id: str) -> str:
        if id not in self._sessions:
            raise HostNotFoundError(f"there is no session {id}")
        return id

    def _prompt(self, id: str, directory: str, body: Mapping[str, Any]) -> None:
        """Run a turn; the same message sent again goes on with it, or does nothing if it has ended."""
        messages = self._messages[id]
        if not any(found["info"]["id"] == body["messageID"] for found in messages):
            messages.append({"info": {"id": body["messageID"], "role": "user"}, "parts": list(body["parts"])})
        elif "completed" in messages[-1]["info"].get("time", {}) and "error" not in messages[-1]["info"]:
            return
        asked = Asked(id, Path(directory), body["parts"][0]["text"], body)
        self.asked.append(asked)
        info = {"time": {"completed": 1}, "finish": "stop", **self.answer(asked)}
        text = info.pop("text", "Done.")
        last = max(found["info"]["id"] for found in messages)
        answer = {"id": f"{last}z", "role": "assistant", **info}
        messages.append({"info": answer, "parts": [{"type": "text", "text": text}]})
        self._sessions[id]["tokens"] = {"input": 100, "output": 10, "cache": {"read": 1000}}
        self._sessions[id]["cost"] = 0.01
