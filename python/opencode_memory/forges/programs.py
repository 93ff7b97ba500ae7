"""Asks ``gh`` and ``glab`` for the token of a host that the user has logged in to."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from opencode_memory.config.forge import ForgeKind, without_tokens

TokenFinder = Callable[[ForgeKind, str, Mapping[str, str]], str | None]

PROGRAMS: Final = MappingProxyType({ForgeKind.GITHUB: "gh", ForgeKind.GITLAB: "glab"})
_ARGUMENTS: Final = {
    ForgeKind.GITHUB: ("auth", "token", "--hostname={host}"),
    ForgeKind.GITLAB: ("config", "get", "token", "--host={host}"),
}
_SECONDS: Final = 10.0


def ask_program(kind: ForgeKind, host: str, environment: Mapping[str, str]) -> str | None:
    """Return the token that the program of a kind of forge has stored for a host; None if there is none.

    Args:
        kind: Kind of the forge.
        host: Its host.
        environment: Environment that has the programs in its ``PATH``.
    """
    program = shutil.which(PROGRAMS[kind], path=environment.get("PATH"))
    if program is None:
        return None
    arguments = tuple(argument.format(host=host) for argument in _ARGUMENTS[kind])
    try:
        done = subprocess.run(  # noqa: S603  a fixed program; the host is one argument with its option
            (program, *arguments),
            env=without_tokens(environment),
            # `glab` reads a configuration of the repository in its folder, which may be a stranger's.
            cwd="/",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode("ascii", errors="replace").strip() or None if done.returncode == 0 else None
