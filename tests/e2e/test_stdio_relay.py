"""``serve --stdio`` beside a resident server: it relays its client, stays small, and outlives that server."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from mcp.client.stdio import StdioServerParameters

from e2e.agents import connected
from e2e.messages import INITIALIZED, answered, call, greeting
from e2e.repositories import repository
from e2e.served import Served, command, environment
from support.mcp import Roots

PROJECT = "forge.example/team/shop"
WALRUS = "The walrus build needs make -j1."
MOST_RESIDENT_KB = 40 * 1024


class Relayed:
    """A client that started ``serve --stdio`` in a repository."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.process = process
        self.input = process.stdin
        self.output = process.stdout

    def ask(self, message: dict[str, Any]) -> str:
        self.input.write(json.dumps(message) + "\n")
        self.input.flush()
        return self.output.readline()

    def begin(self) -> str:
        answer = self.ask(greeting())
        self.input.write(json.dumps(INITIALIZED) + "\n")
        self.input.flush()
        return answer

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        return answered(self.ask(call(tool, **arguments)))

    @property
    def is_light(self) -> bool:
        """Whether the process has loaded neither the engine nor the model's library."""
        maps = Path(f"/proc/{self.process.pid}/maps").read_text(encoding="utf-8")
        return not any(name in maps for name in ("_core.abi3", "onnxruntime"))

    @property
    def resident_kb(self) -> int:
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="utf-8")
        return int(next(line for line in status.splitlines() if line.startswith("VmRSS:")).split()[1])


@contextmanager
def relayed(served: Served, shop: Path, *options: str) -> Iterator[Relayed]:
    port = {"OPENCODE_MEMORY_PORT": str(urlsplit(served.url).port)}
    with subprocess.Popen(
        command("serve", "--stdio", "--data-dir", str(served.data_dir), *options),
        cwd=shop,
        env=environment(served.home) | port,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield Relayed(process)
        finally:
            process.kill()


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return repository(tmp_path / "shop", remote=f"https://{PROJECT}.git")


def test_relay_serves_the_project_of_its_folder_and_stays_small(served: Served, shop: Path) -> None:
    with relayed(served, shop) as client:
        assert '"serverInfo"' in client.begin()
        client.call("remember", content=WALRUS, category="fact")
        found = client.call("recall", query="How do I build the walrus?")
        assert found["memories"][0]["content"] == WALRUS
        assert client.call("memory_status")["project"] == PROJECT
        assert client.is_light
        assert client.resident_kb <= MOST_RESIDENT_KB, client.resident_kb
        client.input.close()
        assert client.process.wait(30) == 0


def test_relay_passes_the_question_for_roots_to_its_client(served: Served, shop: Path, tmp_path: Path) -> None:
    other = repository(tmp_path / "bank", remote="https://forge.example/team/bank.git")
    program, *arguments = command("serve", "--stdio", "--data-dir", str(served.data_dir))
    port = {"OPENCODE_MEMORY_PORT": str(urlsplit(served.url).port)}
    process = StdioServerParameters(command=program, args=arguments, cwd=shop, env=environment(served.home) | port)
    with connected(process, list_roots_callback=Roots(other)) as agent:
        assert agent.ok("memory_status").data["project"] == "forge.example/team/bank"


def test_client_goes_on_with_a_local_server_when_the_resident_one_is_killed(served: Served, shop: Path) -> None:
    with relayed(served, shop) as client:
        client.begin()
        client.call("remember", content=WALRUS, category="fact")
        assert client.is_light
        served.send(signal.SIGKILL)
        served.wait(30)
        assert served.wait_for_all(30), "its worker is still there"
        found = client.call("recall", query="How do I build the walrus?")
        assert found["memories"][0]["content"] == WALRUS
        client.input.close()
        assert client.process.wait(30) == 0


def test_process_with_other_settings_serves_its_client_itself(served: Served, shop: Path) -> None:
    with relayed(served, shop, "--tools", "core") as client:
        client.begin()
        client.call("recall", query="walrus")
        assert not client.is_light


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_signal_ends_the_relay_although_its_client_stays(served: Served, shop: Path, how: signal.Signals) -> None:
    with relayed(served, shop) as client:
        client.begin()
        assert client.is_light
        client.process.send_signal(how)
        assert client.process.wait(30) == 0
