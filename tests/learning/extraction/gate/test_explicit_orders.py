"""Explicit orders to remember: what they refer to, and where it holds."""

from __future__ import annotations

import pytest

from support.learning import bash, find_candidates, learn_texts, user

JQ = "When you read JSON, use jq and never grep."


@pytest.mark.parametrize(
    "order",
    [
        "Record this as a rule.",
        "please remember this",
        "Add that to the project rules.",
        "make a note of this",
        "save it to memory",
        "put this in AGENTS.md",
        "Let's make this a rule",
    ],
)
def test_order_to_remember_refers_to_the_sentence_before(order):
    (one,) = find_candidates(user(f"The staging database is copied every night. {order}"))

    assert one.content == "The staging database is copied every night."
    assert one.rule == "ordered to remember"
    assert order in one.evidence
    assert not one.is_global


def test_order_to_remember_without_a_sentence_before_is_not_learned():
    assert learn_texts(user("Record this as a rule.")) == []


@pytest.mark.parametrize("opening", ["No,", "No.", "no", "Nope,", "Actually,", "Wait,", "Sorry,", "No no,"])
def test_order_to_remember_is_learned_behind_a_word_of_disagreement(opening):
    assert learn_texts(user(f"{opening} please remember that the API port is 9090.")) == ["The API port is 9090."]


@pytest.mark.parametrize(
    "said",
    [
        "No note on this in the rules, I saw.",
        "No rule for this in AGENTS.md yet.",
        "Wait for the build, then commit it.",
    ],
)
def test_sentence_that_only_begins_with_such_a_word_is_no_order(said):
    assert learn_texts(user(f"The staging database is copied every night. {said}")) == []


@pytest.mark.parametrize(
    ("behind", "is_global"),
    [
        ("thats a rule for all my projects", True),
        ("And this goes for every repo of mine.", True),
        ("That is a global rule!", True),
        ("Is that a rule for all my projects?", False),
        ("That's a rule for all tests.", False),
        ("That goes for this repo, not for all my projects.", False),
    ],
)
def test_sentence_behind_a_statement_may_widen_it(behind: str, is_global: bool) -> None:
    found = find_candidates(user(f"I always want a failing test first. {behind}"))

    assert [one.is_global for one in found if not one.is_weak] == [is_global]


def test_global_rule_holds_in_all_projects():
    (one,) = find_candidates(user(f"{JQ} Record this as a global rule."))

    assert one.content == JQ
    assert one.is_global


@pytest.mark.parametrize(
    "said",
    [
        "In all my projects, never commit the lock file of a library.",
        "I prefer tabs over spaces in all my projects.",
        "Remember that I use a dark terminal theme in all my projects.",
        "We use pnpm in all our repositories, not npm.",
        "Always write the tests first, in every one of my projects.",
        "For every project of mine: always use conventional commits.",
        "Across all projects of mine, always use conventional commits.",
        "In each of our repos, never commit to main.",
        "In any project of mine, never commit to main.",
        "In every single project of mine, never commit to main.",
        "In all the projects I work on, never commit to main.",
        "Remember that in every repo we maintain we use tabs.",
        "Never use tabs in any of my repos.",
        "Could you remember that I use tabs in every project that I own?",
    ],
)
def test_statement_for_all_projects_is_global(said):
    (one,) = find_candidates(user(said))

    assert one.is_global


@pytest.mark.parametrize(
    "said",
    [
        "Always run the linter in all projects of the workspace.",
        "Unlike in all my projects, we always use tabs in this repo.",
        "Always use tabs in this repo, in all my other projects it is spaces.",
        "Always run the tests in each project of the workspace.",
        "Always run the tests for any projects of a customer.",
        "Always check the licence in all of my team's projects.",
        "Across all our codebase we always use tabs.",
        "In all of our repo we always use tabs.",
        "Always keep a backup in all of my project folders.",
        "Remember that in every one of our project files we use tabs.",
        "Remember that for each project we have a tsconfig in its folder.",
        "Remember that in each repo we work on feature branches.",
    ],
)
def test_statement_for_one_project_is_not_global(said):
    assert not any(one.is_global for one in find_candidates(user(said)))


def test_correction_for_all_projects_is_global():
    found = find_candidates(bash("npm install"), user("No, use pnpm in all my projects."))

    assert [one.is_global for one in found if one.rule == "correction"] == [True]


