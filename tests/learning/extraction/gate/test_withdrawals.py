"""Sentences that withdraw an earlier statement by its subject."""

from __future__ import annotations

import pytest

from opencode_memory.learning.extraction.gate.withdrawals import find_withdrawal


@pytest.mark.parametrize(
    ("sentence", "subject"),
    [
        ("Forget the rule about pnpm.", "pnpm"),
        ("please forget about the no force push rule", "no force push"),
        ("Forget what I told you about commit messages.", "commit messages"),
        ("Forget everything I said about tabs, spaces are fine.", "tabs"),
        ("You can forget the linter rule, it's too slow", "linter"),
        ("Disregard my preference for tabs.", "tabs"),
        ("Scratch the rule that migrations are written by hand.", "migrations are written by hand"),
        ("Never mind the linter rule from now on.", "linter"),
        ("Ignore the rule about migrations from now on.", "migrations"),
        ("Drop the naming convention for good.", "naming"),
        ("Remove the memory about the staging server.", "the staging server"),
        ("The rule about force pushing no longer applies.", "force pushing"),
        ("Our naming convention doesn't apply any more.", "naming"),
        ("The `dist/` policy is obsolete now.", "dist/"),
        ("the async ban is lifted", "async"),
    ],
)
def test_subject_of_a_withdrawal_is_found(sentence: str, subject: str) -> None:
    assert find_withdrawal(sentence) == subject


@pytest.mark.parametrize(
    "sentence",
    [
        "Forget it.",
        "Forget the rule.",
        "Ignore that instruction.",
        "That convention no longer applies.",
        "Don't forget the rule about pnpm.",
        "Never forget the rule about pnpm.",
        "Forget the rule about pnpm for now.",
        "Forget the linter rule today.",
        "You can forget the linter rule if the CI is down.",
        "Ignore the lint rule in this file.",
        "Remove the eslint rule about semicolons.",
        "Delete the firewall rule for port 80.",
        "The firewall rule is gone.",
        "Drop the memory limit.",
        "Forget the rule about " + "a very long story " * 20,
    ],
)
def test_task_and_sentence_for_once_withdraw_nothing(sentence: str) -> None:
    assert find_withdrawal(sentence) is None
