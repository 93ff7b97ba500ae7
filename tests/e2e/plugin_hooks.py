"""Runs the plugin in OpenCode's runtime without OpenCode. Calls its hooks one by one and measures their time."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from e2e.plugged import Plugged

_SCRIPT = Path(__file__).with_name("hooks_of_plugin.ts")


@dataclass(frozen=True)
class Called:
    """Result of a hook.

    Attributes:
        ms: How long it took.
        input: Its input, as the hook left it.
        output: Its output, as the hook left it.
        failed: What it threw; None when it threw nothing.
    """

    ms: float
    input: Any
    output: Any
    failed: str | None


class Hooks:
    """The hooks of the plugin that is installed in a home.

    Args:
        plugged: The home.
        folder: The folder of the instance of OpenCode that it believes to be in.
    """

    def __init__(self, plugged: Plugged, folder: Path) -> None:
        self._plugged = plugged
        self._folder = folder
        self.loaded: dict[str, Any] = {}

    def __enter__(self) -> Self:
        self.process = subprocess.Popen(
            [self._plugged.opencode.binary, "run", _SCRIPT, self._plugged.plugin, self._folder],
            cwd=self._folder,
            env={**self._plugged.environment, "BUN_BE_BUN": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.loaded = self._heard()
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()

    def call(self, hook: str, input: Any = None, output: Any = None) -> Called:
        """Call a hook and wait for its end."""
        assert self.process.stdin is not None
        said = {"hook": hook, "input": input or {}, "output": output or {}}
        self.process.stdin.write(json.dumps(said) + "\n")
        self.process.stdin.flush()
        heard = self._heard()
        return Called(heard["ms"], heard.get("input"), heard.get("output"), heard.get("failed"))

    def send(self, session: str, *messages: dict[str, Any]) -> Called:
        """Have the messages of a session transformed for a request."""
        for message in messages:
            message["info"]["sessionID"] = session
        return self.call("experimental.chat.messages.transform", {}, {"messages": list(messages)})

    def _heard(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the plugin ended"
        heard: dict[str, Any] = json.loads(line)
        return heard


def user(id: str, text: str, **more: Any) -> dict[str, Any]:
    """A message of the user."""
    part = {"id": f"prt_{id}", "messageID": id, "type": "text", "text": text}
    return {"info": {"id": id, "role": "user", "agent": "build", **more}, "parts": [part]}


def texts(called: Called) -> list[list[str]]:
    """Return the texts of the messages, part by part."""
    return [[part["text"] for part in message["parts"]] for message in called.output["messages"]]
