"""Retractions, and statements that begin with the same words."""

from __future__ import annotations

import pytest

from opencode_memory.learning.extraction.statements import is_retraction
from support.learning import LEDGER, agent, bash, learn_texts, user

NPM = "Never use npm."


@pytest.mark.parametrize(
    "opening",
    [
        "Wait, no,",
        "Wait, no.",
        "wait no",
        "no wait,",
        "No. Wait.",
        "Oh wait,",
        "Actually, no,",
        "Hmm, no,",
        "Hold on, no,",
    ],
)
def test_rule_behind_an_interjection_is_learned_and_retracts_no_message(opening):
    assert learn_texts(user(LEDGER), agent("ok"), user(f"{opening} never use npm.")) == [LEDGER, NPM]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("wait, no, we never deploy on Fridays", "We never deploy on Fridays."),
        ("Wait, no, from now on use uv.", "From now on use uv."),
        ("wait, no, always run the linter before a commit", "Always run the linter before a commit."),
        ("Wait, never use npm.", NPM),
    ],
)
def test_standing_orders_and_habits_behind_wait_no_are_learned(text, kept):
    assert learn_texts(user(text)) == [kept]


def test_long_rule_behind_wait_no_is_learned():
    text = "never use npm in this repo, because the lock file of pnpm is the only one that we keep up to date"
    assert learn_texts(user(f"Wait, no, {text}.")) == [f"N{text[1:]}."]


def test_rule_behind_wait_no_retracts_the_sentence_before():
    assert learn_texts(user(f"From now on use yarn. Wait, no, {NPM}")) == [NPM]


@pytest.mark.parametrize("opening", ["On second thought,", "My mistake,", "Never mind,", "I take that back:"])
def test_rule_behind_words_about_the_own_message_retracts_that_message(opening):
    assert learn_texts(user(LEDGER), agent("ok"), user(f"{opening} never use npm.")) == [NPM]


@pytest.mark.parametrize(
    "text",
    [
        "Wait, no, never mind.",
        "Wait, no, never do that.",
        "Wait, no, never do it again like that.",
        "Wait, no, it never loads.",
        "Wait, no, should we never use npm?",
        "Wait, no, I was wrong, forget it.",
        "Wait, no, never actually use npm, scratch that.",
        "Wait, no. I'd rather not.",
        "Never mind, it works.",
    ],
)
def test_retraction_without_a_statement_stays_one(text):
    assert learn_texts(user(LEDGER), agent("ok"), user(text)) == []
    assert learn_texts(user(f"{LEDGER} {text}")) == []


def test_correction_of_the_agents_tool_is_learned_behind_wait_no():
    said = learn_texts(user("Add lodash."), bash("npm install lodash"), user("Wait, no, always use pnpm."))
    assert said == ["Use pnpm, not npm."]


@pytest.mark.parametrize(
    "order",
    [
        "Remember that you should ignore this warning.",
        "Please remember that we ignore this warning in CI.",
        "Don't forget that you should ignore that warning.",
        "I already told you to ignore this warning.",
    ],
)
def test_order_to_remember_to_ignore_something_retracts_nothing(order):
    assert not is_retraction(order)
    assert learn_texts(user(LEDGER), agent("ok"), user(order)) == [LEDGER]
    assert learn_texts(user(f"{LEDGER} {order}")) == [LEDGER]


def test_opening_of_an_order_to_remember_still_retracts_the_sentence_before():
    assert learn_texts(user(f"{LEDGER} Wait, no, remember that you should ignore this warning.")) == []
