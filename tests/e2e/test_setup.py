"""`opencode-memory setup` in a fresh home, the real OpenCode with it, and the home as it was after `setup --undo`.

No registry is in reach here: an OpenCode that waited for npm would say in its log that it had tried.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest

from e2e.opencode import OpenCode
from e2e.plugged import Plugged, free_port, is_there, until
from e2e.scripted_model import ScriptedModel
from e2e.served import command
from support.trees import Tree, tree

PATIENCE_SECONDS = 60


@dataclass(frozen=True)
class Person:
    """A user with OpenCode and opencode-memory on a separate port."""

    opencode: OpenCode
    port: int

    @property
    def environment(self) -> Mapping[str, str]:
        return {**self.opencode.environment(self.opencode.home), "OPENCODE_MEMORY_PORT": str(self.port)}

    @property
    def configuration(self) -> Path:
        """OpenCode's folder of configuration."""
        return self.opencode.home / "config" / "opencode"

    @property
    def health(self) -> str:
        """Where a server would answer."""
        return f"http://127.0.0.1:{self.port}/health"

    def memory(self, folder: Path, *arguments: str) -> str:
        """Run a command of opencode-memory in a folder."""
        ran = subprocess.run(
            command(*arguments),
            cwd=folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
            check=False,
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return ran.stdout

    def files(self, project: Path) -> tuple[Tree, Tree]:
        """Return the files of the configuration and a project, without .git, where OpenCode stores the project's id."""
        found = {path: what for path, what in tree(project).items() if Path(path).parts[:1] != (".git",)}
        return tree(self.configuration), found

    def log(self) -> str:
        """Return the log of OpenCode."""
        folder = self.opencode.home / "data" / "opencode" / "log"
        return "\n".join(file.read_text() for file in sorted(folder.glob("*.log")))


@pytest.fixture
def person(opencode: OpenCode, model: ScriptedModel) -> Iterator[Person]:
    """A person with a configuration that they wrote by hand; a server that was started ends with the test."""
    person = Person(opencode, free_port())
    opencode.configure(model.url, stubbed=False)
    written = person.configuration / "opencode.json"
    commented = "// mine, in my order\n" + json.dumps(json.loads(written.read_text()), indent=2) + " // the end\n"
    (person.configuration / "opencode.jsonc").write_text(commented)
    written.unlink()
    yield person
    if is_there(person.health):
        # It leads a session of its own, with its worker in it.
        with suppress(ProcessLookupError):
            os.killpg(httpx2.get(person.health).json()["pid"], signal.SIGKILL)


def test_setup_gives_memory_and_undo_restores_all_files(person: Person, model: ScriptedModel, shop: Path) -> None:
    # As our own file of memories leaves it: OpenCode looks after this folder too.
    (shop / ".opencode").mkdir()
    (shop / ".opencode" / "MEMORY.md").write_text("# Memory\n")
    before = person.files(shop)

    person.memory(shop, "setup", "--agents", "code")
    installed = person.files(shop)
    assert person.memory(shop, "setup").startswith("Nothing to do")
    model.script("Good morning.")
    assert "Good morning." in person.opencode.session(shop, "Good morning.")

    [request] = model.requests
    assert "memory-findings" in request.tools
    until(lambda: is_there(person.health), "the plugin started no server")
    assert "dependency install failed" not in person.log()
    # OpenCode's own files in its configuration folders existed before.
    assert person.files(shop) == installed

    assert json.loads(person.memory(shop, "doctor", "--json"))["ok"] is True
    person.memory(shop, "setup", "--undo")
    assert person.files(shop) == before


def test_for_one_project_it_is_there_and_nowhere_else(
    person: Person, model: ScriptedModel, shop: Path, tmp_path: Path
) -> None:
    before = person.files(shop)
    person.memory(shop, "setup", "--project", "--tools", "plugin")
    status = subprocess.run(["git", "status", "--porcelain"], cwd=shop, capture_output=True, text=True, check=True)
    assert status.stdout == ""

    for folder, has_it in ((shop, True), (tmp_path, False)):
        model.script("Good morning.")
        person.opencode.session(folder, "Good morning.")
        [request] = model.requests
        assert ("memory-read" in request.tools) is has_it
    assert "dependency install failed" not in person.log()
    until(lambda: is_there(person.health), "the plugin started no server")

    person.memory(shop, "setup", "--project", "--undo")
    assert person.files(shop) == before


def test_first_session_has_tools_with_an_api_key(
    opencode_binary: Path, model: ScriptedModel, shop: Path, tmp_path: Path
) -> None:
    plugged = Plugged.set_up(
        opencode_binary, tmp_path / "plugged", model.url, starts=True, api_key="theirs-and-nobody-elses"
    )
    health = f"http://127.0.0.1:{plugged.port}/health"
    try:
        with plugged.running(shop) as instance:
            # OpenCode looked for the server before it was there. A server that comes after OpenCode's wait of two
            # seconds is connected with the next message.
            until(lambda: is_there(health), "the plugin started no server")
            model.script("Good morning.")
            instance.prompt(instance.session(), "Good morning.")
            until(lambda: instance.get("/mcp")["memory"]["status"] == "connected", "the tools never came")
    finally:
        if is_there(health):
            os.killpg(httpx2.get(health).json()["pid"], signal.SIGKILL)
