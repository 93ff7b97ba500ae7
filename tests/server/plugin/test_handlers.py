"""Requests of several plugins at the same time, and the end of their server."""

from __future__ import annotations

import logging
import re
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import httpx2
import pytest

from opencode_memory import MemoryStore
from opencode_memory.hosts.opencode.contract import TOKEN_FILE
from opencode_memory.server.plugin.json_rpc import INTERNAL_ERROR
from support import processes
from support.bridge import DIRECTIVE, PROJECT, QUESTION, WALRUS, OpenCode, Plugin, began, known, said, until
from support.mcp import Resident, World
from support.stores import NOW_MS, open_store

MESSAGES = {"sessionID": "ses_1", "visible": ["msg_1"], "message": {"id": "msg_1", "text": QUESTION}}


# Several plugins


def test_two_plugins_are_served_at_once_and_counted(world: World, server: Resident, folder: Path) -> None:
    route = server.url.replace("/mcp", "/stats")
    with Plugin(server.url, folder), Plugin(server.url, world.repository("bees")):
        until(lambda: httpx2.get(route).json()["plugins"] == 2)
    until(lambda: httpx2.get(route).json()["plugins"] == 0)


def test_plugin_that_disconnects_does_not_disturb_another(
    world: World,
    server: Resident,
    folder: Path,
    plugin: Plugin,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    entered, leave = threading.Event(), threading.Event()
    find = world.store.recall

    def slow(*arguments: Any, **named: Any) -> Any:
        entered.set()
        assert leave.wait(60)
        return find(*arguments, **named)

    with Plugin(server.url, folder) as other:
        # Wait until the greeting is done, because it calls recall, too.
        until(lambda: httpx2.get(server.url.replace("/mcp", "/stats")).json()["plugins"] == 2)
        monkeypatch.setattr(world.store, "recall", slow, raising=False)
        other.begin("messages", MESSAGES)
        assert entered.wait(60)
        plugin.flush()
    leave.set()
    plugin.flush()
    until(lambda: httpx2.get(server.url.replace("/mcp", "/stats")).json()["plugins"] == 1)
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []


def test_failing_model_does_not_end_the_connection(
    world: World, server: Resident, folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError("no model")

    monkeypatch.setattr(world.store, "recall", broken, raising=False)
    with Plugin(server.url, folder) as plugin:
        until(lambda: "no model" in caplog.text)
        plugin.flush()
        assert plugin.ask("tool", sessionID="ses_1", tool="memory-kv-list", arguments={})["is_error"] is False
        assert plugin.refused("messages", **MESSAGES) == INTERNAL_ERROR


# Tools and commands


def test_tool_runs_in_the_plugins_session_and_project(world: World, plugin: Plugin) -> None:
    given = {"content": "The walrus listens on port 5128", "scope": "decision"}
    answer = plugin.ask(
        "tool", sessionID="ses_7", messageID="msg_7", agent="build", tool="memory-write", arguments=given
    )
    assert answer["is_error"] is False
    [memory] = world.store.list(project=PROJECT)
    assert (memory.content, memory.project, memory.source.session) == (given["content"], PROJECT, "ses_7")
    assert (memory.source.message, memory.metadata["agent"]) == ("msg_7", "build")
    read = plugin.ask("tool", sessionID="ses_8", tool="memory-read", arguments={"query": "walrus port"})
    assert given["content"] in read["text"]


def test_internal_error_of_a_tool_is_logged_and_not_sent(
    world: World, plugin: Plugin, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError("the secret of the store")

    monkeypatch.setattr(MemoryStore, "list", broken)
    answer = plugin.ask("tool", sessionID="ses_1", tool="memory-read", arguments={})
    assert answer["is_error"] is True
    assert "secret" not in answer["text"]
    assert "the secret of the store" in caplog.text


def test_command_is_run_and_answered(world: World, plugin: Plugin) -> None:
    told = plugin.ask("command", sessionID="ses_1", command="remember", arguments="decision: we use SQLite")["text"]
    [memory] = world.store.list(project=PROJECT)
    assert (memory.content, memory.category, memory.trust) == ("we use SQLite", "decision", "user")
    assert "we use SQLite" in told
    assert "we use SQLite" in plugin.ask("command", sessionID="ses_2", command="recall", arguments="SQLite")["text"]
    assert plugin.ask("command", sessionID="ses_1", command="no-such", arguments="") == {}


def test_renamed_project_is_used_by_a_connected_plugin(world: World, plugin: Plugin) -> None:
    known(world, WALRUS)
    plugin.ask("command", sessionID="ses_0", command="remember", arguments="the walrus sleeps")
    world.store.projects.rename(PROJECT, "walrus-two")
    assert WALRUS in plugin.offered("msg_1", QUESTION)["msg_1"]
    assert world.store.ledger.decisions("ses_1")[0].project == "walrus-two"


# The end


def test_flush_waits_for_earlier_notifications(world: World, plugin: Plugin, monkeypatch: pytest.MonkeyPatch) -> None:
    entered, leave = threading.Event(), threading.Event()
    write = world.store.learning.write

    def slow(*arguments: Any, **named: Any) -> Any:
        entered.set()
        assert leave.wait(60)
        return write(*arguments, **named)

    monkeypatch.setattr(world.store.learning, "write", slow)
    text = "We decided to use PostgreSQL for the ledger."
    events = [began(plugin.folder), *said("msg_1", text, created=NOW_MS), *said("msg_2", "Go on.", created=NOW_MS + 1)]
    plugin.tell(
        "events", {"directory": str(plugin.folder), "events": [*events, *said("msg_3", "Yes.", created=NOW_MS + 2)]}
    )
    flushed = plugin.begin("flush", {})
    try:
        assert entered.wait(60)
        # No other message waits for the slow one.
        plugin.settle("msg_9", "late")
        assert plugin.offered("msg_4", QUESTION) == {}
        assert not flushed.done()
    finally:
        leave.set()
    assert flushed.result(30) == {}


def test_last_notification_is_handled_after_disconnect(world: World, server: Resident, folder: Path) -> None:
    known(world, DIRECTIVE, "directive")
    with Plugin(server.url, folder) as plugin:
        assert DIRECTIVE in plugin.offered("msg_1", QUESTION)["msg_1"]
        plugin.settle("msg_1")
    until(lambda: world.store.ledger.decisions("ses_1")[0].state == "shown")


def test_server_ends_at_once_and_keeps_acknowledged_writes(tmp_path: Path) -> None:
    home = {"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path / "data"), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    process = subprocess.Popen(
        [sys.executable, "-m", "opencode_memory.cli", "serve", "--no-worker", "--port", "0"],
        env=processes.environment(PYTHONWARNINGS="default", **home),
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr is not None
        found = re.search(r"http://\S+/mcp", process.stderr.readline())
        assert found
        store = tmp_path / "data" / "opencode-memory" / "store"
        token = (store / TOKEN_FILE).read_text()
        folder = tmp_path / "walrus"
        folder.mkdir()
        opencode = OpenCode(is_silent=True)
        with (
            deaf(found[0], token),
            Plugin(found[0], folder, headers={"Authorization": f"Bearer {token}"}, opencode=opencode) as plugin,
        ):
            waiting = [
                plugin.begin(
                    "command",
                    {"sessionID": "ses_1", "command": "remember", "arguments": f"decision: number {number} it is"},
                )
                for number in range(60)
            ]
            waiting[0].result(30)
            process.send_signal(signal.SIGTERM)
            assert process.wait(30) == 0
            said = process.stderr.read()
            acknowledged = [answer.result()["text"] for answer in waiting if answer.exception(30) is None]
    finally:
        process.kill()
        process.communicate()
    assert "Traceback" not in said
    # The server logs each of these when a wait ends by its time limit: for a plugin's answer, for a running call, and
    # for open connections.
    for waited in ("was not answered in", "a call took longer than", "timeout graceful shutdown exceeded"):
        assert waited not in said
    assert acknowledged
    with open_store(store) as kept:
        stored = {memory.content for memory in kept.list(project="*", limit=1000)}
    for text in acknowledged:
        assert any(content in text for content in stored), text


def deaf(url: str, token: str) -> socket.socket:
    """Connect a plugin that never reads, so it does not answer the closing handshake either."""
    host, port = url.split("/")[2].split(":")
    connected = socket.create_connection((host, int(port)), timeout=30)
    lines = [
        *[
            "GET /bridge HTTP/1.1",
            f"Host: {host}",
            "Upgrade: websocket",
            "Connection: Upgrade",
            "Sec-WebSocket-Version: 13",
        ],
        *["Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", f"Authorization: Bearer {token}", "", ""],
    ]
    connected.sendall("\r\n".join(lines).encode())
    assert connected.recv(64).startswith(b"HTTP/1.1 101")
    return connected