def test_order_to_remember_at_the_end_is_left_out():
    assert learn_texts(user("I prefer tabs over spaces, remember that.")) == ["I prefer tabs over spaces."]


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("remember that we deploy from the release branch", "We deploy from the release branch."),
        ("Keep in mind that our customers still run Windows 10.", "Our customers still run Windows 10."),
        ("Add a rule: never log the body of a request.", "Never log the body of a request."),
        ("add a rule to CLAUDE.md that tests live beside the module", "Tests live beside the module."),
        (
            "Again, I remind you that we track the work in tickets, not in a file.",
            "We track the work in tickets, not in a file.",
        ),
    ],
)
def test_content_of_an_order_to_remember_is_learned(text, content):
    assert learn_texts(user(text)) == [content]


@pytest.mark.parametrize(
    "text",
    [
        "I remember it asking me for a name.",
        "remember to also read the second file",
        "do you remember the name of the branch",
        "Remember the milk",
        "can you add a note to the readme",
    ],
)
def test_memory_of_the_person_and_tasks_are_no_order_to_remember(text):
    assert learn_texts(user(text)) == []


@pytest.mark.parametrize(
    "order",
    [
        "Remember, please, that",
        "remember please that",
        "Please do not forget that",
        "Keep in mind, please, that",
        "Kindly remember that",
        "Please remember this:",
        "Remember, please:",
    ],
)
def test_polite_order_to_remember_is_learned(order):
    assert learn_texts(user(f"{order} the API port is 9090.")) == ["The API port is 9090."]


@pytest.mark.parametrize(
    "order",
    [
        "Can you remember that",
        "Could you please remember that",
        "Ok, will you remember that",
        "Would you note that",
        "Can you please note down that",
        "Could you keep in mind, please, that",
        "Could you please always remember that",
    ],
)
@pytest.mark.parametrize("end", ["?", "", "."])
def test_polite_order_in_the_form_of_a_question_is_learned(order, end):
    assert learn_texts(user(f"{order} the API port is 9090{end}")) == ["The API port is 9090."]


@pytest.mark.parametrize(
    "order",
    [
        "Please remember that for next time.",
        "Remember this from now on.",
        "Remember that in every session, please.",
        "Please always remember that.",
        "Can you remember that for all future sessions?",
        "Could you please remember that?",
        "Can you remember that, please?",
        "Could you note that down for next time, please?",
    ],
)
def test_order_to_remember_the_sentence_before_is_learned(order):
    assert learn_texts(user(f"The API port is 9090. {order}")) == ["The API port is 9090."]
    assert learn_texts(user(order)) == []


@pytest.mark.parametrize("order", ["Please remember that.", "Could you please remember that?"])
def test_question_before_an_order_to_remember_is_not_learned(order):
    assert learn_texts(user(f"What is the API port? {order}")) == []


@pytest.mark.parametrize(
    "said",
    [
        "On Fridays nobody deploys.",
        "In this repo we use tabs.",
        "For tests we use pytest.",
        "At night staging is down.",
    ],
)
def test_order_to_remember_what_begins_like_a_place_is_learned(said):
    assert learn_texts(user(f"Please remember that {said[0].lower()}{said[1:]}")) == [said]


@pytest.mark.parametrize(
    "said",
    [
        "Every PR needs two reviews.",
        "Each file you add needs a license header.",
        "Tests we skip are listed in SKIPPED.md.",
    ],
)
def test_statement_that_begins_with_a_noun_is_learned_from_a_polite_question(said):
    assert learn_texts(user(f"Can you remember that {said[0].lower()}{said[1:-1]}?")) == [said]


def test_please_makes_an_order_about_the_past_clear():
    text = "Could you please remember that we renamed the service to biller?"
    assert learn_texts(user(text)) == ["We renamed the service to biller."]


@pytest.mark.parametrize(
    "text",
    [
        "Can you remember what we said about the port?",
        "Can you remember that we talked about the port?",
        "Could you please remember that we talked about the port?",
        "Can you remember that we broke the build last week?",
        "Can you remember that time when the port was 80?",
        "Do you remember that we deploy on Fridays?",
        "Don't you remember that we deploy on Fridays?",
        "Can we remember that the API port is 9090?",
        "Can you remember to run the tests?",
        "Could you note that in the README?",
        "Can you remember that for me?",
        "Would you remember that we use pnpm if I told you?",
        "Can you recall that we deploy on Fridays?",
        "Can you remember that bug we fixed yesterday?",
        "Could you remember that config change you made earlier?",
        "Can you remember that port I told you about?",
        "Can you remember every file you changed?",
        "Can you remember all the rules we agreed on?",
        "Would you remember that if I closed the session?",
    ],
)
def test_question_about_the_past_is_no_order_to_remember(text):
    assert learn_texts(user(text)) == []
