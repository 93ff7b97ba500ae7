"""End of a server on standard input and output: by its client, by a signal, and by SIGKILL."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.acknowledged import assert_all_there, of_session, session
from e2e.messages import INITIALIZED, answered, call, greeting
from e2e.repositories import repository
from e2e.served import command, environment

PROJECT = "forge.example/team/shop"
PATIENCE_SECONDS = 30


class OneClient:
    """A server and the client that started it, which keeps its end open."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.process = process
        self.input = process.stdin
        self._output = process.stdout

    def say(self, message: dict[str, Any]) -> None:
        self.input.write(json.dumps(message) + "\n")
        self.input.flush()

    def ask(self, message: dict[str, Any]) -> str:
        self.say(message)
        return self._output.readline()

    def remember_much(self) -> dict[str, str]:
        stored = of_session(answered(self.ask(call("log_session", **session()))))
        assert answered(self.ask(call("memory_status")))["pending_embeddings"] > 0
        return stored


@pytest.fixture
def one_client(tmp_path: Path) -> Iterator[OneClient]:
    process = subprocess.Popen(
        command("serve", "--stdio", "--data-dir", str(tmp_path / "store")),
        cwd=repository(tmp_path / "shop", remote=f"https://{PROJECT}.git"),
        env=environment(tmp_path),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        client = OneClient(process)
        assert '"result"' in client.ask(greeting())
        client.say(INITIALIZED)
        yield client
        process.kill()


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_server_that_gets_a_signal_ends_although_its_client_stays(
    one_client: OneClient, how: signal.Signals, tmp_path: Path
) -> None:
    acknowledged = one_client.remember_much()
    one_client.process.send_signal(how)
    # The client keeps the input open, so the server does not end because of an end of input.
    assert one_client.process.wait(PATIENCE_SECONDS) == 0
    assert not one_client.input.closed
    assert_all_there(tmp_path / "store", PROJECT, acknowledged)


def test_server_ends_with_its_client_and_loses_no_write(one_client: OneClient, tmp_path: Path) -> None:
    acknowledged = one_client.remember_much()
    one_client.input.close()
    assert one_client.process.wait(PATIENCE_SECONDS) == 0
    assert_all_there(tmp_path / "store", PROJECT, acknowledged)


def test_killed_server_loses_no_write(one_client: OneClient, tmp_path: Path) -> None:
    acknowledged = one_client.remember_much()
    one_client.process.kill()
    assert one_client.process.wait(PATIENCE_SECONDS) == -signal.SIGKILL
    assert_all_there(tmp_path / "store", PROJECT, acknowledged)
