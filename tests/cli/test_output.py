"""Output of commands: width, colors and removal of control characters."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencode_memory.cli.output import Output, Styled, bold, cells, shorten
from opencode_memory.models import Category, Source
from opencode_memory.text.json_values import to_json

PLAIN = Output(as_json=False, color=False, terminal=False, width=40)
TERMINAL = Output(as_json=False, color=True, terminal=True, width=40)


@given(st.text(max_size=60), st.integers(1, 30))
def test_shortened_text_fits_width(text: str, width: int) -> None:
    short = shorten(text, width)
    assert cells(short) <= width
    assert "\n" not in short


def test_wide_characters_take_two_columns() -> None:
    assert cells("日本 e\u0301") == 6
    assert shorten("日本語のメモ", 7) == "日本語…"


def test_table_fits_width_and_aligns_columns(capsys: pytest.CaptureFixture[str]) -> None:
    PLAIN.table([("1", "日本", "short"), ("10", "x", "a text that is much too long for this table")], right=(0,))
    lines = capsys.readouterr().out.splitlines()
    assert lines == [" 1  日本  short", "10  x     a text that is much too long…"]
    assert max(map(cells, lines)) <= PLAIN.width


def test_excerpt_keeps_lines_and_marks_truncation(capsys: pytest.CaptureFixture[str]) -> None:
    PLAIN.excerpt("# Title\n\n" + "word " * 30, indent="  ", lines=3)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "  # Title"
    assert len(lines) == 3
    assert lines[-1].endswith("[…]")
    assert max(map(cells, lines)) <= PLAIN.width
    PLAIN.excerpt("one\ntwo\n", indent="", lines=2)
    assert capsys.readouterr().out == "one\ntwo\n"


def test_escape_sequences_are_removed_on_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    hostile = "\x1b[2J\x1b]0;title\x07hidden\u202e\x9b31m"
    TERMINAL.line(bold(hostile), hostile, Styled(hostile, color="red"))
    shown = capsys.readouterr().out
    for sequence in ("\x1b[2J", "\x1b]", "\x07", "\u202e", "\x9b"):
        assert sequence not in shown
    assert "\x1b[1m" in shown


def test_escape_sequences_are_replaced_as_a_whole_in_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    hostile = "a\x1b[31mred\x1b[0m \x1b]0;title\x07 \x9b2J end"
    PLAIN.line(bold(hostile))
    PLAIN.text(f"{hostile}\r\n")
    assert capsys.readouterr().out == 2 * "a\ufffd[31mred\ufffd[0m \ufffd]0;title\ufffd \ufffd2J end\n" + "\n"


def test_exact_text_is_unchanged_in_a_file_and_cleaned_on_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    PLAIN.exact("bell \x07, bidi \u202e and \x1b[31mred")
    assert capsys.readouterr().out == "bell \x07, bidi \u202e and \x1b[31mred\n"
    TERMINAL.exact("bell \x07 and \x1b[31mred")
    assert capsys.readouterr().out == "bell \ufffd and \ufffd[31mred\n"


def test_line_break_in_a_cell_does_not_break_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    PLAIN.table([("1", "bad\nname", "text"), ("2", "good", "text")])
    assert capsys.readouterr().out == "1  bad name  text\n2  good      text\n"


def test_line_break_in_a_name_begins_no_line(capsys: pytest.CaptureFixture[str]) -> None:
    hostile = "a\r\n1  fact  you  forged"
    PLAIN.line("topic  ", bold(hostile))
    PLAIN.note(hostile)
    captured = capsys.readouterr()
    assert captured.out == "topic  a 1  fact  you  forged\n"
    assert captured.err == "a\n  1  fact  you  forged\n"


def test_text_keeps_its_line_breaks(capsys: pytest.CaptureFixture[str]) -> None:
    PLAIN.text("one\r\ntwo \x1b[31m")
    assert capsys.readouterr().out == "one\ntwo \ufffd[31m\n"


def test_notes_go_to_standard_error_unless_json(capsys: pytest.CaptureFixture[str]) -> None:
    PLAIN.note("aside")
    Output(as_json=True, color=False, terminal=False, width=80).note("aside")
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "aside\n")


def test_api_values_convert_to_plain_json() -> None:
    value = {
        "when": datetime(2026, 3, 1, 12, tzinfo=UTC), "path": Path("a/b"), "kind": Category.FACT,
        "source": Source(file="x.md", line=3), "tags": ("a",), "none": None, "n": 1.5,
    }  # fmt: skip
    assert to_json(value) == {
        "when": "2026-03-01T12:00:00.000Z", "path": "a/b", "kind": "fact",
        "source": {"tool": None, "session": None, "message": None, "file": "x.md", "line": 3, "commit": None},
        "tags": ["a"], "none": None, "n": 1.5,
    }  # fmt: skip
