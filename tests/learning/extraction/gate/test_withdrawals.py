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
        ("Drop the Friday rule.", "Friday"),
        ("Let's abandon the two-approvals requirement.", "two-approvals"),
        ("Please rescind our naming convention.", "naming"),
        ("The code freeze is over.", "code"),
        ("I changed my mind about the port", "the port"),
        ("I've changed my mind on tabs, sorry.", "tabs"),
        ("I was wrong about Redis being required.", "Redis being required"),
        ("What I said about the migrations was wrong", "the migrations"),
        ("My note about Lumo is obsolete.", "Lumo"),
        ("My advice on mocks turned out to be wrong, sorry.", "mocks"),
        ("The tabs thing I told you is wrong, ignore it.", "tabs"),
        ("That thing about Vault turned out to be false.", "Vault"),
        ("About the linter: ignore my earlier instruction.", "the linter"),
        ("wrt alpine: I was wrong", "alpine"),
        ("Remove what you remember about the staging server.", "the staging server"),
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
        "Drop the eslint rule.",
        "Revoke the firewall rule for good measure.",
        "Scrap the CSS hover rule.",
        "Drop the friday_rule column from the table.",
        "Don't drop the Friday rule!",
        "We could drop the Friday rule.",
        "The validation rule no longer applies.",
        "Tom changed his mind about Vault.",
        "I haven't changed my mind about pnpm.",
        "What I said about Redis still holds.",
        "What the README says about npm was wrong.",
        "The changelog thing is wrong.",
        "The thing with the cache is slow.",
        "I was wrong.",
        "Forget the rule about " + "a very long story " * 20,
    ],
)
def test_task_and_sentence_for_once_withdraw_nothing(sentence: str) -> None:
    assert find_withdrawal(sentence) is None
