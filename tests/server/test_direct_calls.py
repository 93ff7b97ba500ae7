"""Direct answers to calls of reading tools: the same result as through the SDK, in the same sessions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from opencode_memory.errors import InvalidInputError
from opencode_memory.server import mcp_endpoint
from opencode_memory.server.client_project import ClientProjects
from support.mcp import World
from support.mcp_http import LATEST, Answer, Wire

DIRECT = {"mcp_protocol_version": LATEST}
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("recall", {"query": "walrus"}),
    ("recall", {"query": "nothing is about this"}),
    ("recall", {"query": 'a "quoted" \\ — 海象 \u0001', "limit": 3}),
    ("recall", {"query": "walrus", "limit": "many"}),
    ("recall", {}),
    ("recall", {"query": "walrus", "project": "no-such"}),
    ("get_memory", {"memory_id": "00000000"}),
    ("memory_status", {}),
]


@pytest.fixture
def wire(world: World) -> Iterator[Wire]:
    with Wire(world.app()) as wire:
        yield wire


def is_direct(answer: Answer) -> bool:
    """Whether an answer is one JSON document; the SDK answers with a stream of events."""
    return answer.headers["content-type"] == "application/json"


@pytest.mark.parametrize(("tool", "arguments"), CALLS)
def test_direct_answer_equals_the_answer_of_the_sdk(wire: Wire, tool: str, arguments: dict[str, Any]) -> None:
    wire.call("remember", {"content": "The walrus 海象 sleeps\nat noon", "category": "decision"})
    session = wire.begin()
    by_sdk = wire.call(tool, arguments, mcp_session_id=session)
    direct = wire.call(tool, arguments, mcp_session_id=session, **DIRECT)
    assert (is_direct(by_sdk), is_direct(direct)) == (False, True)
    assert (direct.status, direct.json) == (by_sdk.status, by_sdk.json)
    assert direct.session == session


def test_direct_answer_has_the_id_of_its_request(wire: Wire) -> None:
    for id in (0, 7, -1, 'a"b', "ü"):
        message = {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "memory_status"}}
        answer = wire.post(message, **DIRECT)
        assert is_direct(answer)
        assert answer.json["id"] == id


def test_recall_answered_directly_finds_what_was_just_written(wire: Wire) -> None:
    session = wire.begin()
    headers = {"mcp_session_id": session, **DIRECT}
    wire.call("recall", {"query": "first"}, **headers)
    for number in range(5):
        wire.call("remember", {"content": f"The bee number{number} flies", "category": "fact"}, **headers)
        answer = wire.call("recall", {"query": f"number{number}"}, **headers)
        assert is_direct(answer)
        assert f"number{number}" in answer.text


@pytest.mark.parametrize(
    "message",
    [
        {"params": {"name": "remember", "arguments": {"content": "The bee flies", "category": "fact"}}},
        {"params": {"name": "no_such_tool"}},
        {"params": {"name": "recall", "arguments": ["walrus"]}},
        {"params": {"name": 7}},
        {"params": {"name": "recall", "arguments": {"query": "x"}, "task": {}}},
        {"params": {"name": "recall", "arguments": {"query": "x"}, "_meta": {"other": 1}}},
        {"id": 1.5},
        {"id": True},
        {"jsonrpc": "1.0"},
        {"method": "tools/list"},
    ],
)
def test_unusual_request_gets_the_answer_of_the_sdk(world: World, message: dict[str, Any]) -> None:
    usual = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "recall"}}
    with Wire(world.app()) as wire:
        answer = wire.post(usual | message, **DIRECT)
        again = wire.post(usual | message)
    assert answer.status == again.status
    assert answer.headers["content-type"] == again.headers["content-type"]
    assert (b'"error"' in answer.message) == (b'"error"' in again.message)
    if answer.status == 200:
        assert not is_direct(answer)


@pytest.mark.parametrize(
    "headers",
    [
        {"accept": "application/json"},
        {"content_type": "text/plain"},
        {"mcp_protocol_version": "2024-11-05"},
        {"x_opencode_directory": "relative/folder"},
    ],
)
def test_unusual_headers_get_the_answer_of_the_sdk(wire: Wire, headers: dict[str, str]) -> None:
    answer = wire.call("memory_status", **(DIRECT | headers))
    assert answer.status >= 400 or not is_direct(answer)


def test_session_that_is_not_initialized_is_left_to_the_sdk(wire: Wire) -> None:
    parameters = {"protocolVersion": LATEST, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    begun = wire.ask("initialize", parameters)
    assert begun.session is not None
    first = wire.call("memory_status", mcp_session_id=begun.session, **DIRECT)
    second = wire.call("memory_status", mcp_session_id=begun.session, **DIRECT)
    assert (is_direct(first), is_direct(second)) == (False, True)


def test_ended_session_is_not_answered_directly(wire: Wire) -> None:
    session = wire.begin()
    wire.call("memory_status", mcp_session_id=session, **DIRECT)
    assert is_direct(wire.call("memory_status", mcp_session_id=session, **DIRECT))
    assert wire.request("DELETE", "/mcp", mcp_session_id=session).status == 200
    assert wire.call("memory_status", mcp_session_id=session, **DIRECT).status == 404
    assert wire.call("memory_status", mcp_session_id="invented", **DIRECT).status == 404


def test_sdk_sees_a_busy_session_once_a_minute(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    with Wire(world.app()) as wire:
        session = wire.begin()
        assert is_direct(wire.call("memory_status", mcp_session_id=session, x_opencode_directory="/", **DIRECT))
        with monkeypatch.context() as patch:
            patch.setattr(mcp_endpoint, "_SDK_PERIOD_SECONDS", 0)
            assert not is_direct(wire.call("memory_status", mcp_session_id=session, **DIRECT))
        assert is_direct(wire.call("memory_status", mcp_session_id=session, **DIRECT))


def test_direct_answer_keeps_to_the_project_of_the_client(world: World, wire: Wire) -> None:
    folders: list[Path] = [world.repository("walrus"), world.repository("bees")]
    for folder in folders:
        wire.call("remember", {"content": f"A note of {folder.name}"}, x_opencode_directory=str(folder))
    for folder, other in (folders, folders[::-1]):
        answer = wire.call("recall", {"query": "note"}, x_opencode_directory=str(folder), **DIRECT)
        assert is_direct(answer)
        assert folder.name in answer.text
        assert f"A note of {other.name}" not in answer.text


def test_folders_of_a_session_are_known_after_its_roots(world: World) -> None:
    projects = ClientProjects(world.state, None)
    assert projects.known_folders(None, "session") is None
    assert projects.known_folders(None, None) == ()
    assert projects.known_folders("/work", "session") == (Path("/work"),)
    with pytest.raises(InvalidInputError):
        projects.known_folders("work", None)
