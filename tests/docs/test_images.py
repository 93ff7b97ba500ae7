"""The pictures of the README are rendered from captures, and the captures are what the programs print today.

``UPDATE_DOCS=1`` makes captures and pictures again. Ids differ from run to run, so they are not compared.
"""

from __future__ import annotations

import os

import pytest

from docs.machine import ROOT, SESSION, Machine, normalize
from render_terminal import COLUMNS, render, wrap

IMAGES = ROOT / "docs" / "images"
DEMO_LINES = 28
"""Number of lines of the demo that the picture shows: two questions with their answers, and the next one."""


def demo(machine: Machine) -> str:
    """Capture the beginning of the demo."""
    lines = machine.ok("opencode-memory --color always demo").splitlines()
    return "\n".join(["$ opencode-memory demo", *lines[:DEMO_LINES], ""])


def opencode(machine: Machine) -> str:
    """Capture two commands: one stores a memory, the other shows the block that a later session got."""
    stored = machine.ok("opencode-memory list --color always")
    short = SESSION[:12]
    lines = ["$ opencode-memory list", *stored.splitlines(), "", f"$ opencode-memory why --text {short}"]
    shown = machine.ok(f"opencode-memory --color always why --text {short}")
    return "\n".join([*lines, *shown.splitlines(), ""])


@pytest.mark.parametrize("capture", [demo, opencode])
def test_capture_is_what_the_program_prints(capture, machine) -> None:
    file = IMAGES / f"{capture.__name__}.txt"
    current = capture(machine)
    kept = file.read_text(encoding="utf-8") if file.exists() else ""
    if os.environ.get("UPDATE_DOCS") and normalize(kept) != normalize(current):
        file.parent.mkdir(exist_ok=True)
        file.write_text(current, encoding="utf-8")
        file.with_suffix(".svg").write_text(render(current), encoding="utf-8")
        return
    assert normalize(kept) == normalize(current)


@pytest.mark.parametrize("name", ["demo", "opencode"])
def test_picture_is_rendered_from_its_capture(name) -> None:
    capture = (IMAGES / f"{name}.txt").read_text(encoding="utf-8")
    assert (IMAGES / f"{name}.svg").read_text(encoding="utf-8") == render(capture)


def test_long_line_is_broken_and_keeps_its_style() -> None:
    rows = list(wrap(f"\x1b[2m{'x' * (COLUMNS + 1)}\x1b[0m"))
    assert rows == [f"\x1b[2m{'x' * COLUMNS}", "\x1b[2mx\x1b[0m"]


def test_markup_in_a_capture_is_escaped() -> None:
    picture = render("$ echo '<b>'\n<b> & more\n")
    assert "&lt;b&gt; &amp; more" in picture
    assert "<b>" not in picture
