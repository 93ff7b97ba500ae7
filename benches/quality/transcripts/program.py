"""Runs an installed ``opencode-memory`` in a home of its own, and measures its CPU time.

Wall time depends on the load of the machine, so only CPU seconds are reported.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

PROGRAM: Final = str(Path(sys.executable).with_name("opencode-memory"))
"""The program of the Python environment that runs the benchmark."""

_OWN_VARIABLES: Final = ("XDG_", "OPENCODE")


class ProgramError(Exception):
    """``opencode-memory`` failed; the message holds its last lines."""


@dataclass(frozen=True, slots=True)
class Run:
    """A finished run.

    Attributes:
        store: The data directory.
        cpu_seconds: CPU time of the process and its children, user and system.
        output: Standard output.
    """

    store: Path
    cpu_seconds: float
    output: str


def ingest(program: str, database: Path, work: Path) -> Run:
    """Learn from a database of OpenCode into the new store ``work/store``. An existing one is replaced.

    Raises:
        ProgramError: The program failed.
    """
    store = work / "store"
    if store.exists():
        shutil.rmtree(store)
    return run(program, store, ["ingest", "opencode", "--db", str(database)], home=work / "home")


def rehearse(program: str, database: Path, work: Path) -> Run:
    """Read a database of OpenCode without storing or embedding anything.

    Raises:
        ProgramError: The program failed.
    """
    arguments = ["ingest", "opencode", "--db", str(database), "--dry-run"]
    return run(program, work / "rehearsed", arguments, home=work / "home")


def relearn(program: str, old_store: Path, database: Path, work: Path) -> Run:
    """Judge the memories of an earlier version again, in the copy ``work/relearned``. An existing one is replaced.

    Args:
        program: Path of ``opencode-memory``.
        old_store: The data directory of the earlier version.
        database: The database of OpenCode that both versions learn from.
        work: Folder for the copy.

    Raises:
        ProgramError: The program failed.
    """
    store = work / "relearned"
    if store.exists():
        shutil.rmtree(store)
    shutil.copytree(old_store, store)
    return run(program, store, ["learning", "relearn", "--db", str(database), "--yes"], home=work / "home")


def run(program: str, store: Path, arguments: Sequence[str], *, home: Path) -> Run:
    """Run a command on a store.

    Args:
        program: Path of ``opencode-memory``.
        store: The data directory.
        arguments: The command and its arguments.
        home: Takes the place of the home folder, so that no configuration of the user is read.

    Raises:
        ProgramError: The program failed.
    """
    home.mkdir(parents=True, exist_ok=True)
    before = _cpu_seconds_of_children()
    done = subprocess.run(
        [program, "--data-dir", str(store), *arguments],
        env=isolate(os.environ, home),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise ProgramError(f"{program} {' '.join(arguments)} failed: {done.stderr.strip()[-2000:]}")
    return Run(store, _cpu_seconds_of_children() - before, done.stdout)


def isolate(environment: Mapping[str, str], home: Path) -> dict[str, str]:
    """Return an environment with another home folder and without the settings of OpenCode and this project."""
    kept = {name: value for name, value in environment.items() if not name.startswith(_OWN_VARIABLES)}
    folders = {"DATA": "data", "CONFIG": "config", "STATE": "state", "CACHE": "cache"}
    return kept | {"HOME": str(home)} | {f"XDG_{kind}_HOME": str(home / name) for kind, name in folders.items()}


def _cpu_seconds_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
