"""OpenCode with our plugin, as after `opencode-memory setup`, in one home."""

from __future__ import annotations

import copy
import json
import os
import signal
import socket
import subprocess
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import httpx2

from e2e.opencode import OpenCode
from e2e.served import command

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_PATIENCE_SECONDS = 90.0
_PAUSE_SECONDS = 0.05


@dataclass(frozen=True)
class Plugged:
    """A home with OpenCode and opencode-memory.

    Attributes:
        opencode: OpenCode, configured.
        port: Port of the memory server, if it runs.
        settings: Settings of opencode-memory, by environment variable.
    """

    opencode: OpenCode
    port: int
    settings: Mapping[str, str]

    @classmethod
    def set_up(
        cls, binary: Path, home: Path, model_url: str, *options: str, starts: bool = False, **settings: str
    ) -> Self:
        """Create a home and run `opencode-memory setup` in it.

        Args:
            binary: OpenCode.
            home: Folder of the home.
            model_url: Address of the model for OpenCode.
            options: Options of `setup`.
            starts: Whether the plugin may start the server, which would outlive the test.
            settings: Settings of opencode-memory, by name.
        """
        home.mkdir()
        opencode = OpenCode(binary, home)
        opencode.configure(model_url, stubbed=False)
        named = {f"OPENCODE_MEMORY_{name.upper()}": value for name, value in settings.items()}
        plugged = cls(opencode, free_port(), named)
        plugged.memory("setup", *options)
        if not starts:
            written = json.loads(plugged.manifest.read_text())
            plugged.manifest.write_text(json.dumps(written | {"start": []}))
        return plugged

    @property
    def manifest(self) -> Path:
        """The manifest of the plugin."""
        return self.opencode.home / "config" / "opencode" / "plugin" / "opencode-memory.json"

    @property
    def plugin(self) -> Path:
        """The plugin, where it was installed."""
        return self.manifest.with_suffix(".ts")

    @property
    def environment(self) -> dict[str, str]:
        """Environment of the programs in this home."""
        return {
            **self.opencode.environment(self.opencode.home),
            "OPENCODE_MEMORY_PORT": str(self.port),
            **self.settings,
        }

    @property
    def data_dir(self) -> Path:
        """The store."""
        return self.opencode.home / "data" / "opencode-memory" / "store"

    def memory(self, *arguments: str, folder: Path | None = None, may_be_nothing: bool = False) -> str:
        """Run a command of opencode-memory and return its output."""
        ran = subprocess.run(
            command(*arguments),
            cwd=folder or self.opencode.home,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_PATIENCE_SECONDS,
            check=False,
        )
        assert ran.returncode in ((0, 1) if may_be_nothing else (0,)), ran.stdout + ran.stderr
        return ran.stdout

    def listed(self, folder: Path) -> list[dict[str, Any]]:
        """Return the memories that the user sees in a folder."""
        said = self.memory("list", "--json", folder=folder, may_be_nothing=True)
        memories: list[dict[str, Any]] = json.loads(said)["memories"]
        return memories

    def remember(self, folder: Path, content: str, category: str = "fact", *options: str) -> str:
        """Remember something in the project of a folder; returns its id."""
        said = self.memory("remember", "--json", "--category", category, *options, content, folder=folder)
        id: str = json.loads(said)["id"]
        return id

    def why(self, session: str) -> list[dict[str, Any]]:
        """Return the decisions of a session."""
        decisions: list[dict[str, Any]] = json.loads(self.memory("why", "--json", session))["decisions"]
        return decisions

    @contextmanager
    def served(self) -> Iterator[MemoryServer]:
        """The server of the memory, until the block ends."""
        with MemoryServer(self) as server:
            yield server

    @contextmanager
    def running(self, folder: Path, **more: str) -> Iterator[Instance]:
        """`opencode serve` in a folder, until the block ends."""
        with Instance(self, folder, more) as instance:
            yield instance


