"""Recall on the command line: the resident server answers it as the command itself would, or the command does it."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import opencode_memory
from opencode_memory.resident import client
from support.command_line import Answer, CommandLine
from support.services import free_port

FORMS = (
    ("walrus",),
    ("walrus", "--json"),
    ("walrus", "--explain"),
    ("walrus", "--explain", "--json"),
    ("walrus", "--color", "always"),
    ("walrus", "-n", "1"),
    ("walrus", "--uncut"),
    ("walrus", "--sources", "memories"),
    ("walrus", "--sources", "sessions"),
    ("zeppelin", "--explain"),
    ("zeppelin", "--explain", "--json"),
    ("walrus", "-c", "decision"),
    ("walrus", "--scope", "global"),
    ("walrus", "--since", "2 days ago"),
    ("walrus", "--as-of", "1 minute ago"),
    ("walrus", "--all-projects"),
    ("walrus", "-p", "no/such"),
    ("zeppelin 海象 \x1b[31m", "--json"),
    ("zeppelin",),
)
REFUSED = (("walrus", "--entity", ""), ("walrus", "-p", "x" * 600), ("walrus", "-C", "no/such/folder"))


@pytest.fixture
def server(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """A resident server of the command line's store, with three memories; yields its port."""
    port = free_port()
    monkeypatch.setenv("OPENCODE_MEMORY_PORT", str(port))
    # On a busy machine, a command would answer itself sooner than the server accepts it.
    monkeypatch.setattr(client, "_CONNECT_SECONDS", 30.0)
    monkeypatch.setattr(client, "_ACCEPT_SECONDS", 30.0)
    for text, category in (("The walrus sleeps at noon", "fact"), ("We feed the walrus twice a day", "decision")):
        cli.remember(text, "-c", category)
    cli.remember("The walrus is called Otto 海象", "--global")
    process = subprocess.Popen(
        [sys.executable, "-m", "opencode_memory.cli", "serve", "--no-worker"],
        env=dict(os.environ),
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    try:
        assert f":{port}/mcp" in process.stderr.readline()
        yield port
    finally:
        process.kill()
        process.communicate()


def mask_uses(answer: Answer) -> Answer:
    """Mask what a recall itself changes: the count of uses, its time, and the small boost for them."""
    out = re.sub(r'"(uses|used_at|score|contribution)": ("[^"]*"|[-+.e0-9]+|null)', r'"\1": _', answer.out)
    # The age of a memory, in days, may be as short as 9.3e-05.
    return replace(answer, out=re.sub(r"[-+]?\d+(\.\d+)?e-?\d+|[-+]?\d+\.\d{2,}", "_", out))


def fail_to_open(*_: Any, **__: Any) -> None:
    raise AssertionError("the command opened the store")


def recall_both_ways(cli: CommandLine, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> tuple[Answer, Answer]:
    """Return what the server answers, and what the command answers without it."""
    with monkeypatch.context() as patch:
        patch.setattr(opencode_memory, "open", fail_to_open, raising=False)
        delegated = cli("recall", *arguments)
    with monkeypatch.context() as patch:
        patch.setenv("OPENCODE_MEMORY_SERVER_DELEGATE", "false")
        patch.setattr(client, "post", fail_to_open)
        return delegated, cli("recall", *arguments)


@pytest.mark.skipif(sys.platform != "linux", reason="the owner of a connection is known on Linux only")
def test_delegated_recall_prints_what_the_command_prints(
    cli: CommandLine, server: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for form in FORMS:
        delegated, own = recall_both_ways(cli, monkeypatch, *form)
        assert mask_uses(delegated) == mask_uses(own), form
    assert recall_both_ways(cli, monkeypatch, "walrus", "--json")[0].json["hits"]


def test_refused_recall_has_the_same_error_with_a_server(
    cli: CommandLine, server: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for form in REFUSED:
        with_server = cli("recall", *form)
        monkeypatch.setenv("OPENCODE_MEMORY_SERVER_DELEGATE", "false")
        own = cli("recall", *form)
        monkeypatch.delenv("OPENCODE_MEMORY_SERVER_DELEGATE")
        assert with_server == own, form


def test_delegated_recall_finds_what_another_process_just_wrote(
    cli: CommandLine, server: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        cli.remember(f"The bee number{number} flies")
        delegated, own = recall_both_ways(cli, monkeypatch, f"number{number}")
        assert f"number{number}" in delegated.out
        assert delegated.out == own.out


@pytest.mark.parametrize("difference", ["version", "setting", "token", "no token", "port 0"])
def test_command_does_not_delegate_to_a_server_that_differs(
    cli: CommandLine, server: int, monkeypatch: pytest.MonkeyPatch, difference: str
) -> None:
    token = next(Path(os.environ["XDG_DATA_HOME"]).rglob("server.token"))
    match difference:
        case "version":
            monkeypatch.setattr(opencode_memory, "__version__", "0.0.0")
        case "setting":
            monkeypatch.setenv("OPENCODE_MEMORY_RECALL_LIMIT", "1")
        case "token":
            token.write_text("another")
        case "no token":
            token.unlink()
        case "port 0":
            monkeypatch.setenv("OPENCODE_MEMORY_PORT", "0")
    opened: list[Any] = []
    original = opencode_memory.open

    def watch(*arguments: Any, **named: Any) -> Any:
        opened.append(arguments)
        return original(*arguments, **named)

    monkeypatch.setattr(opencode_memory, "open", watch, raising=False)
    answer = cli.ok("recall", "walrus")
    assert opened
    assert answer.err == ""
    assert "walrus" in answer.out


@contextmanager
def listen(answer: bytes) -> Iterator[tuple[int, list[bytes]]]:
    """Run a listener that answers each connection with bytes; yields its port and what it received."""
    received: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                received.append(connection.recv(1 << 16))
                if answer:
                    connection.sendall(answer)
                else:
                    received.append(connection.recv(1 << 16))

        thread = threading.Thread(target=serve)
        thread.start()
        yield listener.getsockname()[1], received
        thread.join(60)
        assert not thread.is_alive()


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"SSH-2.0-OpenSSH\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n[]",
        b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{]",
        b'HTTP/1.1 409 Conflict\r\ncontent-length: 27\r\n\r\n{"text":"","notes":"","code"',
        b'HTTP/1.1 200 OK\r\ncontent-length: 11\r\n\r\n{"text":"x"}'[:-1],
    ],
)
def test_command_does_the_work_itself_without_a_usable_answer(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch, answer: bytes
) -> None:
    cli.remember("The walrus sleeps at noon")
    token = next(Path(os.environ["XDG_DATA_HOME"]).rglob("store.db")).with_name("server.token")
    token.write_text("secret")
    monkeypatch.setattr(client, "_ANSWER_SECONDS", 0.2)
    with listen(answer) as (port, received):
        monkeypatch.setenv("OPENCODE_MEMORY_PORT", str(port))
        found = cli.ok("recall", "walrus")
    assert received[0].startswith(b"POST /delegate HTTP/1.1\r\n")
    assert "walrus" in found.out
    assert found.err == ""


def test_nothing_is_sent_to_a_server_of_another_user(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    cli.remember("The walrus sleeps at noon")
    token = next(Path(os.environ["XDG_DATA_HOME"]).rglob("store.db")).with_name("server.token")
    token.write_text("secret")
    monkeypatch.setattr(client, "find_owner", lambda *_: os.geteuid() + 1)
    with listen(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}") as (port, received):
        monkeypatch.setenv("OPENCODE_MEMORY_PORT", str(port))
        found = cli.ok("recall", "walrus")
    assert received == [b""]
    assert "walrus" in found.out


def test_server_requires_the_token_and_the_same_settings(cli: CommandLine, server: int) -> None:
    token = next(Path(os.environ["XDG_DATA_HOME"]).rglob("server.token")).read_text().strip()
    for given, status in (("wrong", 401), ("", 401), (token, 409)):
        answer = client.post("127.0.0.1", server, client.PATH, b'{"operation": "recall"}', token=given)
        assert answer is not None
        assert answer.status == status
    for body in (b"", b"[", b"7", b"[]"):
        answer = client.post("127.0.0.1", server, client.PATH, body, token=token)
        assert answer is not None
        assert answer.status == 409


def test_doctor_shows_whether_the_server_answers_commands(
    cli: CommandLine, server: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def check() -> str:
        [text] = [check["text"] for check in cli("doctor", "--json").json["checks"] if check["name"] == "delegation"]
        return str(text)

    assert check() == "the running server answers `opencode-memory recall`"
    monkeypatch.setenv("OPENCODE_MEMORY_RECALL_LIMIT", "1")
    assert check().startswith("no running server has the same version, store and settings")
    monkeypatch.setenv("OPENCODE_MEMORY_SERVER_DELEGATE", "false")
    assert check().startswith("server.delegate is off")
