"""Keeps the server running on Windows, as a program that the Task Scheduler starts.

A task of Windows cannot set variables, is not started again when its program fails, and would show a window. So the
task starts this module without a window. The module starts the server with its variables, starts it again after a
failure, and the system ends the server together with this module.

    pythonw -P -m opencode_memory.service.keeper FILE

``FILE`` is the file of the task. The files beside it are the lock and the log of this module.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from opencode_memory.config.load import environment
from opencode_memory.config.setting import PREFIX
from opencode_memory.platform import system
from opencode_memory.service.keeper_lock import hold_lock
from opencode_memory.service.launch import Launch
from opencode_memory.service.task_file import LOG_FILE, parse

_PAUSE_SECONDS: Final = 5.0
_MOST_FAILURES: Final = 10
_FAILURES_SECONDS: Final = 600.0
_NO_INSTANCE: Final = 1

Start = Callable[[Launch, Callable[[int], None]], int]


def keep(
    launch: Launch,
    folder: Path,
    *,
    start: Start,
    pause: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> int:
    """Run the server until it ends by itself, and start it again after a failure, but not for ever.

    Args:
        launch: Command line and variables of the server.
        folder: The folder of the lock, which must exist.
        start: Runs the server, reports its process id, and returns its exit code.
        pause: Waits for a number of seconds.
        clock: Returns the time in seconds.

    Returns:
        The last exit code of the server; 1 if another keeper runs.
    """
    with hold_lock(folder, pause) as report:
        if report is None:
            return _NO_INSTANCE
        failures: list[float] = []
        while (code := start(launch, report)) != 0:
            report(None)
            now = clock()
            failures = [*(at for at in failures if now - at < _FAILURES_SECONDS), now]
            # For example, the port may be in use. Without a limit, the failures would fill the log.
            if len(failures) == _MOST_FAILURES:
                break
            pause(_PAUSE_SECONDS)
        return code


def start_server(launch: Launch, report: Callable[[int], None], *, log: Path) -> int:
    """Run the server to its end and return its exit code. Its output before it opens its own log goes to ``log``."""
    with log.open("ab") as out:
        try:
            process = subprocess.Popen(  # noqa: S603  our own program
                launch.arguments,
                cwd=Path.home(),
                env=_build_environment(environment(), launch.environment),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                creationflags=system().detached_flags,
            )
        except OSError as error:
            out.write(f"cannot start {launch.arguments[0]}: {error.strerror or error}\n".encode())
            return _NO_INSTANCE
        report(process.pid)
        return process.wait()


def _build_environment(own: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    # The installation assumes that a service sees no setting but those of its file. See ``plan_launch``.
    kept = {name: text for name, text in own.items() if name != "HOME" and not name.startswith((PREFIX, "XDG_"))}
    return {**kept, **given}


def main(arguments: Sequence[str]) -> int:
    """Keep the server of a task running; return its last exit code."""
    file = Path(arguments[0])
    system().bind_children()
    log = file.parent / LOG_FILE
    launch = parse(file.read_text(encoding="ascii"))
    return keep(launch, file.parent, start=lambda launch, report: start_server(launch, report, log=log))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
