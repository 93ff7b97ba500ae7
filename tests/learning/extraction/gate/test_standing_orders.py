"""Standing orders: orders and habits with a word of time or generality, against complaints and product requirements."""

from __future__ import annotations

import pytest

from opencode_memory.models import Category
from support.learning import find_candidates, learn_texts, user


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("always run the migrations before the tests", "Always run the migrations before the tests."),
        ("Never force-push to a shared branch!", "Never force-push to a shared branch!"),
        ("ok so you should never edit generated files, please", "Never edit generated files."),
        ("from now on answer in short sentences", "From now on answer in short sentences."),
        ("going forward, use conventional commits", "Going forward, use conventional commits."),
        ("whenever you add an endpoint, update openapi.yaml", "Whenever you add an endpoint, update openapi.yaml."),
        ("when you run the linter, can you please skip vendored code", "When you run the linter, skip vendored code."),
        ("Don't use print for logging anymore.", "Don't use print for logging anymore."),
        ("no matter what, never print a secret", "No matter what, never print a secret."),
        ("please ask me before each deploy, every time", "Ask me before each deploy, every time."),
    ],
)
def test_order_with_a_word_of_time_is_a_directive_that_stands_alone(text, content):
    (one,) = find_candidates(user(text))

    assert one.content == content
    assert one.category in {Category.DIRECTIVE, Category.DECISION}
    assert not one.is_weak


@pytest.mark.parametrize(
    "text",
    [
        "We never deploy on Fridays.",
        "we should always be testing against a real database",
        "we only support the two latest browsers",
        "All migrations must be reversible.",
        "Commit messages should never name a customer.",
        "config.toml should always be sorted by key",
        "we will by default write new modules in Rust",
        "Polling was a mistake, webhooks are the preferred approach.",
        "I don't want you to add dependencies without asking.",
        "Do not squash the history of the docs branch, we need the authors for the report.",
        "you should not be committing anything to the release branch",
        "I want the changelog to be updated whenever a release is tagged.",
        "From now on work only in the firmware folder.",
        "Don't publish a release without asking me.",
        "Don't touch the vendored code unless I say so.",
        "In this project we use British spelling.",
        "We write dates as ISO 8601 everywhere.",
        "All new modules should be written in Kotlin.",
        "no emojis in commit messages, ever",
        "Our rule for branches is: one ticket, one branch.",
        "I'm not a fan of mocking the database in tests.",
        "please stop writing summaries every time you finish something",
    ],
)
def test_rule_of_the_team_is_no_directive(text):
    (one,) = find_candidates(user(text))

    assert one.category in {Category.CONVENTION, Category.PREFERENCE}
    assert not one.is_weak


@pytest.mark.parametrize(
    "text",
    [
        "It never loads.",
        "The list always shows 0 after a refresh.",
        "the second request never gets an answer",
        "You keep saying it is fixed, but the dots have always remained.",
        "The counter and the title never updated.",
        "it opens the menu and never closes it",
        "We never see the loading state.",
        "every time I open the page it crashes",
        "I always get a timeout on the second run",
        "you never answered my question",
        "you always rewrite the whole thing",
        "you never ask before you delete a file",
        "the build is always red today",
    ],
)
def test_complaint_with_always_or_never_is_no_order(text):
    assert learn_texts(user(text)) == []


@pytest.mark.parametrize(
    "text",
    [
        "The save button should always be visible.",
        "the player must never leave the map",
        "Users should always see their own avatar.",
        "The header should never be taller than 40 px.",
        "The page must always show the latest price.",
        "As a user, I want to always see my balance.",
        "please default to the dark theme",
        "The robot should never touch the wall again.",
        "make the dialog always open in the middle of the screen",
        "I want the canvas to be cleared every time I press space",
        "the query should always return at least one row",
    ],
)
def test_requirement_for_the_product_is_no_order(text):
    assert learn_texts(user(text)) == []


@pytest.mark.parametrize(
    "text",
    [
        "Do not touch anything else.",
        "Don't change any other files.",
        "Never edit this file by hand in this step.",
        "For now always return an empty list.",
        "always use the second option here",
        "Do not touch the padding, the gap or the shadows.",
        "Do NOT edit the plan file itself.",
        "when you are done, run the tests",
        "before you start, read the ticket",
        "If we never finish it, so be it.",
        "Should we always run it twice?",
        "Why do you always add comments?",
        "Maybe we should always run it twice.",
        "My colleague says you should always use tabs.",
    ],
)
def test_order_about_the_work_at_hand_is_not_learned(text):
    assert learn_texts(user(text)) == []


def test_choice_for_now_is_a_decision_if_it_names_the_only_way():
    (one,) = find_candidates(user("We will only support PostgreSQL for now."))

    assert one.category is Category.DECISION


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("no emojis in commit messages, ever", "No emojis in commit messages, ever."),
        ("Stop writing summaries every time you finish", "Stop writing summaries every time you finish."),
        ("no, never edit the lock file", "Never edit the lock file."),
        ("tasks.md should always list the open tasks", "tasks.md should always list the open tasks."),
        ("we always sort imports, so can you fix the order?", "We always sort imports."),
        ("it is important that you never touch the vault", "Never touch the vault."),
        ("I want you to always explain the trade-offs, thanks", "Always explain the trade-offs."),
    ],
)
def test_wording_keeps_the_sense_and_drops_what_belongs_to_the_talk(text, content):
    assert learn_texts(user(text)) == [content]


def test_order_that_refers_back_is_learned_with_its_sentence_before():
    told = user("You pushed straight to the main branch. Never do that again.")

    assert learn_texts(told) == ["You pushed straight to the main branch. Never do that again."]
    assert learn_texts(user("Never do that again.")) == []


@pytest.mark.parametrize(
    "said",
    [
        "For this repo: named exports only, no default exports.",
        "In our project: squash merges only.",
        "Always run the linter for this project.",
        "Use pnpm, not npm for this repo.",
    ],
)
def test_rule_of_this_project_is_not_about_the_work_at_hand(said: str) -> None:
    assert learn_texts(user(said)) == [said]


@pytest.mark.parametrize(
    "said",
    [
        "For this repo: run the tests.",
        "For this project: create a login page.",
        "For this repo: can you add a linter?",
        "For this project I want a login page.",
        "Always show the spinner for this page.",
    ],
)
def test_task_in_this_project_is_no_rule(said: str) -> None:
    assert learn_texts(user(said)) == []
