"""Agents' findings: limits of named products and commands, and stated causes; no plans, reports, guesses and bugs."""

from __future__ import annotations

import pytest

from opencode_memory.learning.extraction.findings import MOST_PER_ANSWER, MOST_PER_SESSION, extract_from_agent
from opencode_memory.models import Category
from support.learning import agent, edit, filter_category, find_candidates, learn_texts, user


def findings(text: str, edited: tuple[str, ...] = ()) -> list[str]:
    return [candidate.content for candidate in extract_from_agent(text, edited)]


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("PocketBase only accepts ISO dates in filters.", "PocketBase only accepts ISO dates in filters."),
        (
            "**Root cause:** The Fly.io proxy strips the `Host` header unless TLS is on.",
            "The Fly.io proxy strips the `Host` header unless TLS is on.",
        ),
        (
            "However, LibreOffice re-encodes formulas when it saves as CSV.",
            "LibreOffice re-encodes formulas when it saves as CSV.",
        ),
        (
            "- The `wrangler` command doesn't read `.env` files in this mode",
            "The `wrangler` command doesn't read `.env` files in this mode.",
        ),
        (
            "The upload stops because Google Drive rejects names with trailing dots.",
            "Google Drive rejects names with trailing dots.",
        ),
        (
            "`seed` skips the audit rows because they belong to the archive schema.",
            "`seed` skips the audit rows because they belong to the archive schema.",
        ),
        (
            "It turns out that the staging database listens on port 5433 and not 5432.",
            "The staging database listens on port 5433 and not 5432.",
        ),
    ],
)
def test_explanation_of_a_named_system_is_a_finding(text, stored):
    assert findings(text) == [stored]


@pytest.mark.parametrize(
    "text",
    [
        "I'll change the importer because PocketBase only accepts ISO dates.",
        "We should pin PocketBase because it rejects the new header.",
        "PocketBase is now configured because the port was taken.",
        "I've updated `seed` because it ignores the archive schema.",
        "PocketBase probably only accepts ISO dates in filters.",
        "Does PocketBase only accept ISO dates in its filters?",
        "PocketBase only accepts these forms of dates in filters:",
        "It only accepts ISO dates in filters because of the parser.",
        "This file doesn't compile because PocketBase rejects the import.",
        "The function only handles dates because the parser rejects times.",
        "The test is failing because PocketBase rejects the date.",
        "`seed` fails because the audit rows belong to the archive schema.",
        "`load_rows` on line 40 skips rows because the header is missing.",
        "`parseRows` only checks the header of the uploaded sheet.",
        "The CheckoutDialog component doesn't close after the payment succeeds.",
        "All 14 tests pass because PocketBase rejects the old date.",
        "Good plan, because the answer shapes the whole release.",
        "PocketBase «…» because it only accepts ISO dates.",
        "## PocketBase only accepts ISO dates in filters",
        "> PocketBase only accepts ISO dates in filters.",
        "```\nPocketBase only accepts ISO dates in filters.\n```",
        "<memories>PocketBase only accepts ISO dates in filters.</memories>",
        "PocketBase rejects dates.",
    ],
)
def test_plans_reports_guesses_bugs_and_unnamed_subjects_are_no_findings(text):
    assert findings(text) == []


def test_word_at_the_beginning_is_a_name_if_the_answer_uses_it_as_one():
    sentence = "Caddy rejects certificates without a common name."

    assert findings(sentence) == []
    assert findings(f"{sentence} The logs of Caddy say so.") == [sentence]


def test_finding_about_an_edited_file_is_left_out():
    text = "`ledger` skips the audit rows because they belong to the archive schema."

    assert findings(text, ("src/orders.py",)) == [text]
    assert findings(text, ("src/ledger.py",)) == []


def test_finding_is_dropped_if_its_file_is_edited_afterwards():
    text = "`ledger` skips the audit rows because they belong to the archive schema."

    assert learn_texts(user("why?"), agent(text), edit("src/orders.py"), user("ok")) == [text]
    assert learn_texts(user("why?"), agent(text), edit("src/ledger.py"), user("ok")) == []


def test_findings_of_an_answer_and_of_a_session_are_bounded():
    names = ["PocketBase", "LibreOffice", "WireGuard", "MariaDB", "RabbitMQ", "OpenLDAP", "GitLab", "CouchDB"]
    said = [f"{name} only accepts the {name.lower()} form of dates." for name in names]

    assert len(findings("\n".join(said))) == MOST_PER_ANSWER
    facts = filter_category(find_candidates(user("go"), *map(agent, said)), Category.FACT)
    assert len(facts) == MOST_PER_SESSION


def test_answer_gives_one_finding_for_each_subject():
    said = "PocketBase only accepts ISO dates in filters.\nPocketBase rejects the short form of dates."

    assert findings(said) == ["PocketBase only accepts ISO dates in filters."]
