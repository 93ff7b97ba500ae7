"""The shell of OpenCode: one file for all sessions, and one for each loop with a sandbox.

OpenCode runs the first one for every command. In a session of a loop, the plugin names the loop's file in its
environment. Without that file nothing runs.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Final

from opencode_memory.config.sections import SandboxMode
from opencode_memory.files.atomic import write_atomically
from opencode_memory.loops.sandbox.engines import Sandbox, wrap

VARIABLE: Final = "OPENCODE_MEMORY_LOOP_SHELL"
"""Names the file of the loop."""
OWN_VARIABLE: Final = "OPENCODE_MEMORY_OWN_SHELL"
"""Names the user's own shell, for sessions without a sandbox."""
_CLOSED: Final = 125
_PRIVATE_PROGRAM: Final = 0o700
# OpenCode tells the model the name of the file, so the file is called bash.
_SHIM: Final = f"""\
#!/bin/sh
if [ -z "${{{VARIABLE}:-}}" ]; then exec "${{{OWN_VARIABLE}:-${{SHELL:-/bin/bash}}}}" "$@"; fi
if [ ! -x "${VARIABLE}" ]; then echo "the sandbox of the loop is not there, so nothing was run" >&2; exit {_CLOSED}; fi
exec "${VARIABLE}" "$@"
"""
# A container outlives the client that started it. So it has a name, and is removed when OpenCode ends the command.
_CONTAINER: Final = """\
#!/bin/sh
name="ocm-{loop}-$$"
end() {{ {engine} rm --force "$name" >/dev/null 2>&1; exit 143; }}
trap end TERM INT HUP
# A command in the background would have no input of its own.
exec 3<&0
{before} --name "$name" --workdir "$PWD" {after} bash "$@" <&3 3<&- &
wait $!
"""
_DIRECT: Final = """\
#!/bin/sh
exec {before} --chdir "$PWD" -- bash "$@"
"""


def write_shim(data_dir: Path) -> Path:
    """Write the shell for all sessions, and return its path."""
    return _write(data_dir / "shell" / "bash", _SHIM)


def loop_shell(data_dir: Path, loop: str) -> Path:
    """Return the path of a loop's shell."""
    return data_dir / "loops" / loop / "bash"


def write_loop_shell(data_dir: Path, sandbox: Sandbox) -> Path:
    """Write the shell of a loop, and return its path. It runs commands in the folder in which it is started."""
    arguments = list(wrap(sandbox, sandbox.worktree))
    if sandbox.engine is SandboxMode.BWRAP:
        text = _DIRECT.format(before=shlex.join(arguments[: arguments.index("--chdir")]))
    else:
        place = arguments.index("--workdir")
        text = _CONTAINER.format(
            loop=sandbox.loop,
            engine=sandbox.engine.value,
            before=shlex.join(arguments[:place]),
            after=shlex.join(arguments[place + 2 :]),
        )
    return _write(loop_shell(data_dir, sandbox.loop), text)


def _write(path: Path, text: str) -> Path:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_atomically(path, text.encode(), mode=_PRIVATE_PROGRAM)
    return path
