"""A home with OpenCode, the plugin and a server, for loops with a scripted model."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from e2e.plugged import MemoryServer, Plugged, until
from e2e.repositories import SHOP, repository
from e2e.scripted_model import ScriptedModel

CHECK = "python3 test.py"
TEST = "from calc import add\nassert add(2, 3) == 5, add(2, 3)\nprint('ok')\n"
WRONG = "def add(a, b):\n    return a - b\n"
RIGHT = "def add(a, b):\n    return a + b\n"
PATIENCE_SECONDS = 120.0


@dataclass
class World:
    """A home with OpenCode and the plugin, its server, and the scripted model."""

    plugged: Plugged
    model: ScriptedModel
    server: MemoryServer
    shop: Path

    @classmethod
    def make(cls, binary: Path, folder: Path, model: ScriptedModel, **settings: str) -> World:
        """Make a repository with a test that fails, and a home."""
        shop = repository(folder / "shop", remote=f"https://{SHOP}.git")
        (shop / "test.py").write_text(TEST)
        (shop / "calc.py").write_text("")
        git(shop, "add", "--all")
        git(shop, "-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "--quiet", "--message", "the test")
        plugged = Plugged.set_up(binary, folder / "home", model.url, starts=False, **settings)
        return cls(plugged, model, MemoryServer(plugged), shop)

    @classmethod
    @contextmanager
    def served(cls, binary: Path, folder: Path, **settings: str) -> Iterator[World]:
        """A world with a server that runs until the block ends."""
        with ScriptedModel() as model:
            made = cls.make(binary, folder, model, learning_sources="live", **settings)
            with made.server:
                yield made

    def start_loop(self, *options: str, text: str = "Make the test succeed", check: str = CHECK) -> str:
        """Start a loop that makes the test of the shop succeed; returns its name."""
        said = self.plugged.memory("loop", "start", text, "--check", check, "--json", *options, folder=self.shop)
        name: str = json.loads(said)["loop"]["name"]
        return name

    def loop(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.plugged.memory("loop", "show", name, "--json", folder=self.shop))
        return found

    def until_state(self, name: str, *states: str) -> dict[str, Any]:
        """Wait until a loop is in one of these states; returns it with its steps."""
        found: dict[str, Any] = {}

        def has_come() -> bool:
            nonlocal found
            found = self.loop(name)
            return found["loop"]["state"] in states

        until(has_come, f"the loop never became {states}", seconds=PATIENCE_SECONDS)
        return found

    def listed(self) -> list[dict[str, Any]]:
        said = self.plugged.memory("loop", "list", "--all", "--json", folder=self.shop, may_be_nothing=True)
        loops: list[dict[str, Any]] = json.loads(said)["loops"]
        return loops

    def git(self, *arguments: str) -> str:
        return git(self.shop, *arguments)


def assert_sent_once(world: World, found: dict[str, Any]) -> None:
    """Check that no session has its prompt twice, in any request to the model."""
    prompts = [step["prompt"] for step in found["steps"] if step["prompt"]]
    for prompt in prompts:
        counts = [request.users.count(prompt) for request in world.model.requests]
        assert set(counts) <= {0, 1}, prompt
        assert 1 in counts, prompt
    sessions = [step["session"] for step in found["steps"] if step["session"]]
    assert len(set(sessions)) == len(sessions) == len(prompts)


def git(folder: Path, *arguments: str) -> str:
    ran = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=True, timeout=30)
    return ran.stdout.strip()


def write(content: str) -> tuple[str, dict[str, Any]]:
    return ("write", {"filePath": "calc.py", "content": content})


def report(text: str, **more: str) -> tuple[str, dict[str, Any]]:
    return ("memory-loop-report", {"text": text, **more})


def code(content: str, said: str = "I wrote it.") -> tuple[Any, ...]:
    """A coding turn."""
    return (write(content), report(said), "COMPLETE! All tests pass. <promise>DONE</promise>")


def audit(verdict: str) -> tuple[Any, ...]:
    """An audit's turn."""
    return (report("I read it.", verdict=verdict), "The audit is done.")
