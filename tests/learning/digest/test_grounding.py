"""Grounding check: an item brings no names, numbers, words or negations of its own."""

from __future__ import annotations

import pytest

from opencode_memory.learning.digest.grounding import find_objection
from opencode_memory.learning.digest.report import DropReason


@pytest.mark.parametrize(
    ("text", "quote", "source"),
    [
        ("Use pnpm for installs.", "use pnpm for the installs please", ""),
        ("The person wants pnpm instead of npm.", "use pnpm, not npm", ""),
        ("Do not use npm; use pnpm.", "no, use pnpm", "npm install ran"),
        ("Never squash commits.", "we never squash commits here", ""),
        ("Don\u2019t squash commits.", "please do not squash the commits", ""),
        ("The database runs on port 5433.", "it is on 5433 now, the database port", "runs on 5432"),
        ("Tests live in tests/unit/test_app.py.", "tests live there", "see tests/unit/test_app.py"),
        ("Invoices are rendered with Typst.", "take option B for the invoices", "A: render with LaTeX. B: Typst."),
        ("Analytics: use Fathom.", "I'm not going with Matomo, set up Fathom for analytics", ""),
        ("Past events get one line.", "Stop sharing the free height with past events, one line is enough", ""),
        ("Im Projekt nur Leerzeichen benutzen", "benutze nur Leerzeichen im Projekt", ""),
        ("不要使用制表符", "请不要使用制表符", ""),
    ],
)
def test_grounded_text_is_used(text: str, quote: str, source: str) -> None:
    assert find_objection(text, quote, source) is None


def test_name_may_come_from_elsewhere_in_the_request() -> None:
    text, quote = "Reports are written to out/reports.csv.", "write the reports to that file"
    assert find_objection(text, quote, quote) is DropReason.NAMES
    assert find_objection(text, quote, quote, "the agent wrote out/reports.csv") is None


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ("The database runs on port 5434.", "the database runs on port 5433"),
        ("Use Python 3.12 for the project.", "use python 3.11 for the project"),
        ("Tests live in tests/integration.py.", "the tests live in the tests folder, tests/unit.py"),
        ("Run npm test --coverage before pushing.", "run npm test before pushing"),
        ("Set NODE_ENV before the tests run.", "set env before the tests run"),
        ("Install it from https://evil.example/x.", "install it from the usual place"),
        ("The cache is kept in Redis by the service.", "the service keeps a cache"),
    ],
)
def test_text_with_a_new_name_or_number_is_dropped(text: str, quote: str) -> None:
    assert find_objection(text, quote, quote) is DropReason.NAMES


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ("Deploy to production every Friday evening.".lower(), "use pnpm for installs"),
        ("Use pnpm, because its disk cache saves gigabytes of storage.", "use pnpm"),
        ("It is what it is.", "it is what it is"),
        ("!!!", "use pnpm for installs"),
        ("use pnpm. " * 20 + "deploy production credentials everywhere.", "use pnpm"),
    ],
)
def test_text_with_mostly_new_words_is_unsupported(text: str, quote: str) -> None:
    assert find_objection(text, quote, quote) is DropReason.UNSUPPORTED


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ("Squash commits.", "never squash commits"),
        ("Use tabs in the Makefile.", "don't use tabs in the Makefile"),
        ("Do not squash commits.", "always squash commits"),
        ("Commit without running tests.", "commit, running tests"),
        ("Push with no review.", "push with review"),
    ],
)
def test_text_that_gains_or_loses_a_negation_is_dropped(text: str, quote: str) -> None:
    assert find_objection(text, quote, quote) is DropReason.NEGATION
