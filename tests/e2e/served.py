"""``opencode-memory serve`` as a separate process, as the user or a service starts it."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Self

_PATIENCE_SECONDS = 60
_READY = re.compile(r"serves (http://\S+/mcp)")


def command(*arguments: str) -> list[str]:
    """The command line of the program that was installed beside this Python."""
    program = shutil.which("opencode-memory", path=str(Path(sys.executable).parent))
    assert program is not None, "opencode-memory is not installed; run `make dev` or `pip install .`"
    return [program, *arguments]


def environment(home: Path) -> dict[str, str]:
    """Return an environment with only a PATH and a home."""
    return {"PATH": os.environ["PATH"], "HOME": str(home)}


class Served:
    """A resident server on a free port; it ends with the block, if it has not ended before.

    Args:
        home: Home folder. The server starts there, so its working directory is in no repository.
        options: Further options of ``serve``.
        configuration: Text of the configuration file; empty for no file.
    """

    def __init__(self, home: Path, *options: str, configuration: str = "") -> None:
        home.mkdir(exist_ok=True)
        if configuration:
            file = home / ".config" / "opencode-memory" / "memory.toml"
            file.parent.mkdir(parents=True)
            file.write_text(configuration, encoding="utf-8")
        self.home = home
        self.data_dir = home / "store"
        self.said: list[str] = []
        self._url = ""
        self._ready = threading.Event()
        self._process = subprocess.Popen(
            command("serve", "--port", "0", "--data-dir", str(self.data_dir), *options),
            cwd=home,
            env=environment(home),
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            # A separate process group, so that a failing test leaves no process behind.
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read)

    def __enter__(self) -> Self:
        self._reader.start()
        assert self._ready.wait(_PATIENCE_SECONDS), self.said
        assert self._url, self.said
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._reader.join()
        assert self._process.stderr is not None
        self._process.stderr.close()

    @property
    def url(self) -> str:
        """The address of ``/mcp``."""
        return self._url

    def route(self, path: str) -> str:
        """The address of another route."""
        return self._url.removesuffix("/mcp") + path

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the server."""
        self._process.send_signal(number)

    def wait(self, seconds: float) -> int:
        """Wait for its end and return its exit code."""
        return self._process.wait(seconds)

    def wait_for_all(self, seconds: float) -> bool:
        """Wait until all processes of the server have ended. They share one stream, which ends with the last process."""
        self._reader.join(seconds)
        return not self._reader.is_alive()

    def _read(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self.said.append(line)
            if found := _READY.search(line):
                self._url = found[1]
                self._ready.set()
        # Wake up a caller that waits for a server that has died.
        self._ready.set()
