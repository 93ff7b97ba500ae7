"""A newer server takes over from an older one while its clients work: no call is lost, and sessions go on."""

from __future__ import annotations

import json
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

import opencode_memory
from opencode_memory.cli.detach import start
from opencode_memory.config.load import Config
from opencode_memory.hosts.opencode.contract import PROTOCOL
from opencode_memory.resident.client import HANDOVER_PATH, MOVED, post
from support.background import PATIENCE_SECONDS, Background, end, health_of

VERSION = "2025-11-25"
CLIENTS = 6
CALLS_AFTERWARDS = 5
ACCEPT = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
WHO = {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


class Client:
    """An MCP client with a session, which opens a connection for each request."""

    def __init__(self, config: Config, folder: Path) -> None:
        self._config = config
        self._headers = {**ACCEPT, "x-opencode-directory": str(folder)}
        self._number = 0
        status, headers, _ = self._post("initialize", WHO)
        assert status == 200
        self._headers |= {"mcp-session-id": headers["mcp-session-id"], "mcp-protocol-version": VERSION}
        self._post("notifications/initialized", None)

    def call(self, tool: str, **arguments: Any) -> Any:
        status, _, text = self._post("tools/call", {"name": tool, "arguments": arguments})
        assert status == 200, text
        message = json.loads(text.removeprefix("event: message").strip().removeprefix("data: "))
        result = message["result"]
        assert not result.get("isError"), result
        return result["structuredContent"]

    def forget_folder(self) -> None:
        """Send the folder no more, so that only the server's knowledge of the session tells it."""
        del self._headers["x-opencode-directory"]

    def _post(self, method: str, params: Any) -> tuple[int, dict[str, str], str]:
        self._number += 1
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
        message |= {"id": self._number, "params": params} if params is not None else {}
        connection = HTTPConnection("127.0.0.1", self._config.server.port, timeout=PATIENCE_SECONDS)
        try:
            connection.request("POST", "/mcp", json.dumps(message), self._headers)
            answer = connection.getresponse()
            return answer.status, {key.lower(): value for key, value in answer.getheaders()}, answer.read().decode()
        finally:
            connection.close()


@pytest.fixture
def first(background: Background) -> Any:
    """The JSON of the start of the older server."""
    return background.start()


@pytest.fixture
def newer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opencode_memory, "__version__", "99.0.0")


@pytest.mark.usefixtures("newer")
def test_no_call_of_working_clients_is_lost(config: Config, first: Any, tmp_path: Path) -> None:
    clients = [Client(config, tmp_path) for _ in range(CLIENTS)]
    begun, over = threading.Barrier(CLIENTS + 1), threading.Event()
    kept: list[str] = []

    def work(number: int) -> int:
        """Write and read until the newer server has answered several times. Every call must succeed."""
        client, done, left = clients[number], 0, CALLS_AFTERWARDS
        while left:
            kept.append(
                client.call("remember", content=f"Walrus {number} was fed {done} times.", category="fact")["id"]
            )
            assert client.call("get_memory", memory_id=kept[-1])["memory"]["id"]
            done += 1
            if done == 1:
                begun.wait(PATIENCE_SECONDS)
            left -= over.is_set()
        return done

    with ThreadPoolExecutor(CLIENTS) as pool:
        working = [pool.submit(work, number) for number in range(CLIENTS)]
        begun.wait(PATIENCE_SECONDS)
        second = start(config, with_worker=False)
        over.set()
        done = [one.result(PATIENCE_SECONDS) for one in working]
    assert second.replaced is not None
    assert second.replaced.pid == first["pid"] != second.pid
    assert min(done) > CALLS_AFTERWARDS
    assert len(set(kept)) == sum(done)


@pytest.mark.usefixtures("newer", "first")
def test_session_stays_in_its_project(config: Config, tmp_path: Path) -> None:
    client = Client(config, tmp_path / "walrus")
    client.call("remember", content="The walrus sleeps at noon.", category="fact")
    project = client.call("memory_status")["project"]
    assert project.endswith("walrus")
    start(config, with_worker=False)
    # The header still tells the folder of a client with a session that no longer exists.
    assert client.call("memory_status")["project"] == project
    assert client.call("remember", content="The walrus wakes at two.", category="fact")["id"]


