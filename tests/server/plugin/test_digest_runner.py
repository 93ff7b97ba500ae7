"""Digests through a plugin: when one begins, which model is asked, when it is given up, and what the queue records."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed

from opencode_memory.errors import BusyError, StorageError
from opencode_memory.hosts.opencode.contract import DIGEST_AGENT
from opencode_memory.learning.digest.queue import DigestQueue, Due, Entry
from opencode_memory.learning.extraction.events import SessionInfo
from opencode_memory.server.plugin import digest_runner
from opencode_memory.server.plugin.child_session import TITLE
from support.bridge import PROJECT, OpenCode, Plugin, answered, began, said, until
from support.mcp import World
from support.stores import NOW_MS

TYPED = (
    "Show me the invoices of the harbour.",
    "Thanks, now the second page.",
    "The harbour sends its invoices as XML since May, by the way.",
)
ITEM = {
    "kind": "decision",
    "text": "The harbour sends invoices as XML.",
    "quote": "The harbour sends its invoices as XML since May",
    "message": 3,
    "supersedes": None,
}
ANSWER = json.dumps({"items": [ITEM], "summary": {"done": "Invoices.", "decided": "", "open": ""}})
CHILD = "ses_child"


@dataclass
class Working(OpenCode):
    """A scripted OpenCode with a model.

    Attributes:
        config: Its configuration.
        agents: Its agents.
        active: States of the sessions that are at work.
        prompts: Requests to the model.
        asks: Set when the model is asked.
        leave: The model answers when it is set.
        refused: Number of deletions of a session that fail.
    """

    config: dict[str, Any] = field(default_factory=lambda: {"small_model": "forge/small"})
    agents: list[Any] = field(default_factory=lambda: [{"name": DIGEST_AGENT, "hidden": True}])
    active: dict[str, Any] = field(default_factory=dict)
    prompts: list[Any] = field(default_factory=list)
    asks: threading.Event = field(default_factory=threading.Event)
    leave: threading.Event = field(default_factory=threading.Event)
    refused: int = 0

    def answer(self, method: str, params: Mapping[str, Any]) -> Any:
        asked = params.get("method"), *str(params.get("path", "")).split("/")[1:]
        match asked:
            case "GET", "config":
                return self._found(params, self.config)
            case "GET", "agent":
                return self._found(params, self.agents)
            case "GET", "session":
                return self._found(params, list(self.sessions.values()))
            case "GET", "session", "status":
                return self._found(params, self.active)
            case "POST", "session":
                self.sessions[CHILD] = {"id": CHILD, **params["body"]}
                return self._found(params, self.sessions[CHILD])
            case "POST", "session", _, "abort":
                self.leave.set()
                return self._found(params, True)
            case "DELETE", "session", _ if self.refused > 0:
                self.refused -= 1
                return self._found(params, {"error": "busy"}) | {"status": 500}
            case "DELETE", "session", name:
                return self._found(params, self.sessions.pop(name, None) is not None)
            case "POST", "session", _, "message":
                self.prompts.append(params["body"])
                self.asks.set()
                assert self.leave.wait(30)
                info = {"tokens": {"input": 700, "output": 50}}
                return self._found(params, {"info": info, "parts": [{"type": "text", "text": ANSWER}]})
        return super().answer(method, params)

    def _found(self, params: Mapping[str, Any], body: Any) -> dict[str, Any]:
        self.asked.append((params["method"], params["path"]))
        return {"status": 200, "body": json.dumps(body)}


class Parallel(Plugin):
    """A plugin that answers the server's requests in parallel, as OpenCode does."""

    def __init__(self, url: str, folder: Path, **options: Any) -> None:
        super().__init__(url, folder, **options)
        self.url = url

    def _answer(self, message: Mapping[str, Any]) -> None:
        threading.Thread(target=self._answer_slowly, args=(message,), daemon=True).start()

    def _answer_slowly(self, message: Mapping[str, Any]) -> None:
        # A test may disconnect before the answer.
        with suppress(ConnectionClosed):
            super()._answer(message)


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_START_SECONDS", "_LOOK_SECONDS", "_LEAST_LOOK_SECONDS"):
        monkeypatch.setattr(digest_runner, name, 0.02)


@contextmanager
def connect(tmp_path: Path, mode: str = "small", folder: str = "walrus") -> Iterator[tuple[World, Working, Parallel]]:
    """Connect an OpenCode in a repository, with a session that the server has read."""
    with World(tmp_path, learning__digest=mode) as world, world.serve() as server:
        where = world.repository(folder)
        opencode = Working(sessions={"ses_1": {"id": "ses_1", "title": "A title"}})
        opencode.messages["ses_1"] = list(messages())
        with Parallel(server.url, where, opencode=opencode) as plugin:
            told = [event for number, text in enumerate(TYPED) for event in turn(number, text)]
            plugin.happens(began(where), *told)
            yield world, opencode, plugin
            opencode.leave.set()


