"""The plugin's socket: authentication, greeting, and robustness against invalid messages."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from starlette.websockets import WebSocket
from websockets.exceptions import InvalidStatus

import opencode_memory
from opencode_memory.hosts.opencode.contract import PROTOCOL
from opencode_memory.server.plugin import endpoint
from opencode_memory.server.plugin.endpoint import MESSAGE_LIMIT, Bridge
from opencode_memory.server.plugin.json_rpc import INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR
from opencode_memory.server.plugin.protocol import EVENTS
from support.bridge import DIRECTIVE, QUESTION, WALRUS, Plugin, RefusedError, began, known, said, until
from support.mcp import TOKEN, Resident, World
from support.stores import NOW_MS


@dataclass(frozen=True)
class Shared:
    """A server shared by all tests that do not change its state."""

    world: World
    server: Resident
    folder: Path

    def plugin(self, **options: Any) -> Plugin:
        return Plugin(self.server.url, self.folder, **options)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shared]:
    with World(tmp_path_factory.mktemp("shared")) as world, world.serve() as server:
        yield Shared(world, server, world.repository("walrus"))


# Authentication


def refused(server: Resident, folder: Path, *headers: tuple[str, str]) -> int:
    """Return the status of a refused handshake."""
    with pytest.raises(InvalidStatus) as raised, Plugin(server.url, folder, headers=headers):
        pass
    status: int = raised.value.response.status_code
    return status


BEARER = ("Authorization", f"Bearer {TOKEN}")


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [("Authorization", "")],
        [("Authorization", "Bearer")],
        [("Authorization", "Bearer ")],
        [("Authorization", f"Bearer {TOKEN}x")],
        [("Authorization", f"Bearer {TOKEN[:-1]}")],
        [("Authorization", f"Bearer {TOKEN.upper()}")],
        [("Authorization", f"Basic {TOKEN}")],
        [("Authorization", TOKEN)],
        [("Authorization", f"Bearer {TOKEN}, Bearer {TOKEN}")],
        [("Authorization", "Bearer schl\u00fcssel")],
        [("X-API-Key", TOKEN)],
        [("Cookie", f"token={TOKEN}")],
        [BEARER, BEARER],
        [BEARER, ("Authorization", "Bearer other")],
        [("Authorization", "Bearer other"), BEARER],
    ],
)
def test_connection_without_the_token_is_refused(shared: Shared, headers: list[tuple[str, str]]) -> None:
    def counted() -> float:
        value: float = shared.world.metrics.refused.labels("token")._value.get()
        return value

    before = counted()
    assert refused(shared.server, shared.folder, *headers) == 403
    assert counted() == before + 1


def test_foreign_origin_or_host_is_refused(shared: Shared) -> None:
    server, folder = shared.server, shared.folder
    for origin in ("https://evil.example", "null", "http://127.0.0.1.evil.example"):
        assert refused(server, folder, BEARER, ("Origin", origin)) == 403
    for host in ("evil.example", "127.0.0.1.evil.example:80", ""):
        assert refused(server, folder, BEARER, ("Host", host)) in (400, 403)
    with Plugin(server.url, folder, headers=[BEARER, ("Origin", "http://localhost:3000")]) as plugin:
        assert plugin.ask("flush") == {}


def test_token_is_required_even_with_an_api_key(world: World, folder: Path) -> None:
    with world.serve(key="s3cret-key") as server:
        with Plugin(server.url, folder) as plugin:
            assert plugin.ask("flush") == {}
        assert refused(server, folder) in (401, 403)
        # The API key is for clients. A plugin reads the token from the file.
        assert refused(server, folder, ("Authorization", "Bearer s3cret-key")) == 403
        assert refused(server, folder, BEARER, ("X-API-Key", "s3cret-key")) in (401, 403)
        route = server.url.replace("/mcp", "/stats")
        assert httpx2.get(route, headers=dict([BEARER])).status_code == 200
        assert httpx2.get(route).status_code == 401


def test_bridge_is_not_served_over_http(shared: Shared) -> None:
    route = shared.server.url.replace("/mcp", "/bridge")
    for method in ("GET", "POST", "OPTIONS"):
        assert httpx2.request(method, route, headers=dict([BEARER])).status_code in (404, 405, 426)


# Greeting


def test_hello_is_answered_with_protocol_deadline_and_events(tmp_path: Path) -> None:
    with (
        World(tmp_path, opencode__deadline_ms="250") as world,
        world.serve() as server,
        Plugin(server.url, tmp_path, hello=False) as plugin,
    ):
        assert plugin.hello() == {
            "protocol": PROTOCOL,
            "version": opencode_memory.__version__,
            "deadline_ms": 250,
            "first_deadline_ms": 2000,
            "events": list(EVENTS),
        }


@pytest.mark.parametrize("protocol", [0, PROTOCOL + 1, 2**70])
def test_plugin_of_another_protocol_is_refused_with_a_notice(
    world: World, server: Resident, folder: Path, protocol: int
) -> None:
    known(world, DIRECTIVE, "directive")
    with Plugin(server.url, folder, hello=False) as plugin:
        answer = plugin.hello(protocol=protocol, version="0.0.1")
        assert (answer["refused"], answer["protocol"]) == (True, PROTOCOL)
        assert all(word in answer["notice"] for word in ("0.0.1", opencode_memory.__version__, "opencode-memory setup"))
        assert plugin.refused("messages", **MESSAGES) == INTERNAL_ERROR


@pytest.mark.parametrize(
    ("version", "advice"),
    [
        ("0.0.1", "run `opencode-memory setup` unless you have done so, then restart OpenCode"),
        ("99.0", "run `opencode-memory serve --detach`, which replaces the server"),
    ],
)
def test_plugin_of_another_version_is_served_with_a_toast(
    server: Resident, folder: Path, version: str, advice: str
) -> None:
    with Plugin(server.url, folder, hello=False) as plugin:
        assert "refused" not in plugin.hello(version=version)
        until(lambda: bool(plugin.opencode.toasts))
        [toast] = plugin.opencode.toasts
        assert version in toast
        assert toast.endswith(advice)


def test_sidebar_asks_for_a_restart_while_the_folder_has_an_older_plugin(
    server: Resident, folder: Path, tmp_path: Path
) -> None:
    def show(directory: Path) -> list[str]:
        route = server.url.replace("/mcp", "/terminal")
        answer = httpx2.get(route, params={"directory": str(directory)}, headers=dict([BEARER]))
        return [line["text"] for line in answer.json()["lines"]]

    with Plugin(server.url, folder, hello=False) as plugin:
        plugin.hello(version="0.0.1")
        assert show(folder) == ["restart OpenCode: old plugin 0.0.1"]
        assert show(tmp_path / "elsewhere") == []
    until(lambda: show(folder) == [])


MESSAGES = {"sessionID": "ses_1", "visible": ["msg_1"], "message": {"id": "msg_1", "text": QUESTION}}
EARLY = {
    "turn": {"sessionID": "ses_1", "left_out": True},
    "messages": MESSAGES,
    "compacting": {"sessionID": "ses_1"},
    "command": {"sessionID": "ses_1", "command": "remember", "arguments": "The walrus sleeps"},
    "tool": {"sessionID": "ses_1", "tool": "memory-write", "arguments": {"content": "x", "scope": "decision"}},
}


def test_messages_before_hello_are_refused(world: World, server: Resident, folder: Path) -> None:
    known(world, DIRECTIVE, "directive")
    before = world.dump()
    with Plugin(server.url, folder, hello=False) as plugin:
        for method, params in EARLY.items():
            assert plugin.refused(method, **params) == INTERNAL_ERROR, method
        plugin.settle("msg_1", "late")
        plugin.happens(began(folder), *said("msg_1", "We decided to use PostgreSQL for the ledger.", created=NOW_MS))
        assert world.store.ledger.decisions("ses_1") == []
        assert world.dump() == before
        plugin.hello()
        plugin.ask("compacting", sessionID="ses_1")
        assert world.dump() == before
        assert DIRECTIVE in plugin.offered("msg_1", QUESTION)["msg_1"]


def test_second_hello_is_refused(world: World, plugin: Plugin) -> None:
    bees = world.repository("bees")
    known(world, "The bee build needs ninja.", project="gitlab.com/group/bees")
    for changes in ({}, {"directory": str(bees)}, {"protocol": 99}):
        with pytest.raises(RefusedError, match="hello was already sent"):
            plugin.hello(**changes)
    assert plugin.offered("msg_1", "How does the bee build work?") == {}


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"protocol": "1"}, "protocol"),
        ({"protocol": -1}, "protocol"),
        ({"protocol": True}, "protocol"),
        ({"protocol": None}, "protocol"),
        ({"version": ""}, "version"),
        ({"version": "x" * 513}, "version"),
        ({"version": 1}, "version"),
        ({"directory": ""}, "directory"),
        ({"directory": "."}, "directory"),
        ({"directory": "walrus"}, "directory"),
        ({"directory": "/a\0b"}, "directory"),
        ({"directory": "/" + "x" * 4096}, "directory"),
        ({"directory": ["/"]}, "directory"),
        ({"pid": 1.5}, "pid"),
    ],
)
def test_invalid_hello_is_refused_and_names_the_field(shared: Shared, changes: dict[str, Any], field: str) -> None:
    with shared.plugin(hello=False) as plugin:
        with pytest.raises(RefusedError, match=f"^{field}: ") as raised:
            plugin.hello(**changes)
        assert raised.value.code == INVALID_PARAMS
        assert "protocol" in plugin.hello()


# Messages


@pytest.mark.parametrize(
    ("method", "params", "field"),
    [
        ("messages", None, "params"),
        ("messages", [], "params"),
        ("messages", {}, "sessionID"),
        ("messages", MESSAGES | {"sessionID": 1}, "sessionID"),
        ("messages", MESSAGES | {"sessionID": ""}, "sessionID"),
        ("messages", MESSAGES | {"sessionID": "s" * 513}, "sessionID"),
        ("messages", MESSAGES | {"visible": "msg_1"}, "visible"),
        ("messages", MESSAGES | {"visible": [1]}, "visible"),
        ("messages", MESSAGES | {"visible": ["m"] * 10_001}, "visible"),
        ("messages", MESSAGES | {"message": "msg_1"}, "message"),
        ("messages", MESSAGES | {"message": {"id": "msg_1"}}, "text"),
        ("messages", MESSAGES | {"message": {"id": "", "text": "x"}}, "id"),
        ("messages", MESSAGES | {"message": {"id": "msg_1", "text": "x" * 1_000_001}}, "text"),
        ("messages", MESSAGES | {"summary": 1}, "summary"),
        ("compacting", {"sessionID": None}, "sessionID"),
        ("command", {"sessionID": "ses_1", "command": "recall"}, "arguments"),
        ("command", {"sessionID": "ses_1", "command": 1, "arguments": ""}, "command"),
        ("tool", {"sessionID": "ses_1", "tool": "memory-read"}, "arguments"),
        ("tool", {"tool": "memory-read", "arguments": {}}, "sessionID"),
        ("tool", {"sessionID": "ses_1", "tool": "memory-read", "arguments": {}, "agent": 1}, "agent"),
    ],
)
def test_invalid_parameters_are_refused_and_name_the_field(
    shared: Shared, method: str, params: Any, field: str
) -> None:
    with shared.plugin() as plugin, pytest.raises(RefusedError, match=f"^{field}: ") as raised:
        plugin.begin(method, params).result(30)
    assert raised.value.code == INVALID_PARAMS
    assert len(str(raised.value)) < 200


@pytest.mark.parametrize(("text", "code"), [("{", PARSE_ERROR), ("[" * 200_000, PARSE_ERROR), ("[]", INVALID_REQUEST)])
def test_invalid_message_is_refused(shared: Shared, text: str, code: int) -> None:
    with shared.plugin() as plugin:
        plugin.send(text)
        assert plugin.strays.get(timeout=30)["error"]["code"] == code
        plugin.flush()


def test_message_above_the_limit_closes_the_connection(shared: Shared) -> None:
    with shared.plugin() as plugin:
        picture = {"type": "file", "url": "data:image/png;base64," + "A" * (12 * 1024 * 1024)}
        part = {"id": "prt_1", "messageID": "msg_1", "sessionID": "ses_1", **picture}
        plugin.happens({"type": "message.part.updated", "properties": {"part": part}})
        plugin.send(" " * (MESSAGE_LIMIT + 1))
        plugin._reader.join(30)
        assert plugin.socket.close_code == 1009
    with shared.plugin() as plugin:
        plugin.flush()


def test_binary_message_ends_its_own_connection_only(shared: Shared, caplog: pytest.LogCaptureFixture) -> None:
    with shared.plugin() as plugin, shared.plugin() as other:
        other.send(b"\x00\x01")
        other._reader.join(30)
        assert not other._reader.is_alive()
        plugin.flush()
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []


def test_connection_without_a_greeting_is_closed_and_others_stay(
    shared: Shared, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoint, "GREETING_SECONDS", 2.0)
    with shared.plugin() as plugin, shared.plugin(hello=False) as silent:
        assert silent.refused("messages", sessionID="ses_1") == INVALID_PARAMS
        silent._reader.join(30)
        assert not silent._reader.is_alive()
        plugin.flush()


def test_texts_before_the_end_are_read_after_an_answer_that_could_not_be_sent(world: World) -> None:
    async def receive() -> dict[str, Any]:
        return left.pop(0)

    async def send(message: dict[str, Any]) -> None:
        if message["type"] == "websocket.send":
            raise ConnectionResetError

    left: list[dict[str, Any]] = [
        {"type": "websocket.connect"},
        *({"type": "websocket.receive", "text": text} for text in ("no JSON", "no JSON")),
        {"type": "websocket.disconnect", "code": 1006},
    ]
    scope = {"type": "websocket", "headers": [(b"authorization", f"Bearer {TOKEN}".encode())]}
    bridge = Bridge(world.state, token=TOKEN, on_refused=world.metrics.refuse)
    anyio.run(bridge.serve, WebSocket(scope, receive, send))
    assert left == []


def test_lone_surrogates_do_not_fail_a_request(world: World, plugin: Plugin) -> None:
    known(world, WALRUS)
    half = "\ud83d"
    assert WALRUS in plugin.shown("msg_1", f"{QUESTION} {half}")
    assert WALRUS in plugin.shown("msg_2", half, session=f"ses_{half}")
    plugin.happens(began(plugin.folder), *said("msg_1", f"We decided to use PostgreSQL {half}.", created=NOW_MS))
    answer = plugin.ask("tool", sessionID="ses_1", tool="memory-read", arguments={"query": f"walrus {half}"})
    assert WALRUS in answer["text"] or answer["is_error"]
    assert "memory" in plugin.ask("command", sessionID="ses_1", command="recall", arguments=half)["text"]


WORDS = st.sampled_from(
    ["ses_1", "msg_1", "remember", "recall", "memory-read", "memory-write", "shown", "late", "..", "*"]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2**65) | st.floats() | st.text(max_size=8) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4) | WORDS, inner, max_size=3),
    max_leaves=6,
)
NAMES = [
    *["sessionID", "messageID", "message", "visible", "summary", "command", "arguments", "tool", "agent", "state"],
    *["events", "directory", "type", "properties", "info", "part", "id", "text", "role", "time", "protocol", "version"],
]
PARAMS = st.dictionaries(st.sampled_from(NAMES), VALUES | st.dictionaries(st.sampled_from(NAMES), VALUES), max_size=6)
METHODS = ["messages", "compacting", "command", "tool", "flush", "hello", "settled", "events", "no/such"]
EVENT = st.fixed_dictionaries({"type": st.sampled_from(EVENTS), "properties": PARAMS})


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(data=st.data())
@example(data=None)
def test_arbitrary_messages_do_not_end_the_connection(plugin: Plugin, data: Any) -> None:
    logging.disable(logging.CRITICAL)
    try:
        for method, params in (
            []
            if data is None
            else data.draw(st.lists(st.tuples(st.sampled_from(METHODS), PARAMS | VALUES), max_size=6))
        ):
            plugin.begin(method, params)
            plugin.tell(method, params)
        for events in [] if data is None else data.draw(st.lists(st.lists(EVENT, max_size=3), max_size=3)):
            plugin.tell("events", {"directory": str(plugin.folder), "events": events})
        answers = [answer.exception(30) for answer in plugin.pending()]
    finally:
        logging.disable(logging.NOTSET)
    assert not any("Traceback" in str(answer) or "server's log" in str(answer) for answer in answers if answer), answers
    plugin.flush()


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        ("memory-raed", {}, "did you mean 'memory-read'?"),
        ("x" * 500, {}, "there is no tool"),
        ("memory-read", [], "arguments: expected an object"),
        ("memory-read", {"limit": "many"}, "limit"),
        ("memory-write", {"content": "x", "scope": "conventoin"}, "did you mean 'convention'?"),
        ("memory-edit", {"id": "00000000", "content": "x"}, "not found"),
    ],
)
def test_failing_tool_call_says_why(shared: Shared, tool: str, arguments: Any, told: str) -> None:
    with shared.plugin() as plugin:
        answer = plugin.ask("tool", sessionID="ses_1", tool=tool, arguments=arguments)
    assert answer["is_error"] is True
    assert told in answer["text"]
    assert len(answer["text"]) < 600
