"""Code blocks of the documentation, and how each command in them is run."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from docs.machine import ROOT

RUN_UNTIL_STOPPED = {"opencode-memory serve": True, "opencode-memory worker": False, "opencode-memory watch": False}
"""Commands that end only on a signal, and whether they answer on the port."""
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SKIP = re.compile(r"<!-- test: skip, (?P<reason>[^\n]+) -->\n+\Z")
_CELL = re.compile(r"^\| [^|]+ \| `(opencode-memory [^`]+)` \|$", re.MULTILINE)


@dataclass(frozen=True)
class Step:
    """A command and the output that a document shows for it.

    Attributes:
        row: The command as it is written, with its comment.
        command: The command for the shell.
        output: Rows of the output; empty if the document shows none.
    """

    row: str
    command: str
    output: list[str]


@dataclass(frozen=True)
class Block:
    """A code block.

    Attributes:
        file: Document.
        line: Line of its first row.
        language: Word behind the fence.
        text: Its rows.
        skipped: Reason for which it is not run; empty if it is run.
    """

    file: Path
    line: int
    language: str
    text: str
    skipped: str = ""

    def __str__(self) -> str:
        return f"{self.file.relative_to(ROOT).as_posix()}:{self.line}"

    @property
    def steps(self) -> list[Step]:
        """Commands of a block for the shell. In a ``console`` block, rows without ``$`` are the output."""
        steps: list[Step] = []
        for row in self.text.replace("\\\n", " ").splitlines():
            if self.language == "console" and not row.startswith("$ "):
                steps[-1].output.append(row)
            elif split_words(command := row.removeprefix("$ ")):
                steps.append(Step(row, shlex.join(split_words(command)) if is_plain(command) else command, []))
        return steps


def split_words(row: str) -> list[str]:
    """Split a row into words, without its comment."""
    return shlex.split(row, comments=True)


def is_plain(row: str) -> bool:
    """Return whether a row is one command without anything that only a shell expands."""
    return not re.search(r"[|&;<>$()*~]", row)


def blocks(file: Path) -> Iterator[Block]:
    """Yield the code blocks of a document."""
    text = file.read_text(encoding="utf-8")
    for found in _FENCE.finditer(text):
        marker = _SKIP.search(text, 0, found.start())
        line = text.count("\n", 0, found.start()) + 2
        yield Block(file, line, found[1], found[2], marker["reason"] if marker else "")


def table_commands(file: Path) -> list[str]:
    """Return the commands in the last column of a document's tables."""
    return _CELL.findall(file.read_text(encoding="utf-8"))
