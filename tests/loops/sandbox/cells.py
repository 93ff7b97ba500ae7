"""Cells: sandboxed worktrees beside files that nobody inside may see or change, one for each engine and user.

The user `another` is not root, and has no privileges. Containers need an image, which `SANDBOX_IMAGE` names for podman
and docker; the test is skipped without it. `SANDBOX_USER` names the other user if it is not `nobody`, for example one
whose podman has the image.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import pytest

from loops.repositories import repository
from opencode_memory.config.sections import SandboxMode
from opencode_memory.loops.sandbox import Sandbox, SandboxError, choose_engine, write_loop_shell, write_shim
from opencode_memory.loops.sandbox.shell import VARIABLE
from opencode_memory.loops.worktree import create, find_repository

KINDS = ("bwrap", "bwrap another", "podman", "podman another", "docker")
_IMAGE = "SANDBOX_IMAGE"
_USER = "SANDBOX_USER"


@dataclass(frozen=True)
class Cell:
    """A sandboxed worktree.

    Attributes:
        engine: The engine.
        tree: The worktree.
        shop: The user's repository.
        outside: A folder with a secret.
        shim: The shell of OpenCode.
        shell: The shell of the loop.
        user: Arguments of `subprocess` that make the other user run a command; none for this user.
        environment: More variables.
    """

    engine: SandboxMode
    tree: Path
    shop: Path
    outside: Path
    shim: Path
    shell: Path
    user: Mapping[str, Any]
    environment: Mapping[str, str] = field(default_factory=dict)

    def run(self, command: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run a command as OpenCode does: the shell with ``-c``."""
        return subprocess.run(
            [self.shim, "-c", command],
            cwd=self.tree,
            env={**self._environment, "PROVIDER_KEY": "s3cret", **environment},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            **self.user,
        )

    def start(self, command: str, stdin: int | IO[str] | None = None) -> subprocess.Popen[str]:
        """Start a command in the same way."""
        return subprocess.Popen(
            [self.shim, "-c", command],
            cwd=self.tree,
            env=self._environment,
            stdin=stdin,
            stdout=subprocess.PIPE,
            text=True,
            **self.user,
        )

    @property
    def _environment(self) -> dict[str, str]:
        return {**os.environ, VARIABLE: str(self.shell), **self.environment}


@contextmanager
def make_cell(kind: str) -> Iterator[Cell]:
    """A cell of a kind; the test is skipped where the kind cannot be tried."""
    name, _, whose = kind.partition(" ")
    engine = SandboxMode(name)
    _require(engine, is_another=bool(whose))
    # The other user cannot enter the folders of pytest.
    with tempfile.TemporaryDirectory(prefix="cell-") as made:
        folder = Path(made)
        folder.chmod(0o755)
        cell = _build(engine, folder)
        if whose:
            other = pwd.getpwnam(os.environ.get(_USER, "nobody"))
            user = {"user": other.pw_uid, "group": other.pw_gid, "extra_groups": []}
            (folder / "run").mkdir(mode=0o700)
            environment = {
                "HOME": other.pw_dir,
                "XDG_RUNTIME_DIR": str(folder / "run"),
                "XDG_CONFIG_HOME": f"{other.pw_dir}/.config",
                "XDG_DATA_HOME": f"{other.pw_dir}/.local/share",
                "XDG_CACHE_HOME": f"{other.pw_dir}/.cache",
            }
            for path in (folder, *folder.rglob("*")):
                os.chown(path, other.pw_uid, other.pw_gid, follow_symlinks=False)
            cell = Cell(
                **{name: getattr(cell, name) for name in ("engine", "tree", "shop", "outside", "shim", "shell")},
                user=user,
                environment=environment,
            )
        yield cell


def _require(engine: SandboxMode, *, is_another: bool) -> None:
    if is_another and os.getuid() != 0:
        pytest.skip("only root can run commands as another user")
    if engine is not SandboxMode.BWRAP and _IMAGE not in os.environ:
        pytest.skip(f"{_IMAGE} names no image for {engine}")
    try:
        choose_engine(engine)
    except SandboxError as error:
        pytest.skip(f"this engine does not work on this machine: {error}")


def _build(engine: SandboxMode, folder: Path) -> Cell:
    shop = repository(folder / "shop", a_py="print(1)\n")
    outside = folder / "outside"
    outside.mkdir()
    (outside / "secret").write_text("s3cret")
    found = find_repository(shop)
    made = create(found, folder / "trees" / "one", "loop/one", base=found.head, takes_changes=False, copies=())
    sandbox = Sandbox(
        engine=engine,
        loop="0123abcd",
        worktree=made.path,
        common=made.common,
        network=False,
        image=os.environ.get(_IMAGE, ""),
    )
    shim, shell = write_shim(folder / "data"), write_loop_shell(folder / "data", sandbox)
    return Cell(engine, made.path, shop, outside, shim, shell, user={})


def containers(cell: Cell) -> list[str]:
    """The containers of the loop that are left."""
    if cell.engine is SandboxMode.BWRAP:
        return []
    program = shutil.which(cell.engine.value)
    assert program is not None
    listed = subprocess.run(
        [program, "ps", "--all", "--quiet", "--filter", "label=opencode-memory.loop=0123abcd"],
        cwd=cell.tree,
        env={**os.environ, **cell.environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        **cell.user,
    )
    found: list[str] = listed.stdout.split()
    return found
