"""OpenCode's terminal in tmux: what is on the screen, and keys."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from e2e.plugged import Plugged, until

_COLUMNS = 170
_ROWS = "45"


@dataclass(frozen=True)
class Screen:
    """A terminal with OpenCode.

    Attributes:
        plugged: The home.
        folder: The folder in which OpenCode runs.
    """

    plugged: Plugged
    folder: Path

    def tmux(self, *arguments: str) -> str:
        """Run a command of tmux, and return its output."""
        ran = subprocess.run(
            ["tmux", "-L", f"memory-{self.plugged.port}", *arguments],
            cwd=self.folder,
            env={**self.plugged.environment, "PWD": str(self.folder), "TERM": "xterm-256color"},
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
        return ran.stdout

    @property
    def text(self) -> str:
        """All that is on the screen."""
        return self.tmux("capture-pane", "-p")

    def press(self, *keys: str) -> None:
        """Press keys, or type a text, which is one key here."""
        for key in keys:
            self.tmux("send-keys", key)

    def until_shows(self, *texts: str) -> None:
        """Wait until these texts are on the screen."""

        def shows() -> bool:
            screen = self.text
            return all(text in screen for text in texts)

        until(shows, f"{texts} never came")

    def until_hides(self, text: str) -> None:
        """Wait until a text is gone from the screen."""
        until(lambda: text not in self.text, f"{text!r} stayed")

    def click(self, text: str) -> None:
        """Click on the first place of a text."""
        self.until_shows(text)
        lines = self.text.splitlines()
        row = next(number for number, line in enumerate(lines, start=1) if text in line)
        column = lines[row - 1].index(text) + 1
        for end in "Mm":
            self.tmux("send-keys", "-l", f"\x1b[<0;{column};{row}{end}")

    def run(self, command: str) -> None:
        """Run a command of the palette."""
        self.press("C-p")
        self.until_shows("Commands", "Suggested")
        self.pick(command, hides="Suggested")
        self.until_hides("Commands")

    def pick(self, option: str, *, hides: str) -> None:
        """Pick an option of an open list by its name.

        Args:
            option: What is typed into the list's filter.
            hides: A text of the list that the filter hides; before it is gone, Enter picks another option.
        """
        self.press(option)
        self.until_hides(hides)
        self.press("Enter")


@contextmanager
def screen(plugged: Plugged, folder: Path, *, columns: int = _COLUMNS) -> Iterator[Screen]:
    """Open OpenCode in a terminal, until the end of the block."""
    size = ("-x", str(columns), "-y", _ROWS)
    shown = Screen(plugged, folder)
    try:
        shown.tmux("new-session", "-d", "-s", "screen", *size, str(plugged.opencode.binary))
        shown.until_shows("Ask anything")
        yield shown
    finally:
        shown.tmux("kill-server")
