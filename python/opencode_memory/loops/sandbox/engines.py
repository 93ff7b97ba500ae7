"""Engines of the sandbox, as the arguments in front of a command.

``bwrap`` needs no image and leaves no process between two commands. Containers are made for one command and removed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from opencode_memory.config.load import environment
from opencode_memory.config.sections import SandboxMode
from opencode_memory.errors import OpencodeMemoryError

LABEL: Final = "opencode-memory.loop"
_LOOK_SECONDS: Final = 20.0
_MOST_PROCESSES: Final = 1024
_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_KEPT: Final = ("LANG", "LC_ALL", "TERM", "TZ", "COLORTERM", "NO_COLOR", "CI")
# Programs need these to run at all. Other files of /etc may hold secrets.
_ETC: Final = (
    "alternatives",
    "ca-certificates",
    "group",
    "hosts",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "localtime",
    "mime.types",
    "nsswitch.conf",
    "passwd",
    "pki",
    "profile",
    "protocols",
    "services",
    "ssl",
    "terminfo",
)
_CONFIGURATION: Final = (".opencode", "opencode.json", "opencode.jsonc")
"""Files in a worktree from which OpenCode on this machine runs code."""


class SandboxError(OpencodeMemoryError):
    """The configured sandbox does not work here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sandbox:
    """What a command may see.

    Attributes:
        engine: ``bwrap``, ``podman`` or ``docker``.
        loop: Id of the loop.
        worktree: The folder in which it works, writable except for git's files.
        common: The folder of git that all worktrees share, read-only.
        network: Whether the network can be used.
        image: Image of a container.
        folders: More folders, read-only, for example of a toolchain.
    """

    engine: SandboxMode
    loop: str
    worktree: Path
    common: Path
    network: bool
    image: str
    folders: tuple[Path, ...] = ()


def choose_engine(mode: SandboxMode) -> SandboxMode:
    """Return the engine for a mode; ``auto`` is the first one that works here.

    Raises:
        SandboxError: It does not work here.
    """
    if mode is SandboxMode.OFF:
        return mode
    wanted = (SandboxMode.BWRAP, SandboxMode.PODMAN, SandboxMode.DOCKER) if mode is SandboxMode.AUTO else (mode,)
    problems = []
    for engine in wanted:
        problem = _find_problem(engine)
        if problem is None:
            return engine
        problems.append(f"{engine}: {problem}")
    error = SandboxError(f"sandbox.mode is {mode}, but no engine works here ({'; '.join(problems)})")
    error.hint = "install bubblewrap, or run: opencode-memory config set sandbox.mode off"
    raise error


def wrap(sandbox: Sandbox, folder: Path) -> tuple[str, ...]:
    """Return the arguments in front of a command that runs in a folder of the worktree."""
    if sandbox.engine is SandboxMode.BWRAP:
        return tuple(_bwrap(sandbox, folder))
    return tuple(_container(sandbox, folder))


def remove_containers(engine: SandboxMode, loop: str) -> None:
    """Remove the containers of a loop that an interrupted command has left."""
    if engine not in {SandboxMode.PODMAN, SandboxMode.DOCKER}:
        return
    listed = _run(engine.value, "ps", "--all", "--quiet", "--filter", f"label={LABEL}={loop}")
    names = listed.stdout.split() if listed is not None else []
    if names:
        _run(engine.value, "rm", "--force", *names)


