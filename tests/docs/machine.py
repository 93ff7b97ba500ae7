"""A computer for documented commands: its own home folder, a repository, some memories, and no network."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

from opencode_memory.hosts.opencode.contract import TOKEN_FILE
from support.bridge import Plugin
from support.services import free_port

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
DIRECTIVE = "Run the linter before each commit."
PROCEDURE = "Deploys to production need ./scripts/deploy.sh: a deploy by hand skips the migrations."
QUESTION = "How do I deploy to production?"
SESSION = "ses_dfaa6a0eaffesvx4bojA644nnq"
MESSAGE = "msg_205595f56001CsA6bPtrlpobwM"
PATIENCE_SECONDS = 60
_NO_NETWORK = "http://127.0.0.1:9"


@dataclass(frozen=True)
class Machine:
    """A home folder with a repository ``shop`` in it.

    Attributes:
        home: Home folder. All files that a command may read or write are below it.
        port: Free port for the server.
    """

    home: Path
    port: int

    @classmethod
    def prepare(cls, home: Path) -> Machine:
        """Create a home folder with a repository, notes and OpenCode's database."""
        machine = cls(home, free_port())
        notes = machine.shop / "docs"
        notes.mkdir(parents=True)
        (notes / "release.md").write_text("# Release\n\nTag the commit, then run the release job.\n", encoding="utf-8")
        (machine.shop / "scripts").mkdir()
        database = home / "data" / "opencode" / "opencode.db"
        database.parent.mkdir(parents=True)
        shutil.copy(ROOT / "tests" / "data" / "opencode" / "first-engine.db", database)
        machine.ok("git init --quiet . && git remote add origin https://example.com/harbor/shop.git")
        return machine

    def copy(self, home: Path) -> Machine:
        """Return a copy of this machine in another folder, with another port."""
        shutil.copytree(self.home, home)
        return Machine(home, free_port())

    @property
    def shop(self) -> Path:
        """Repository in which commands run."""
        return self.home / "shop"

    @property
    def data_dir(self) -> Path:
        """Folder of the store."""
        return self.home / "data" / "opencode-memory" / "store"

    @property
    def environment(self) -> Mapping[str, str]:
        """Environment of commands. Nothing of the user who runs the tests is in it."""
        home = str(self.home)
        proxies = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), _NO_NETWORK)
        return {
            **proxies,
            "NO_PROXY": "127.0.0.1,localhost",
            "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])),
            "HOME": home,
            "XDG_DATA_HOME": f"{home}/data",
            "XDG_CONFIG_HOME": f"{home}/config",
            "XDG_CACHE_HOME": f"{home}/cache",
            "XDG_STATE_HOME": f"{home}/state",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_SYSTEM": os.devnull,
            "PIP_NO_INDEX": "1",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "OPENCODE_MEMORY_PORT": str(self.port),
            "COLUMNS": "100",
            "LANG": "C.UTF-8",
        }

    def run(self, script: str, *, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Run shell commands in the repository, or in another folder."""
        return subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script],
            cwd=folder or self.shop,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=PATIENCE_SECONDS,
            check=False,
        )

    def ok(self, script: str, *, folder: Path | None = None) -> str:
        """Run commands that have to succeed; returns their output."""
        ran = self.run(script, folder=folder)
        assert ran.returncode == 0, f"{script}\nexit code {ran.returncode}\n{ran.stdout}"
        return ran.stdout

    def remember(self, content: str, category: str, options: str = "") -> str:
        """Store a memory; returns its id."""
        out = self.ok(f"opencode-memory --json remember --category {category} {options} '{content}'")
        id_of_memory: str = json.loads(out)["id"]
        return id_of_memory

    @contextmanager
    def plugin(self) -> Iterator[Plugin]:
        """Start the server and connect as OpenCode's plugin does."""
        self.ok("opencode-memory serve --detach")
        try:
            token = (self.data_dir / TOKEN_FILE).read_text(encoding="ascii").strip()
            headers = {"Authorization": f"Bearer {token}"}
            with Plugin(f"http://127.0.0.1:{self.port}/mcp", self.shop, headers=headers) as plugin:
                yield plugin
        finally:
            self.stop_server()

    def health(self) -> Any:
        """Return the answer of the server's ``/health``; None if no server answers."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_SECONDS)
        try:
            connection.request("GET", "/health")
            return json.loads(connection.getresponse().read())
        except (OSError, HTTPException):
            return None
        finally:
            connection.close()

    def run_until_stopped(self, command: str, *, answers: bool) -> None:
        """Run a command that ends only on a signal, and stop it as Ctrl-C does.

        Args:
            command: The command.
            answers: Whether it is a server; then it is stopped as soon as it answers.
        """
        process = subprocess.Popen(
            ["bash", "-c", f"exec {command}"],
            cwd=self.shop,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            pause = threading.Event()
            while answers and self.health() is None and process.poll() is None:
                pause.wait(0.05)
            if not answers:
                # A worker says nothing when it is ready; it has survived its start if it runs after a second.
                with suppress(subprocess.TimeoutExpired):
                    process.wait(1)
            assert process.poll() is None, process.communicate()[0]
            process.send_signal(signal.SIGINT)
            out, _ = process.communicate(timeout=PATIENCE_SECONDS)
            assert "Traceback" not in out
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()

    def stop_server(self) -> None:
        """End a server that was started in the background, with its worker."""
        if (health := self.health()) is not None:
            with suppress(ProcessLookupError):
                os.killpg(health["pid"], signal.SIGKILL)


def normalize(text: str) -> str:
    """Replace ids of memories, ages and numbers of tokens, which differ between runs.

    A longer age leaves less room for the text after it, so truncated lines are compared by the beginning of that text.
    """
    text = re.sub(r"\b[0-9a-f]{8}\b", "ID", text)
    text = re.sub(r"\b\d+ tokens\b", "N tokens", text)
    # Ages are aligned to the right, so a short one beside a long one has more spaces before it.
    text = re.sub(
        r"( {2,})?\b(now|\d+ (?:s|min|h|d|mo|month|months) ago)\b", lambda age: "  AGE" if age[1] else "AGE", text
    )
    return re.sub(r"(?m)^(.*\bAGE\b.{40}).*…$", r"\1…", text)