@pytest.mark.usefixtures("newer", "first")
def test_requests_that_were_not_read_are_left_to_the_next_server(
    background: Background, config: Config, tmp_path: Path
) -> None:
    def open_bridge() -> Any:
        url = f"ws://127.0.0.1:{config.server.port}/bridge"
        return connect(url, additional_headers=background.credentials, proxy=None, open_timeout=PATIENCE_SECONDS)

    def hello(socket: Any) -> Any:
        params = {"protocol": PROTOCOL, "version": "0.1.0", "directory": str(tmp_path), "pid": 1}
        socket.send(json.dumps({"jsonrpc": "2.0", "id": 0, "method": "hello", "params": params}))
        while (message := json.loads(socket.recv(PATIENCE_SECONDS))).get("id") != 0:
            pass
        return message["result"]

    with open_bridge() as socket, ThreadPoolExecutor() as pool:
        hello(socket)
        replacing = pool.submit(start, config, with_worker=False)
        asked, answered = 0, 0

        def flush_again_and_again() -> None:
            nonlocal asked, answered
            while True:
                asked += 1
                socket.send(json.dumps({"jsonrpc": "2.0", "id": asked, "method": "flush", "params": {}}))
                while json.loads(socket.recv(PATIENCE_SECONDS)).get("id") != asked:
                    pass
                answered += 1

        with pytest.raises(ConnectionClosed) as closed:
            flush_again_and_again()
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == MOVED
        assert 0 < answered < asked
        # The connection waits in the queue of the port until the next server answers.
        with open_bridge() as again:
            assert hello(again)["protocol"] == PROTOCOL
        assert replacing.result(PATIENCE_SECONDS).started


@pytest.mark.usefixtures("newer", "first")
def test_client_of_a_relay_goes_on(background: Background, config: Config, tmp_path: Path) -> None:
    relay = background.begin("serve", "--stdio", OPENCODE_MEMORY_PORT=str(config.server.port))
    assert relay.stdin is not None
    assert relay.stdout is not None
    number = 0

    def ask(method: str, params: Any) -> Any:
        nonlocal number
        number += 1
        assert relay.stdin is not None
        assert relay.stdout is not None
        relay.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n")
        relay.stdin.flush()
        message = json.loads(relay.stdout.readline())
        assert message["id"] == number
        return message["result"]

    ask("initialize", WHO)
    relay.stdin.write(json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}) + "\n")
    with ThreadPoolExecutor() as pool:
        replacing = pool.submit(start, config, with_worker=False)
        done = 0
        while not replacing.done() or done < CALLS_AFTERWARDS:
            content = f"The walrus swam {done} rounds."
            result = ask("tools/call", {"name": "remember", "arguments": {"content": content, "category": "fact"}})
            assert not result.get("isError"), result
            done += 1
        assert replacing.result().started
    assert end(relay)[0] == 0


def test_handover_needs_the_token_and_a_waiting_process(
    background: Background, config: Config, first: Any, tmp_path: Path
) -> None:
    token = background.credentials["Authorization"].removeprefix("Bearer ")

    def ask(document: Any, *, token: str = token) -> int:
        answer = post(config.server.host, config.server.port, HANDOVER_PATH, json.dumps(document).encode(), token=token)
        assert answer is not None
        return answer.status

    assert ask({"socket": "/nowhere"}, token="wrong") == 401
    bad: list[Any] = [
        {"socket": str(tmp_path / "none")},
        {"socket": 7},
        {"socket": "a\0b"},
        {},
        [],
        None,
        {"socket": ""},
    ]
    assert {ask(document) for document in bad} == {409}
    assert health_of(config)["pid"] == first["pid"]


@pytest.mark.usefixtures("newer")
def test_server_that_cannot_hand_over_is_ended(config: Config, first: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    # An older version has no such endpoint.
    monkeypatch.setattr("opencode_memory.server.takeover.HANDOVER_PATH", "/nothing")
    second = start(config, with_worker=False)
    assert second.replaced is not None
    assert second.replaced.pid == first["pid"]
    assert health_of(config)["pid"] == second.pid


@pytest.mark.usefixtures("newer")
def test_process_that_dies_after_asking_leaves_the_port_free(
    background: Background, config: Config, first: Any, tmp_path: Path
) -> None:
    path = str(tmp_path / "s")
    with socket.socket(socket.AF_UNIX) as waiting:
        waiting.bind(path)
        waiting.listen(1)
        token = background.credentials["Authorization"].removeprefix("Bearer ")
        body = json.dumps({"socket": path}).encode()
        answer = post(config.server.host, config.server.port, HANDOVER_PATH, body, token=token)
        assert answer is not None
        assert answer.status == 202
    second = start(config, with_worker=False)
    assert health_of(config)["pid"] == second.pid != first["pid"]
