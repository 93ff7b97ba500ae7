"""The real OpenCode in its own home. It reads no files of the user, and reaches only the loopback interface."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MCP_NAME = "memory"
"""Name of the server in the configuration. OpenCode uses it as a prefix of the tools' names."""
_PATIENCE_SECONDS = 120
_PLUGIN_PACKAGE = "@opencode-ai/plugin"
_NOBODY = "http://127.0.0.1:9"


@dataclass(frozen=True)
class OpenCode:
    """An installation of OpenCode.

    Attributes:
        binary: The program.
        home: Folder for everything it reads and writes.
    """

    binary: Path
    home: Path

    def configure(
        self,
        model_url: str,
        mcp: dict[str, Any] | None = None,
        more: Mapping[str, Any] | None = None,
        *,
        stubbed: bool = True,
    ) -> None:
        """Write the configuration.

        Args:
            model_url: Where our model is.
            mcp: An MCP server.
            more: Whatever else a test needs.
            stubbed: Whether it looks as if the package of plugins was installed.
        """
        folder = self.config_file.parent
        folder.mkdir(parents=True, exist_ok=True)
        model = {"name": "Scripted", "tool_call": True, "limit": {"context": 200_000, "output": 8_000}}
        provider = {
            "npm": "@ai-sdk/openai-compatible",
            "options": {"baseURL": model_url, "apiKey": "none"},
            "models": {"scripted": model},
        }
        configuration = {
            "model": "scripted/scripted",
            "small_model": "scripted/scripted",
            "enabled_providers": ["scripted"],
            "provider": {"scripted": provider},
            **({"mcp": {MCP_NAME: mcp}} if mcp else {}),
            "autoupdate": False,
            "share": "disabled",
            **(more or {}),
        }
        self.config_file.write_text(json.dumps(configuration), encoding="utf-8")
        if not stubbed:
            return
        # It installs this package into each folder of configuration, unless it looks as if that had been done.
        needed = {"dependencies": {_PLUGIN_PACKAGE: "*"}}
        (folder / "node_modules").mkdir(exist_ok=True)
        (folder / "package.json").write_text(json.dumps(needed), encoding="utf-8")
        (folder / "package-lock.json").write_text(
            json.dumps({"lockfileVersion": 3, "packages": {"": needed}}), encoding="utf-8"
        )

    @property
    def config_file(self) -> Path:
        """Its configuration."""
        return self.home / "config" / "opencode" / "opencode.json"

    @property
    def database(self) -> Path:
        """Where it keeps its sessions."""
        return self.home / "data" / "opencode" / "opencode.db"

    def session(self, folder: Path, prompt: str, *, goes_on: bool = False, agent: str | None = None) -> str:
        """Run a session with one prompt in a folder, or continue the last one. Return the output."""
        begin = ["--continue"] if goes_on else ["--title", "A title"]
        begin += ["--agent", agent] if agent else []
        ran = subprocess.run(
            [self.binary, "run", *begin, prompt],
            cwd=folder,
            env=self.environment(folder),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_PATIENCE_SECONDS,
            check=False,
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return ran.stdout

    def environment(self, folder: Path) -> dict[str, str]:
        """Return the environment of OpenCode in a folder."""
        folders = {f"XDG_{kind}_HOME": str(self.home / kind.lower()) for kind in ("CONFIG", "DATA", "CACHE", "STATE")}
        switched_off = ("MODELS_FETCH", "AUTOUPDATE", "LSP_DOWNLOAD", "CLAUDE_CODE")
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "TMPDIR": str(self.home),
            # OpenCode prefers PWD to its real working directory.
            "PWD": str(folder),
            **folders,
            **{f"OPENCODE_DISABLE_{what}": "1" for what in switched_off},
            # Block all requests to other hosts.
            "HTTP_PROXY": _NOBODY,
            "HTTPS_PROXY": _NOBODY,
            "NO_PROXY": "127.0.0.1,localhost",
        }