def _bwrap(sandbox: Sandbox, folder: Path) -> Iterator[str]:
    tree, common = str(sandbox.worktree), str(sandbox.common)
    # The engine is the first process inside, and its environment can be read there. So it starts with an empty one.
    yield from ("env", "-i", f"PATH={_PATH}")
    yield from ("bwrap", "--die-with-parent", "--unshare-all", "--new-session", "--cap-drop", "ALL", "--clearenv")
    if sandbox.network:
        yield from ("--share-net", "--ro-bind-try", "/etc/resolv.conf", "/etc/resolv.conf")
    yield from ("--ro-bind", "/usr", "/usr", "--ro-bind-try", "/opt", "/opt")
    for name in ("bin", "sbin", "lib", "lib32", "lib64", "libx32"):
        yield from _root_folder(Path("/") / name)
    for name in _ETC:
        yield from ("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")
    yield from ("--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--dir", "/tmp/home")  # noqa: S108  inside
    for more in sandbox.folders:
        yield from ("--ro-bind-try", str(more), str(more))
    yield from ("--bind", tree, tree, "--ro-bind", common, common, "--ro-bind-try", f"{tree}/.git", f"{tree}/.git")
    for name in _CONFIGURATION:
        yield from ("--ro-bind-try", f"{tree}/{name}", f"{tree}/{name}")
    for name, value in _variables().items():
        yield from ("--setenv", name, value)
    yield from ("--chdir", str(folder), "--")


def _root_folder(folder: Path) -> Iterator[str]:
    """Yield how a folder such as ``/bin`` gets into the sandbox: as the link that it is, or as a folder."""
    if folder.is_symlink():
        yield from ("--symlink", str(folder.readlink()), str(folder))
    elif folder.is_dir():
        yield from ("--ro-bind", str(folder), str(folder))


def _container(sandbox: Sandbox, folder: Path) -> Iterator[str]:
    tree, common = str(sandbox.worktree), str(sandbox.common)
    yield from (sandbox.engine.value, "run", "--rm", "--init", "--interactive", "--pull=never")
    yield from ("--label", f"{LABEL}={sandbox.loop}")
    yield f"--network={'bridge' if sandbox.network else 'none'}"
    yield from ("--cap-drop=ALL", "--security-opt=no-new-privileges", f"--pids-limit={_MOST_PROCESSES}")
    # The first user inside podman is the user who runs it, so files that it makes belong to that user.
    if sandbox.engine is SandboxMode.DOCKER:
        yield f"--user={os.getuid()}:{os.getgid()}"
    yield from ("--volume", f"{tree}:{tree}", "--volume", f"{common}:{common}:ro")
    for name in (".git", *_CONFIGURATION):
        if os.path.lexists(f"{tree}/{name}"):
            yield from ("--volume", f"{tree}/{name}:{tree}/{name}:ro")
    for more in sandbox.folders:
        yield from ("--volume", f"{more}:{more}:ro")
    for name, value in _variables().items():
        if name != "PATH":
            yield from ("--env", f"{name}={value}")
    yield from ("--workdir", str(folder), sandbox.image)


def _variables() -> dict[str, str]:
    """Return the environment inside: nothing of OpenCode's, because it holds keys."""
    kept = {name: value for name, value in environment().items() if name in _KEPT}
    return {**kept, "PATH": _PATH, "HOME": "/tmp/home", "GIT_OPTIONAL_LOCKS": "0"}  # noqa: S108  inside


def _find_problem(engine: SandboxMode) -> str | None:
    """Return why an engine does not work here; None if it does."""
    if shutil.which(engine.value) is None:
        return "not installed"
    tries: dict[SandboxMode, Callable[[], subprocess.CompletedProcess[str] | None]] = {
        SandboxMode.BWRAP: lambda: _run("bwrap", "--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "true"),
        SandboxMode.PODMAN: lambda: _run("podman", "info", "--format", "{{.Host.Arch}}"),
        SandboxMode.DOCKER: lambda: _run("docker", "info", "--format", "{{.Architecture}}"),
    }
    ran = tries[engine]()
    if ran is None:
        return "it does not answer"
    lines = ran.stderr.strip().splitlines()
    return None if ran.returncode == 0 else (lines[-1][:200] if lines else f"exit code {ran.returncode}")


def _run(*arguments: str) -> subprocess.CompletedProcess[str] | None:
    try:
        return subprocess.run(  # noqa: S603  an engine, with arguments of our own
            arguments, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_LOOK_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
