"""Child session of a digest: one request to the hidden agent, and no session left behind."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import anyio
import pytest

from opencode_memory.hosts.opencode.contract import DIGEST_AGENT
from opencode_memory.server.plugin import child_session
from opencode_memory.server.plugin.child_session import (
    TITLE,
    Model,
    ModelAnswer,
    ModelError,
    ask_in_child,
    delete_leftovers,
    has_agent,
)
from opencode_memory.server.plugin.json_rpc import RemoteError
from opencode_memory.server.plugin.opencode_client import OpenCode

MODEL = Model("forge", "small")
TOKENS = {"input": 900, "output": 60, "reasoning": 5, "cache": {"read": 30, "write": 5}}


def answer(*texts: str, **info: Any) -> dict[str, Any]:
    return {"info": {"tokens": TOKENS, **info}, "parts": [{"type": "text", "text": text} for text in texts]}


@dataclass
class Instance:
    """A scripted OpenCode with one session.

    Attributes:
        reply: Answer to the request to the model; ``None`` for no answer.
        waiting: Set when a request to the model got no answer and is waited for.
        sessions: Descriptions of the sessions, by id.
        state: State of the child while it works.
        refuses: Methods and paths that are answered with an error.
        asked: Requests so far: method, path and body.
    """

    reply: Any = None
    waiting: anyio.Event = field(default_factory=anyio.Event)
    sessions: dict[str, Any] = field(default_factory=dict)
    state: dict[str, Any] = field(default_factory=lambda: {"type": "busy"})
    refuses: dict[tuple[str, str], int] = field(default_factory=dict)
    asked: list[tuple[str, str, Any]] = field(default_factory=list)

    async def ask(self, method: str, params: Any, *, seconds: float) -> Any:
        assert method == "oc.request"
        asked = params["method"], params["path"]
        self.asked.append((*asked, params["body"]))
        if asked in self.refuses:
            return {"status": self.refuses[asked], "body": "{}"}
        return {"status": 200, "body": json.dumps(await self._answer(*asked, params["body"], seconds))}

    async def _answer(self, method: str, path: str, body: Any, seconds: float) -> Any:
        match method, path.split("/")[1:]:
            case "POST", ["session"]:
                self.sessions["ses_2"] = {"id": "ses_2", **body}
                return self.sessions["ses_2"]
            case "POST", ["session", "ses_2", "message"]:
                if self.reply is None:
                    self.waiting.set()
                    with anyio.move_on_after(seconds):
                        await anyio.sleep_forever()
                    raise RemoteError("oc.request was not answered")
                return self.reply
            case "POST", ["session", _, "abort"]:
                return True
            case "DELETE", ["session", name]:
                return bool(self.sessions.pop(name))
            case "GET", ["session", "status"]:
                return {"ses_2": self.state}
            case "GET", ["session"]:
                return list(self.sessions.values())
            case "GET", ["agent"]:
                return self.reply
        raise AssertionError(path)

    def request(self, seconds: float = 60.0) -> ModelAnswer:
        async def run() -> ModelAnswer:
            with anyio.fail_after(30):
                return await ask_in_child(
                    OpenCode(self), parent="ses_1", store="store_1", text="Digest this.", model=MODEL, seconds=seconds
                )

        return anyio.run(run)


def test_child_asks_the_hidden_agent_once_and_is_deleted() -> None:
    opencode = Instance(reply=answer('{"items": []}', "Done."))
    assert opencode.request() == ModelAnswer(text='{"items": []}\nDone.', tokens=1_000)
    begun, asked, *ended = opencode.asked
    assert begun[2]["parentID"] == "ses_1"
    assert begun[2]["permission"] == [{"permission": "*", "pattern": "*", "action": "deny"}]
    assert asked[2] == {
        "agent": DIGEST_AGENT,
        "model": {"providerID": "forge", "modelID": "small"},
        "parts": [{"type": "text", "text": "Digest this."}],
    }
    # A deleted session would go on working, so it is aborted first.
    assert [one[:2] for one in ended] == [("POST", "/session/ses_2/abort"), ("DELETE", "/session/ses_2")]
    assert opencode.sessions == {}


@pytest.mark.parametrize(
    ("reply", "said", "is_final", "tokens"),
    [
        (
            answer(error={"name": "APIError", "data": {"message": "no key", "isRetryable": False}}),
            "no key",
            True,
            1_000,
        ),
        (
            answer(error={"name": "APIError", "data": {"message": "overloaded\nparams: secret"}}),
            "overloaded$",
            False,
            1_000,
        ),
        (answer(error={"name": "MessageAbortedError"}), "MessageAbortedError", False, 1_000),
        (answer(" "), "empty answer", False, 1_000),
        ({"info": {}, "parts": []}, "empty answer", False, 0),
        ([], "unknown form", False, None),
    ],
)
def test_failure_of_the_model_is_an_error_and_the_child_is_deleted(
    reply: Any, said: str, is_final: bool, tokens: int | None
) -> None:
    opencode = Instance(reply=reply)
    with pytest.raises(ModelError, match=said) as failed:
        opencode.request()
    assert (failed.value.is_final, failed.value.tokens) == (is_final, tokens)
    assert opencode.sessions == {}


@pytest.mark.parametrize("before", ["", "x" * 270], ids=["whole", "cut"])
def test_secret_in_the_reason_of_a_failure_is_left_out(before: str) -> None:
    message = f"{before} wrong key: ghp_0123456789abcdefghijABCDEFGHIJ012345"
    opencode = Instance(reply=answer(error={"name": "APIError", "data": {"message": message}}))
    with pytest.raises(ModelError) as failed:
        opencode.request()
    assert "wrong key" in str(failed.value)
    assert "ghp_" not in str(failed.value)


def test_repeated_request_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child_session, "_WATCH_SECONDS", 0.01)
    opencode = Instance(state={"type": "retry", "attempt": 1, "message": "Cannot connect to API"})
    with pytest.raises(ModelError, match="forge/small gave no answer: Cannot connect to API") as failed:
        opencode.request()
    assert (failed.value.is_final, failed.value.tokens) == (False, 0)
    assert opencode.sessions == {}


def test_late_answer_is_an_error_with_unknown_costs() -> None:
    opencode = Instance()
    with pytest.raises(ModelError, match="gave no answer") as failed:
        opencode.request(seconds=0)
    assert failed.value.tokens is None
    assert opencode.sessions == {}


def test_cancelled_request_deletes_the_child() -> None:
    opencode = Instance()

    async def ask() -> None:
        await ask_in_child(OpenCode(opencode), parent="ses_1", store="s", text="x", model=MODEL, seconds=60)

    async def run() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            with anyio.fail_after(30):
                await opencode.waiting.wait()
            assert list(opencode.sessions) == ["ses_2"]
            tasks.cancel_scope.cancel()

    anyio.run(run)
    assert opencode.sessions == {}


def test_child_that_cannot_be_deleted_changes_no_answer() -> None:
    opencode = Instance(reply=answer("Fine."), refuses={("DELETE", "/session/ses_2"): 500})
    assert opencode.request().text == "Fine."


def test_leftovers_of_the_same_store_are_deleted_and_no_other_sessions() -> None:
    own = {"title": TITLE, "parentID": "ses_1", "metadata": {"opencode_memory_store": "store_1"}}
    sessions = {
        "ses_a": {"id": "ses_a", **own},
        "ses_b": {"id": "ses_b", **own, "metadata": {"opencode_memory_store": "store_2"}},
        "ses_c": {"id": "ses_c", **own, "parentID": None},
        "ses_d": {"id": "ses_d", **own, "title": "About opencode-memory: digest"},
        "ses_e": {"id": "ses_e", "title": TITLE, "parentID": "ses_1"},
        "ses_f": {"title": TITLE},
    }
    opencode = Instance(sessions=dict(sessions))

    async def run() -> int:
        return await delete_leftovers(OpenCode(opencode), store="store_1")

    assert anyio.run(run) == 1
    assert opencode.sessions.keys() == sessions.keys() - {"ses_a"}
    assert ("POST", "/session/ses_a/abort", None) in opencode.asked


@pytest.mark.parametrize(
    ("agents", "is_there"),
    [
        ([{"name": "build"}, {"name": DIGEST_AGENT, "hidden": True}], True),
        ([{"name": DIGEST_AGENT}], False),
        ([{"name": "build", "hidden": True}], False),
        ([None, 1], False),
        ({}, False),
    ],
)
def test_agent_is_used_only_if_it_is_the_hidden_one(agents: Any, is_there: bool) -> None:
    check: Callable[..., Any] = has_agent
    assert anyio.run(check, OpenCode(Instance(reply=agents))) is is_there


@pytest.mark.parametrize(
    ("written", "model"),
    [
        ("forge/small", MODEL),
        ("router/maker/large:free", Model("router", "maker/large:free")),
        ("small", None),
        ("/small", None),
        ("forge/", None),
        (None, None),
        (7, None),
    ],
)
def test_model_is_parsed_as_opencode_writes_it(written: Any, model: Model | None) -> None:
    assert Model.parse(written) == model