class MemoryServer:
    """`opencode-memory serve` of a home."""

    def __init__(self, plugged: Plugged) -> None:
        self._plugged = plugged
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    @property
    def pid(self) -> int | None:
        """Its process id; None before it is started."""
        return None if self._process is None else self._process.pid

    @property
    def log(self) -> Path:
        """The log of the server."""
        return self._plugged.opencode.home / "server.log"

    @property
    def route(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self._plugged.port}"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                command("serve"),
                cwd=self._plugged.opencode.home,
                env=self._plugged.environment,
                stdin=subprocess.DEVNULL,
                stderr=log,
                start_new_session=True,
            )
        until(lambda: is_there(self.route + "/health"), f"the server never answered: {self.log}")

    def kill(self) -> None:
        """SIGKILL to it and to its worker."""
        self.signal(signal.SIGKILL)
        if self._process is not None:
            self._process.wait()

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to it and to its worker."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)

    def until_warm(self, plugins: int = 1) -> None:
        """Wait until so many plugins are connected, and will be answered quickly."""

        def are_there() -> bool:
            answer = httpx2.get(self.route + "/stats", timeout=5)
            return bool(answer.json()["plugins"] >= plugins)

        until(are_there, "no plugin ever came")


class Instance:
    """An `opencode serve`, and its API."""

    def __init__(self, plugged: Plugged, folder: Path, more: Mapping[str, str], *, asks_config: bool = True) -> None:
        self._plugged = plugged
        self._asks_config = asks_config
        self.folder = folder
        self._port = free_port()
        self._more = dict(more)
        self._client = httpx2.Client(base_url=f"http://127.0.0.1:{self._port}", timeout=_PATIENCE_SECONDS)

    def __enter__(self) -> Self:
        self.process = subprocess.Popen(
            [self._plugged.opencode.binary, "serve", "--hostname", "127.0.0.1", "--port", str(self._port)],
            cwd=self.folder,
            env={**self._plugged.environment, "PWD": str(self.folder), **self._more},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        until(lambda: is_there(f"{self._client.base_url}/global/health"), "OpenCode never answered")
        # A folder's plugins are loaded when it is first asked for.
        if self._asks_config:
            self.get("/config")
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            with suppress(httpx2.TransportError):
                self._client.post("/global/dispose", timeout=10)
        self._client.close()
        self.kill()

    def kill(self) -> None:
        """SIGKILL to it and to all that it has started in its group."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def get(self, path: str) -> Any:
        """Read a route."""
        return self._answered(self._client.get(path, params={"directory": str(self.folder)}))

    def post(self, path: str, body: Any = None) -> Any:
        """Call a route."""
        return self._answered(self._client.post(path, params={"directory": str(self.folder)}, json=body or {}))

    def at(self, folder: Path) -> Instance:
        """The same process in another folder."""
        other = copy.copy(self)
        other.folder = folder
        return other

    def session(self, title: str | None = "A title", **more: Any) -> str:
        """Begin a session; one without a title asks the model for one."""
        named = {} if title is None else {"title": title}
        id: str = self.post("/session", {**named, **more})["id"]
        return id

    def prompt(self, session: str, text: str, **more: Any) -> str:
        """Send a message, wait for the end of the turn, and return the answer."""
        answer = self.post(f"/session/{session}/message", {"parts": [{"type": "text", "text": text}], **more})
        assert "error" not in answer["info"], answer["info"]["error"]
        return "\n".join(part["text"] for part in answer["parts"] if part["type"] == "text")

    def command(self, session: str, name: str, arguments: str = "") -> str:
        """Run a slash command."""
        answer = self.post(f"/session/{session}/command", {"command": name, "arguments": arguments})
        return "\n".join(part["text"] for part in answer["parts"] if part["type"] == "text")

    def compact(self, session: str) -> None:
        """Have a session compacted."""
        self.post(f"/session/{session}/summarize", {"providerID": "scripted", "modelID": "scripted"})

    @staticmethod
    def _answered(answer: httpx2.Response) -> Any:
        assert answer.status_code < 300, (answer.status_code, answer.text)
        return answer.json() if answer.content else None


def until(condition: Any, otherwise: str, seconds: float = _PATIENCE_SECONDS) -> None:
    """Poll until something is true."""
    pause = threading.Event()
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, otherwise
        pause.wait(_PAUSE_SECONDS)


def is_there(address: str) -> bool:
    """Whether something answers; a request to OpenCode while it starts may never be answered."""
    with suppress(httpx2.TransportError):
        return httpx2.get(address, timeout=2).status_code < 500
    return False


def free_port() -> int:
    """Return a free port."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port
