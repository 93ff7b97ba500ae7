"""A wall clock that a test shifts for programs that are running. It needs Linux and a C compiler."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

_SOURCE: Final = Path(__file__).with_name("shifted_clock.c")


class ShiftedClock:
    """Shifts the wall clock of programs that are started with ``settings``.

    Args:
        folder: Folder for the library and the offset.
    """

    def __init__(self, folder: Path) -> None:
        self._library = folder / "shifted_clock.so"
        self._offset = folder / "clock_offset"
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", self._library, _SOURCE], check=True)
        self.shift(0)

    @staticmethod
    def is_possible() -> bool:
        """Return whether this machine can shift clocks."""
        return sys.platform == "linux" and shutil.which("cc") is not None

    @property
    def settings(self) -> Mapping[str, str]:
        """Environment variables of programs whose clock is shifted."""
        return {"LD_PRELOAD": str(self._library), "CLOCK_OFFSET": str(self._offset)}

    def shift(self, seconds: int) -> None:
        """Let the clocks go ahead of the true time by a number of seconds, or behind it."""
        new = self._offset.with_suffix(".new")
        new.write_text(str(seconds))
        new.replace(self._offset)
