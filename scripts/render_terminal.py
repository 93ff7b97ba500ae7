"""Render captured terminal output as an SVG picture for the documentation.

::

    python scripts/render_terminal.py docs/images/demo.txt docs/images/demo.svg

The capture is text with ANSI colours. Lines that begin with ``$ `` are the commands that were typed. The picture holds
exactly that text: the script never invents, reorders or corrects output. It breaks long lines where a terminal would.
``tests/docs/test_images.py`` compares the captures with the programs of today and, with ``UPDATE_DOCS=1``, makes the
captures and the pictures again.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import Final

COLUMNS: Final = 100
"""Width of a picture in characters."""
_CELL: Final = 8.4
_LINE: Final = 19
_SIZE: Final = 14
_PADDING: Final = 16
_BAR: Final = 34
_BACKGROUND: Final = "#1b1f24"
_FOREGROUND: Final = "#dfe5ec"
_DIM: Final = "#8b95a1"
_COLORS: Final = {31: "#ff7b72", 32: "#7ee787", 33: "#e3b341", 34: "#79c0ff", 35: "#d2a8ff", 36: "#76e3ea"}
_BUTTONS: Final = ("#ff5f57", "#febc2e", "#28c840")
_FONT: Final = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
_CODE: Final = re.compile(r"\x1b\[([0-9;]*)m")


@dataclass(frozen=True, slots=True)
class Style:
    """Look of a run of characters."""

    color: str = _FOREGROUND
    is_bold: bool = False

    def apply(self, code: int) -> Style:
        """Return the style after one ANSI code; unknown codes change nothing."""
        match code:
            case 0:
                return Style()
            case 1:
                return replace(self, is_bold=True)
            case 2:
                return replace(self, color=_DIM)
            case 22:
                return Style()
            case _:
                return replace(self, color=_COLORS.get(code, self.color))


def split_runs(text: str) -> Iterator[tuple[str, Style]]:
    """Yield the runs of one line, each with its style.

    Args:
        text: A line with ANSI codes. Every line begins in the plain style, as the command line prints it.
    """
    style = Style()
    for number, part in enumerate(_CODE.split(text)):
        if number % 2:
            for code in part.split(";"):
                style = style.apply(int(code or "0"))
        elif part:
            yield part, style


def wrap(line: str, columns: int = COLUMNS) -> Iterator[str]:
    """Yield the rows that a line takes on a terminal.

    Args:
        line: A line with ANSI codes. A code stays in force on the following rows.
        columns: Width of the terminal.
    """
    codes, row, length = "", "", 0
    for number, part in enumerate(_CODE.split(line)):
        if number % 2:
            codes = f"\x1b[{part}m" if part in {"", "0"} else f"{codes}\x1b[{part}m"
            row += f"\x1b[{part}m"
            continue
        for character in part:
            if length == columns:
                yield row
                row, length = codes, 0
            row += character
            length += 1
    yield row


def render(capture: str) -> str:
    """Render a capture as an SVG document.

    Args:
        capture: Lines with ANSI codes; a line that begins with ``$ `` is a command.

    Returns:
        The document, with a line break at its end.
    """
    lines = [
        f"\x1b[32m$\x1b[0m \x1b[1m{line[2:]}\x1b[0m" if line.startswith("$ ") else line for line in capture.splitlines()
    ]
    rows = [row for line in lines for row in wrap(line)]
    width = round(2 * _PADDING + COLUMNS * _CELL)
    height = _BAR + len(rows) * _LINE + _PADDING
    size = f'width="{width}" height="{height}"'
    body = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {width} {height}" role="img">',
        f"<title>Terminal: {escape(capture.splitlines()[0])}</title>",
        f'<rect {size} rx="8" fill="{_BACKGROUND}"/>',
        *(f'<circle cx="{18 + 18 * at}" cy="17" r="5.5" fill="{color}"/>' for at, color in enumerate(_BUTTONS)),
        f'<g font-family="{_FONT}" font-size="{_SIZE}" xml:space="preserve">',
    ]
    for number, row in enumerate(rows):
        body.extend(_render_line(row, _BAR + number * _LINE + _SIZE))
    return "\n".join([*body, "</g>", "</svg>", ""])


def _render_line(line: str, y: int) -> Iterator[str]:
    column = 0
    for text, style in split_runs(line):
        stripped = text.lstrip(" ")
        column += len(text) - len(stripped)
        if words := stripped.rstrip(" "):
            weight = ' font-weight="bold"' if style.is_bold else ""
            # Without a fixed length, a font of another width would move the runs of a line apart.
            yield (
                f'<text x="{_PADDING + column * _CELL:.1f}" y="{y}" textLength="{len(words) * _CELL:.1f}" '
                f'lengthAdjust="spacingAndGlyphs" fill="{style.color}"{weight}>{escape(words)}</text>'
            )
        column += len(stripped)


def main(arguments: Sequence[str] | None = None) -> None:
    """Read a capture and write its picture."""
    parser = argparse.ArgumentParser(description="Render captured terminal output as SVG.")
    parser.add_argument("capture", type=Path, help="text with ANSI colours; commands begin with '$ '")
    parser.add_argument("picture", type=Path, help="file to write")
    options = parser.parse_args(arguments)
    options.picture.write_text(render(options.capture.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
