"""Download the third-party programs that the end-to-end tests run, and print their paths.

::

    python scripts/install_third_party.py               # all programs
    python scripts/install_third_party.py opencode      # the OpenCode binary only
    python scripts/install_third_party.py node-tools    # MCP inspector, conformance suite, and Node.js for both
    python scripts/install_third_party.py plugin-tools  # linter, formatter and compiler for the plugin
    python scripts/install_third_party.py browser-tools # driver of Chromium, and the checks of accessibility

The ``npm`` command downloads all programs from the npm registry, at one version each. The lock files in
``tests/e2e/third_party/``, ``tests/e2e/plugin_tools/`` and ``tests/e2e/browser_tools/`` contain the hashes; those of
OpenCode are below. Each version gets its own folder in ``.cache/third_party/`` and is downloaded once. Install scripts
of packages are not run.
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
BROWSER_LOCKED: Final = ROOT / "tests" / "e2e" / "browser_tools"

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
"""Hashes of the packages that were tested. Packages for other machines are accepted without a known hash."""

_NPM: Final = ("--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")


class InstallError(Exception):
    """A program could not be downloaded. The message names it, the reason, and the next step."""


def install_opencode() -> Path:
    """Return the OpenCode binary for this machine.

    Raises:
        InstallError: The download failed.
    """
    package = opencode_package(platform.system(), platform.machine(), _cpu_flags())

    def fetch(folder: Path) -> None:
        _npm(folder, "install", f"{package}@{OPENCODE}")
        locked = json.loads((folder / "node_modules" / ".package-lock.json").read_text(encoding="utf-8"))
        found = locked["packages"][f"node_modules/{package}"]["integrity"]
        if found != OPENCODE_INTEGRITY.get(package, found):
            raise InstallError(f"{package}@{OPENCODE} does not have the known hash; its hash is {found}")

    return _once(CACHE / f"{package}-{OPENCODE}", fetch) / "node_modules" / package / "bin" / "opencode"


def opencode_package(system: str, machine: str, cpu_flags: str) -> str:
    """Return the name of the npm package with the binary.

    Args:
        system: Result of ``platform.system``.
        machine: Result of ``platform.machine``.
        cpu_flags: Features of the processor; the ordinary x64 binary needs AVX2.

    Raises:
        InstallError: There is no package for this machine.
    """
    systems = {"Linux": "linux", "Darwin": "darwin"}
    machines = {"x86_64": "x64", "aarch64": "arm64", "arm64": "arm64"}
    if system not in systems or machine not in machines:
        raise InstallError(f"OpenCode is not available for {system} on {machine}; run these tests on Linux or macOS")
    baseline = "-baseline" if machines[machine] == "x64" and "avx2" not in cpu_flags else ""
    return f"opencode-{systems[system]}-{machines[machine]}{baseline}"


def install_node_tools() -> Path:
    """Return the folder with the packages of the lock file. Its programs are in ``node_modules/.bin``.

    Raises:
        InstallError: The download failed.
    """
    return _locked("node-tools", LOCKED, "ci")


def install_plugin_tools() -> Path:
    """Return the folder with the compiler, the linter and the types for checking the plugin.

    Raises:
        InstallError: The download failed.
    """
    # Not ``ci``, which would fail because the lock file omits the programs for other machines.
    return _locked("plugin-tools", PLUGIN_LOCKED, "install")


def install_browser_tools() -> Path:
    """Return the folder with the driver of Chromium and the checks of accessibility.

    Raises:
        InstallError: The download failed.
    """
    return _locked("browser-tools", BROWSER_LOCKED, "ci")


INSTALL: Final = MappingProxyType(
    {
        "opencode": install_opencode,
        "node-tools": install_node_tools,
        "plugin-tools": install_plugin_tools,
        "browser-tools": install_browser_tools,
    }
)


def _locked(name: str, locked: Path, command: str) -> Path:
    """Return a folder with the packages of a lock file."""
    files = [locked / name for name in ("package.json", "package-lock.json")]
    version = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]

    def fetch(folder: Path) -> None:
        for file in files:
            shutil.copy(file, folder)
        _npm(folder, command)

    return _once(CACHE / f"{name}-{version}", fetch)


def _once(folder: Path, fetch: Callable[[Path], None]) -> Path:
    """Return a folder; fill it first if it is missing. It appears only when it is complete."""
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
            # Another process has created the same folder in the meantime.
    return folder


def _npm(folder: Path, *arguments: str) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise InstallError("there is no `npm` on the PATH; install Node.js, which brings it")
    command = [npm, *arguments[:1], "--prefix", str(folder), *_NPM, *arguments[1:]]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if ran.returncode:
        failed = f"`npm {' '.join(arguments)}` failed; check that the npm registry can be reached (`npm ping`)"
        raise InstallError(f"{failed}\n{ran.stderr.strip()}")


def _cpu_flags() -> str:
    try:
        return Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        # macOS. Every machine that it supports has AVX2.
        return "avx2"


def main(arguments: Sequence[str]) -> int:
    """Install the named programs, by default all, and print one path per line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("program", nargs="?", choices=INSTALL, help="program to download [default: all]")
    program = parser.parse_args(arguments).program
    try:
        for install in INSTALL.values() if program is None else (INSTALL[program],):
            print(install(), flush=True)
    except InstallError as error:
        print(f"error: {error}", file=sys.stderr)
        return os.EX_UNAVAILABLE
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
