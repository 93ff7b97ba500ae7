"""Fetch the programs of other people that the end-to-end tests run, and print where they are.

::

    python scripts/install_third_party.py               # everything
    python scripts/install_third_party.py opencode      # the OpenCode binary alone
    python scripts/install_third_party.py node-tools    # the MCP inspector, the conformance suite, and a Node.js for both
    python scripts/install_third_party.py plugin-tools  # what checks and formats the plugin in OpenCode

All of it comes from the npm registry by the ``npm`` command, at one version each: ``tests/e2e/third_party/`` and
``tests/e2e/plugin_tools/`` hold lock files with the hashes, and those of OpenCode are below. It lands in
``.cache/third_party/``, a folder for each version; what is there already is not fetched again. No package's own install
script runs.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
CACHE: Final = ROOT / ".cache" / "third_party"
LOCKED: Final = ROOT / "tests" / "e2e" / "third_party"
PLUGIN_LOCKED: Final = ROOT / "tests" / "e2e" / "plugin_tools"

OPENCODE: Final = "1.18.33"
OPENCODE_INTEGRITY: Final = MappingProxyType(
    {
        "opencode-linux-x64": (
            "sha512-q/t/3p2CTxOT9y2kvjesb/LZab2+1eqlhhWA02Be6mjTtmYtNBcBsrI5yDo4Fw7ZSPBW2oyMIGMNRqiKQjiAWw=="
        ),
        "opencode-linux-x64-baseline": (
            "sha512-1KQGBiiDDeL/VHHbHkOvvFo8Jr97WT5+C1tear+p7IcDTnXgVHXqIjU4O4jM4mHQzykTP2i884FCnW5LDa+zCA=="
        ),
    }
)
"""Of the packages that were run; those of other machines are taken as the registry gives them."""

_NPM: Final = ("--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")


class InstallError(Exception):
    """Something could not be fetched; the message says what, why, and what to look at."""


def install_opencode() -> Path:
    """Return the OpenCode binary for this machine.

    Raises:
        InstallError: It cannot be had.
    """
    package = opencode_package(platform.system(), platform.machine(), _cpu_flags())

    def fetch(folder: Path) -> None:
        _npm(folder, "install", f"{package}@{OPENCODE}")
        locked = json.loads((folder / "node_modules" / ".package-lock.json").read_text(encoding="utf-8"))
        found = locked["packages"][f"node_modules/{package}"]["integrity"]
        if found != OPENCODE_INTEGRITY.get(package, found):
            raise InstallError(f"{package}@{OPENCODE} is not the one that is known: its hash is {found}")

    return _once(CACHE / f"{package}-{OPENCODE}", fetch) / "node_modules" / package / "bin" / "opencode"


def opencode_package(system: str, machine: str, cpu_flags: str) -> str:
    """Return the name of the npm package that holds the binary.

    Args:
        system: As ``platform.system`` says it.
        machine: As ``platform.machine`` says it.
        cpu_flags: What the processor can do; the ordinary x64 binary needs AVX2.

    Raises:
        InstallError: There is none for this machine.
    """
    systems = {"Linux": "linux", "Darwin": "darwin"}
    machines = {"x86_64": "x64", "aarch64": "arm64", "arm64": "arm64"}
    if system not in systems or machine not in machines:
        raise InstallError(f"OpenCode is not fetched for {system} on {machine}; run these tests on Linux or macOS")
    baseline = "-baseline" if machines[machine] == "x64" and "avx2" not in cpu_flags else ""
    return f"opencode-{systems[system]}-{machines[machine]}{baseline}"


def install_node_tools() -> Path:
    """Return the folder that holds what the lock file names, with its programs in ``node_modules/.bin``.

    Raises:
        InstallError: It cannot be had.
    """
    return _locked("node-tools", LOCKED, "ci")


def install_plugin_tools() -> Path:
    """Return the folder that holds the compiler, the linter and the types that the plugin is checked with.

    Raises:
        InstallError: They cannot be had.
    """
    # Not ``ci``: the lock file leaves out programs of other machines, which that takes for a mistake.
    return _locked("plugin-tools", PLUGIN_LOCKED, "install")


INSTALL: Final = MappingProxyType(
    {"opencode": install_opencode, "node-tools": install_node_tools, "plugin-tools": install_plugin_tools}
)


def _locked(name: str, locked: Path, command: str) -> Path:
    """Return a folder with what a lock file names."""
    files = [locked / name for name in ("package.json", "package-lock.json")]
    version = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]

    def fetch(folder: Path) -> None:
        for file in files:
            shutil.copy(file, folder)
        _npm(folder, command)

    return _once(CACHE / f"{name}-{version}", fetch)


def _once(folder: Path, fetch: Callable[[Path], None]) -> Path:
    """Return a folder, filled unless it is there; it appears complete or not at all."""
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".fetching-", dir=folder.parent) as temporary:
        filled = Path(temporary) / folder.name
        filled.mkdir()
        fetch(filled)
        try:
            filled.rename(folder)
        except OSError:
            if not folder.is_dir():
                raise
            # Somebody else was quicker with the same thing.
    return folder


def _npm(folder: Path, *arguments: str) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise InstallError("there is no `npm` on the PATH; install Node.js, which brings it")
    command = [npm, *arguments[:1], "--prefix", str(folder), *_NPM, *arguments[1:]]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if ran.returncode:
        asked = f"`npm {' '.join(arguments)}` failed; is the npm registry reached from here (`npm ping`)?"
        raise InstallError(f"{asked}\n{ran.stderr.strip()}")


def _cpu_flags() -> str:
    try:
        return Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        # Not Linux; every machine that macOS still runs on has it.
        return "avx2"


def main(arguments: Sequence[str]) -> int:
    """Install what was asked for and print the paths, a line each."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("what", nargs="?", choices=INSTALL, help="what to fetch, by default everything")
    what = parser.parse_args(arguments).what
    try:
        for install in INSTALL.values() if what is None else (INSTALL[what],):
            print(install(), flush=True)
    except InstallError as error:
        print(f"error: {error}", file=sys.stderr)
        return os.EX_UNAVAILABLE
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
