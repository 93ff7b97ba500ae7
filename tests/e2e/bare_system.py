"""A bare Debian system in a folder: Python and nothing to compile with, without a network. Needs root and debootstrap."""

from __future__ import annotations

import fcntl
import os
import shutil
import socket
import struct
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
SUITE: Final = "bookworm"
"""The oldest suite of Debian with a Python that is new enough."""
_PACKAGES: Final = ("python3", "python3-venv")
_CACHE: Final = ROOT / ".cache" / "systems"
_USER: Final = 1000
_SECONDS: Final = 300
_SET_FLAGS: Final = 0x8914  # SIOCSIFFLAGS
_UP_AND_RUNNING: Final = 0x41


def missing() -> str | None:
    """Return why no system can be made on this machine; None if one can."""
    if sys.platform != "linux":
        return "debootstrap needs Linux"
    if os.geteuid() != 0:
        return "debootstrap and chroot need root"
    programs = [name for name in ("debootstrap", "unshare") if shutil.which(name) is None]
    return f"{programs[0]} is not installed" if programs else None


@dataclass(frozen=True, slots=True)
class BareSystem:
    """A system.

    Attributes:
        root: Its folder.
    """

    root: Path

    @classmethod
    def create(cls, root: Path, *, architecture: str | None = None) -> BareSystem:
        """Copy the system of the cache to ``root``; make it first if it is not there.

        Args:
            root: Its folder.
            architecture: Debian's name of another processor, whose programs the kernel can run, for example by qemu.
        """
        name = SUITE if architecture is None else f"{SUITE}-{architecture}"
        made = _CACHE / name
        if not made.exists():
            unfinished = _CACHE / f"{name}.unfinished"
            shutil.rmtree(unfinished, ignore_errors=True)
            unfinished.parent.mkdir(parents=True, exist_ok=True)
            packages = f"--include={','.join(_PACKAGES)}"
            foreign = [] if architecture is None else [f"--arch={architecture}"]
            subprocess.run(["debootstrap", "--variant=minbase", packages, *foreign, SUITE, unfinished], check=True)
            unfinished.rename(made)
        subprocess.run(["cp", "--archive", "--reflink=auto", made, root], check=True)
        home = root / "home" / "person"
        home.mkdir(parents=True)
        os.chown(home, _USER, _USER)
        return cls(root)

    def run(self, script: str) -> str:
        """Run a shell script as a user of the system, without a network; return its output.

        Raises:
            AssertionError: It fails. The message has its output.
        """
        entered = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child"]
        command = [*entered, sys.executable, str(Path(__file__)), str(self.root), "sh", "-euc", script]
        ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_SECONDS)
        assert ran.returncode == 0, f"exit {ran.returncode}\n{ran.stdout}\n{ran.stderr}"
        return ran.stdout


def _enter(root: Path, command: list[str]) -> None:
    """Replace this process, which is alone in its namespaces, by a command in the system."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack("16sh14x", b"lo", _UP_AND_RUNNING))
    subprocess.run(["mount", "-t", "proc", "proc", root / "proc"], check=True)
    os.chroot(root)
    os.setgroups([])
    os.setgid(_USER)
    os.setuid(_USER)
    os.chdir("/home/person")
    environment = {"PATH": "/home/person/app/bin:/usr/bin:/bin", "HOME": "/home/person", "LANG": "C.UTF-8"}
    os.execvpe(command[0], command, environment)


if __name__ == "__main__":
    _enter(Path(sys.argv[1]), sys.argv[2:])