def turn(number: int, text: str) -> list[dict[str, Any]]:
    at = NOW_MS + 10 * number
    return [*said(f"msg_{number}a", text, created=at), *answered(f"msg_{number}b", "Done.", created=at + 1)]


def messages() -> Iterator[dict[str, Any]]:
    """Yield the messages of the same session as OpenCode's API returns them."""
    for number, text in enumerate(TYPED):
        at = NOW_MS + 10 * number
        user = {"id": f"msg_{number}a", "role": "user", "time": {"created": at}}
        yield {"info": user, "parts": [{"type": "text", "text": text}]}
        agent = {"id": f"msg_{number}b", "role": "assistant", "mode": "build", "agent": "build", "finish": "stop"}
        time = {"created": at + 1, "completed": at + 2}
        model = {"providerID": "forge", "modelID": "large"}
        yield {"info": agent | model | {"time": time}, "parts": [{"type": "text", "text": "Done."}]}


def queue(world: World) -> DigestQueue:
    return DigestQueue(world.store, now_ms=lambda: NOW_MS)


def rest(world: World, plugin: Plugin, session: str = "ses_1", folder: Path | None = None) -> None:
    """Let the session rest, so that it is due."""
    plugin.ask("compacting", sessionID=session)
    info = SessionInfo(id=session, directory=str(folder or plugin.folder))
    assert queue(world).add(info, active_ms=NOW_MS, rest_seconds=0, at_once=True)


def entry(world: World, session: str = "ses_1") -> Entry:
    [found] = [entry for entry in queue(world).entries() if entry.session == session]
    return found


def stored(world: World) -> list[str]:
    return [memory.content for memory in world.store.list(project=PROJECT) if memory.metadata.get("rule") == "digest"]


def test_due_session_is_digested_in_a_child_of_it(tmp_path: Path) -> None:
    with connect(tmp_path) as (world, opencode, plugin):
        opencode.leave.set()
        rest(world, plugin)
        until(lambda: ITEM["text"] in stored(world))
        [prompt] = opencode.prompts
        assert prompt["agent"] == DIGEST_AGENT
        assert prompt["model"] == {"providerID": "forge", "modelID": "small"}
        assert TYPED[2] in prompt["parts"][0]["text"]
        until(lambda: CHILD not in opencode.sessions)
        found = entry(world)
        assert (found.requests, found.tokens, found.due_ms, found.error) == (1, 750, None, "")
        assert opencode.toasts == []


def test_session_mode_asks_the_model_of_the_last_message(tmp_path: Path) -> None:
    with connect(tmp_path, "session") as (world, opencode, plugin):
        opencode.leave.set()
        rest(world, plugin)
        until(lambda: opencode.prompts != [])
        assert opencode.prompts[0]["model"] == {"providerID": "forge", "modelID": "large"}


@pytest.mark.parametrize("mode", ["ask", "off"])
def test_session_is_not_sent_without_consent(tmp_path: Path, mode: str) -> None:
    with connect(tmp_path, mode) as (world, opencode, plugin):
        rest(world, plugin)
        until(lambda: ("GET", "/session") in opencode.asked)
        assert not opencode.asks.wait(0.3)
        assert entry(world).attempts == 0


def test_busy_opencode_is_not_disturbed(tmp_path: Path) -> None:
    with connect(tmp_path) as (world, opencode, plugin):
        opencode.leave.set()
        opencode.active["ses_9"] = {"type": "busy"}
        rest(world, plugin)
        until(lambda: opencode.asked.count(("GET", "/session/status")) > 2)
        assert entry(world).attempts == 0
        opencode.active["ses_9"] = {"type": "idle"}
        until(lambda: stored(world) != [])


