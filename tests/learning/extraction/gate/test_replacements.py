"""Choices and replacements: named alternatives, wishes for later, and what is only a matter of this edit."""

from __future__ import annotations

import pytest

from opencode_memory.models import Category
from support.learning import find_candidates, learn_texts, user


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("use httpx instead of requests", "Use httpx, not requests."),
        ("Instead of Mongo use PostgreSQL for the events.", "Use PostgreSQL, not Mongo for the events."),
        ("no, use date-fns, not moment", "Use date-fns, not moment."),
        ("forget about Jenkins, use GitHub Actions", "Use GitHub Actions, not Jenkins."),
        ("please use `uv` rather than pip", "Use `uv`, not pip."),
        ("use pnpm, not npm btw", "Use pnpm, not npm."),
    ],
)
def test_replacement_is_worded_as_use_x_not_y(text, content):
    (one,) = find_candidates(user(text))

    assert one.content == content
    assert one.evidence in text


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("npm was wrong, always use pnpm for the frontend.", "Always use pnpm, not npm for the frontend."),
        ("Choosing MySQL was a mistake: we always use PostgreSQL.", "Always use PostgreSQL, not MySQL."),
        ("`make test` is wrong, so always run `make check`", "Always run `make check`, not `make test`."),
    ],
)
def test_what_was_wrong_is_named_in_the_rule_that_replaces_it(text: str, content: str) -> None:
    (one,) = find_candidates(user(text))

    assert (one.content, one.category, one.is_weak) == (content, Category.CONVENTION, False)


@pytest.mark.parametrize(
    "text",
    [
        "The test was wrong, always use the fixture.",
        "Heading was wrong, always use the bigger one.",
        "getUser was wrong, always use fetchUser.",
        "npm was wrong, use pnpm",
    ],
)
def test_what_was_wrong_in_this_edit_is_no_rule(text: str) -> None:
    assert not [one for one in find_candidates(user(text)) if not one.is_weak]


@pytest.mark.parametrize(
    "text",
    [
        "You said npm was wrong, always use pnpm.",
        "He thinks npm is wrong, always use pnpm.",
        "If npm is wrong, always use pnpm.",
        "When yarn is wrong, always use pnpm.",
        "We run Jest and we never run Mocha.",
    ],
)
def test_condition_and_report_are_no_part_of_a_name(text: str) -> None:
    assert not [one for one in find_candidates(user(text)) if "not " in one.content]


@pytest.mark.parametrize(
    "text",
    [
        "let's go with PostgreSQL for the ledger",
        "we're sticking with Vue",
        "We switched from Heroku to Fly.io last week.",
        "we no longer support Internet Explorer",
        "we don't use the old queue anymore",
        "We decided to keep the invoices in one table.",
        "We dropped the XML importer.",
        "I'm not planning on using Segment. I want to set up PostHog for analytics instead.",
    ],
)
def test_choice_that_names_what_is_chosen_is_a_decision(text):
    (one,) = find_candidates(user(text))

    assert one.category is Category.DECISION
    assert not one.is_weak


@pytest.mark.parametrize(
    "text",
    [
        "let's go with option B",
        "go with your recommendation",
        "let's go with the first one",
        "Instead of 50% bigger let's use 25% bigger.",
        "use this one instead of that one",
        "switch to the feature branch",
        "we haven't decided on a database yet",
        "Should we use Redis instead of Memcached?",
        "rather than a button have a link",
        "use #1a1a1a instead of #000 for the text",
        "use getUser instead of fetchUser",
        "we decided to make the button green",
        "I prefer the blue one",
        "lets go with the basic test first",
        "i dont know what to debug anymore",
    ],
)
def test_choice_without_a_name_or_about_this_edit_is_not_learned(text):
    assert learn_texts(user(text)) == []


def test_preference_and_contrast_are_learned():
    assert learn_texts(user("I prefer early returns over nested conditions.")) == [
        "I prefer early returns over nested conditions."
    ]
    assert learn_texts(user("We don't call it a restore, we call it a resume.")) == [
        "We don't call it a restore, we call it a resume."
    ]


def test_intention_for_later_is_an_idea():
    (one,) = find_candidates(user("In the future, I'd like to let customers sign in with a passkey."))

    assert one.category is Category.IDEA
