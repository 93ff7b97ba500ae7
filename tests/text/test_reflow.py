"""Joining of hard-wrapped lines."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencode_memory.text.reflow import reflow

LONG = "Deploys go through the script, which asks for the version"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"{LONG}\nfirst and then waits.", [f"{LONG} first and then waits."]),
        (f"{LONG}\nand waits for\nthe tests.", [f"{LONG} and waits for", "the tests."]),
        (f"{LONG}\n\nAnother paragraph.", [LONG, "Another paragraph."]),
        (f"{LONG}\n- one\n- two", [LONG, "- one", "- two"]),
        (f"{LONG}\n2. two", [LONG, "2. two"]),
        (f"# {LONG}\ntext", [f"# {LONG}", "text"]),
        (f"| {LONG} | b |\n| c | d |", [f"| {LONG} | b |", "| c | d |"]),
        (f"{LONG}:\n    make deploy", [f"{LONG}:", "    make deploy"]),
        (f"```\n{LONG}\nmake\n```\nafter", ["```", LONG, "make", "```", "after"]),
        (f"{LONG}  \nmeant", [LONG, "meant"]),
        ("short\nlines stay", ["short", "lines stay"]),
        (f"- {LONG}\n  goes on", [f"- {LONG} goes on"]),
        ("", []),
    ],
)
def test_wrapped_lines_are_joined_and_meant_ones_stay(text: str, expected: list[str]) -> None:
    assert reflow(text) == expected


@given(st.text(alphabet="ab -#|`\n\t.1", max_size=300))
def test_no_word_is_lost_or_moved(text: str) -> None:
    assert " ".join(reflow(text)).split() == text.split()
