"""A client with a server of its own: another process on the same store, which a test may kill at any time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benches.soak.client import RefusedError, Reply, UnknownOutcomeError


class StdioClient:
    """Calls tools of ``serve --stdio``. A server that ended is started again by the next call.

    Args:
        folder: The folder that the client works in.
        environment: Environment of the server.
    """

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self._folder = folder
        self._environment = dict(environment)
        self._process: subprocess.Popen[str] | None = None

    def call(self, tool: str, /, **arguments: Any) -> Reply:
        """Call a tool.

        Raises:
            UnknownOutcomeError: The server ended before it answered.
            RefusedError: The tool failed.
        """
        try:
            if self._process is None:
                self._start()
            result = self._ask("tools/call", {"name": tool, "arguments": arguments})
        except (OSError, ValueError, KeyError) as error:
            self.close()
            raise UnknownOutcomeError(f"{type(error).__name__}: {error}") from error
        text = "".join(block.get("text", "") for block in result["content"])
        if result.get("isError"):
            raise RefusedError(text)
        return Reply(text, result.get("structuredContent") or {})

    def kill(self) -> None:
        """Kill the server with SIGKILL."""
        process = self._process
        if process is not None:
            process.kill()

    def close(self) -> None:
        """Kill the server and wait for its end; the next call starts another one."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()

    def _start(self) -> None:
        command = [sys.executable, "-m", "opencode_memory.cli", "serve", "--stdio"]
        environment = {"PATH": os.environ["PATH"], "OPENCODE_MEMORY_SERVER_DELEGATE": "false", **self._environment}
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            command, cwd=self._folder, env=environment, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True
        )
        who = {"name": "historian", "version": "1"}
        self._ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": who})
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def _ask(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        self._send({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        assert self._process is not None
        assert self._process.stdout is not None
        for line in self._process.stdout:
            message = json.loads(line)
            if message.get("id") == 1 and "method" not in message:
                result: dict[str, Any] = message["result"]
                return result
        raise OSError("the server ended")

    def _send(self, message: Mapping[str, Any]) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()