def test_session_of_another_project_waits_for_its_opencode(tmp_path: Path) -> None:
    with connect(tmp_path, folder="bees") as (world, opencode, plugin):
        rest(world, plugin, folder=world.repository("walrus"))
        assert not opencode.asks.wait(0.3)
        assert entry(world).attempts == 0


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"config": {"small_model": None}}, "no small_model"),
        ({"config": {"small_model": "small"}}, "no small_model"),
        ({"agents": [{"name": "build"}]}, "opencode-memory setup"),
        ({"sessions": {}}, "does not have the session"),
    ],
    ids=["no small model", "no provider", "no agent", "no session"],
)
def test_missing_condition_postpones_the_digest(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    with connect(tmp_path) as (world, opencode, plugin):
        vars(opencode).update(changes)
        rest(world, plugin)
        until(lambda: said in entry(world).error)
        found = entry(world)
        assert (found.attempts, found.is_dead, opencode.prompts) == (0, False, [])
        assert (found.due_ms or 0) > NOW_MS


@pytest.mark.parametrize("way", ["event", "request"])
def test_user_who_writes_ends_the_digest(tmp_path: Path, way: str) -> None:
    with connect(tmp_path) as (world, opencode, plugin):
        rest(world, plugin)
        assert opencode.asks.wait(30)
        assert opencode.sessions[CHILD]["title"] == TITLE
        if way == "event":
            plugin.happens(began(plugin.folder, "ses_2"), *said("msg_9", "Hello", created=NOW_MS, session="ses_2"))
        else:
            plugin.offered("msg_9", "Hello", session="ses_2")
        until(lambda: "in use" in entry(world).error)
        assert ("POST", f"/session/{CHILD}/abort") in opencode.asked
        assert CHILD not in opencode.sessions
        assert (entry(world).attempts, stored(world)) == (0, [])


def test_messages_of_the_child_do_not_end_its_digest(tmp_path: Path) -> None:
    with connect(tmp_path) as (world, opencode, plugin):
        rest(world, plugin)
        assert opencode.asks.wait(30)
        own = began(plugin.folder, CHILD, title=TITLE, parentID="ses_1")
        plugin.happens(own, *said("msg_9", "Digest this.", created=NOW_MS, session=CHILD))
        assert plugin.offered("msg_9", "Digest this.", session=CHILD) == {}
        opencode.leave.set()
        until(lambda: stored(world) != [])


@pytest.mark.parametrize("error", [BusyError("another process writes"), StorageError("the disk is full")])
def test_store_that_refuses_a_renewal_of_the_lease_does_not_end_the_digest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    renewed: list[Due] = []

    def renew(_: DigestQueue, due: Due, *, lease_seconds: float) -> None:
        renewed.append(due)
        if len(renewed) == 1:
            raise error

    for name in ("_LEASE_SECONDS", "_LEAST_LEASE_SECONDS"):
        monkeypatch.setattr(digest_runner, name, 0.02)
    monkeypatch.setattr(DigestQueue, "renew", renew)
    with connect(tmp_path) as (world, opencode, plugin):
        rest(world, plugin)
        assert opencode.asks.wait(30)
        until(lambda: len(renewed) > 1)
        opencode.leave.set()
        until(lambda: ITEM["text"] in stored(world))
        assert len(opencode.prompts) == 1


def test_lost_connection_counts_as_an_attempt(tmp_path: Path) -> None:
    with connect(tmp_path) as (world, opencode, plugin):
        rest(world, plugin)
        assert opencode.asks.wait(30)
        plugin.close()
        until(lambda: "connection to OpenCode was lost" in entry(world).error)
        found = entry(world)
        assert (found.attempts, found.worker, stored(world)) == (1, "", [])
        opencode.leave.set()


def test_leftover_child_is_deleted_when_opencode_connects(tmp_path: Path) -> None:
    with World(tmp_path, learning__digest="off") as world, world.serve() as server:
        store = digest_runner.DigestRunner(world.state)._store_id
        left = {"id": CHILD, "title": TITLE, "parentID": "ses_1", "metadata": {"opencode_memory_store": store}}
        opencode = Working(sessions={CHILD: left})
        with Parallel(server.url, world.repository("walrus"), opencode=opencode):
            until(lambda: opencode.sessions == {})


@pytest.mark.parametrize("mode", ["small", "off"])
def test_leftover_child_that_cannot_be_deleted_is_tried_again(tmp_path: Path, mode: str) -> None:
    with World(tmp_path, learning__digest=mode) as world, world.serve() as server:
        store = digest_runner.DigestRunner(world.state)._store_id
        left = {"id": CHILD, "title": TITLE, "parentID": "ses_1", "metadata": {"opencode_memory_store": store}}
        opencode = Working(sessions={CHILD: left}, refused=3)
        with Parallel(server.url, world.repository("walrus"), opencode=opencode):
            until(lambda: opencode.sessions == {})
        assert opencode.asked.count(("DELETE", f"/session/{CHILD}")) == 4


def test_child_of_a_digest_that_cannot_be_deleted_is_tried_again(tmp_path: Path) -> None:
    with connect(tmp_path) as (world, opencode, plugin):
        opencode.leave.set()
        opencode.refused = 2
        rest(world, plugin)
        until(lambda: stored(world) != [])
        until(lambda: CHILD not in opencode.sessions)
        assert opencode.asked.count(("DELETE", f"/session/{CHILD}")) == 3
        assert len(opencode.prompts) == 1


def test_child_of_a_running_digest_is_not_deleted_when_another_opencode_connects(tmp_path: Path) -> None:
    with connect(tmp_path) as (world, opencode, plugin):
        rest(world, plugin)
        assert opencode.asks.wait(30)
        with Parallel(plugin.url, plugin.folder, opencode=opencode):
            until(lambda: world.metrics.registry.get_sample_value("opencode_memory_plugins") == 2)
            # An abort of the child would set it.
            assert not opencode.leave.wait(0.3)
            opencode.leave.set()
            until(lambda: stored(world) != [])
        assert len(opencode.prompts) == 1
