"""Output of commands: text for users, or one JSON document with ``--json``.

The output is colored only on a terminal or on request. Control characters are replaced, in pipes and files too.
Otherwise an escape sequence in a memory could overwrite the text that the user sees, now or with a later ``cat``.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import IO, Any, Final
from unicodedata import combining, east_asian_width

import click

from opencode_memory.text.display import indent_breaks, replace_controls
from opencode_memory.text.json_values import escape_separators, to_json
from opencode_memory.text.reflow import reflow

_BREAKS: Final = re.compile(r"[\r\n]+")
_GAP: Final = "  "
_MORE: Final = " […]"


@dataclass(frozen=True, slots=True)
class Styled:
    """A text with a style. Only styles send escape sequences to the terminal."""

    text: str
    bold: bool = False
    dim: bool = False
    color: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """Standard output of a command, and its format.

    Attributes:
        as_json: Whether to print one JSON document instead of text.
        color: Whether to color the text.
        terminal: Whether standard output is a terminal.
        width: Maximum number of columns.
        texts: Receives the text instead of standard output.
        notes: Receives the remarks instead of standard error.
    """

    as_json: bool
    color: bool
    terminal: bool
    width: int
    texts: IO[str] | None = None
    notes: IO[str] | None = None

    def json(self, value: Any) -> None:
        """Print a value as JSON."""
        encoded = json.dumps(to_json(value), ensure_ascii=False, indent=2 if self.terminal else None)
        click.echo(escape_separators(encoded), self.texts)

    def exact(self, text: str) -> None:
        """Print a text unchanged to a pipe or a file, for programs; on a terminal as ``line`` does."""
        # Without color, click would remove a part of the escape sequences.
        click.echo(replace_controls(text) if self.terminal else text, self.texts, color=True)

    def line(self, *parts: str | Styled) -> None:
        """Print the parts as one line. A line break in a name becomes a space, so that it cannot begin a line."""
        click.echo("".join(_render(part, _flatten) for part in parts), self.texts, color=self.color)

    def text(self, text: str) -> None:
        """Print a text with its line breaks."""
        click.echo(replace_controls(text), self.texts, color=self.color)

    def note(self, *parts: str | Styled) -> None:
        """Print a remark, which is no part of the answer, to standard error. With ``--json``, print nothing.

        Each line after the first is indented, so that a line break in a name cannot begin another remark.
        """
        if not self.as_json:
            text = "".join(_render(part, indent_breaks) for part in parts)
            click.echo(text, self.notes, err=True, color=self.color)

    def table(
        self, rows: Sequence[Sequence[str]], *, right: Sequence[int] = (), cut: bool = True, header: Sequence[str] = ()
    ) -> None:
        """Print rows in columns.

        Args:
            rows: The cells of each row.
            header: The names of the columns, which only a terminal shows.
            right: Indexes of the columns that are aligned to the right.
            cut: Whether to truncate the last column to the width. Paths are not truncated, because users copy them.
        """
        titles = [header] if header and self.terminal else []
        shown = [*titles, *([_BREAKS.sub(" ", text) for text in row] for row in rows)]
        widths = [max(map(cells, column)) for column in zip(*shown, strict=True)]
        for number, row in enumerate(shown):
            padded = [
                _pad(text, width, right=column in right)
                for column, (text, width) in enumerate(zip(row[:-1], widths, strict=False))
            ]
            used = sum(widths[:-1]) + len(_GAP) * (len(row) - 1)
            last = shorten(row[-1], max(10, self.width - used)) if cut else row[-1]
            text = _GAP.join([*padded, last]).rstrip()
            self.line(dim(text) if number < len(titles) else text)

    def excerpt(self, text: str, *, indent: str, lines: int) -> None:
        """Print the beginning of a text, wrapped to the width and without empty lines."""
        width = max(20, self.width - len(indent))
        folded = (part for line in reflow(text) for part in textwrap.wrap(line.strip(), width))
        shown = list(islice(folded, lines + 1))
        if len(shown) > lines:
            shown = [*shown[: lines - 1], textwrap.wrap(shown[lines - 1], width - len(_MORE))[0] + _MORE]
        for line in shown:
            self.line(indent + line)


def bold(text: str) -> Styled:
    """Style an important text."""
    return Styled(text, bold=True)


def dim(text: str) -> Styled:
    """Style a less important text."""
    return Styled(text, dim=True)


def cells(text: str) -> int:
    """Count the terminal columns of a text."""
    return sum(0 if combining(character) else 2 if east_asian_width(character) in "WF" else 1 for character in text)


def shorten(text: str, width: int) -> str:
    """Truncate a text to one line of at most ``width`` columns."""
    text = " ".join(text.split())
    if cells(text) <= width:
        return text
    used = 1  # The ellipsis.
    for place, character in enumerate(text):
        used += cells(character)
        if used > width:
            return text[:place].rstrip() + "…"
    return text


def _render(part: str | Styled, clean: Callable[[str], str]) -> str:
    if isinstance(part, Styled):
        return click.style(clean(part.text), bold=part.bold or None, dim=part.dim or None, fg=part.color)
    return clean(part)


def _flatten(text: str) -> str:
    return replace_controls(_BREAKS.sub(" ", text))


def _pad(text: str, width: int, *, right: bool) -> str:
    blank = " " * (width - cells(text))
    return blank + text if right else text + blank
