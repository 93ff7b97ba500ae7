"""Remarks that take the user's last message back, and tasks with the same words."""

from __future__ import annotations

import pytest

from opencode_memory.learning.extraction.statements import is_retraction
from support.learning import LEDGER, agent, learn_texts, user

REMARKS = [
    "Ignore that.",
    "ignore this please",
    "Ignore that for now.",
    "Ignore the last message.",
    "Disregard my previous message",
    "disregard that rule",
    "Forget that, it was nonsense.",
    "ok forget I said anything",
    "never mind that",
    "Nvm, found it.",
    "cancel my last instruction",
    "Undo that rule, I was too quick.",
    "On second thought, no.",
    "let's not do that after all",
    "that was wrong, ignore it",
    "That was nonsense, sorry.",
    "My last instruction was a mistake.",
    "Sorry, that's not right. Don't remember that.",
    "please don't remember that",
    "I didn't mean that.",
    "I spoke too soon.",
    "Wrong chat, please ignore.",
    "Oops, that was meant for another project.",
    "No wait, scrap that.",
    "Hold on, no, that is for tests only.",
    "Wrong project, sorry.",
    "Sorry, wrong window.",
    "Sorry, meant for another project.",
    "haha just kidding",
    "I'm joking.",
    "forget that it was nonsense",
    "Forget that I asked.",
    "Ignore my last suggestion.",
    "Don't keep that in memory.",
    "that was premature, scrap it",
    "Don't actually do that.",
    "I meant rarely, forget that rule about the tests.",
]
TASKS = [
    "From now on ignore this warning.",
    "Ignore this warning from now on.",
    "Ignore the deprecation warnings in tests.",
    "Ignore this file.",
    "Ignore the last failing test.",
    "Disregard case when comparing names.",
    "Forget about perfect, just make it work.",
    "Forget that approach and use a queue.",
    "never mind the failing test, it is flaky",
    "nvm use 18",
    "Scratch that itch later.",
    "Undo that, please.",
    "Undo that last edit.",
    "On second thought, also never touch dist.",
    "Let's not do that in this PR.",
    "That was wrong, you edited the file in dist.",
    "That was wrong.",
    "Don't remember that file, read it again.",
    "I didn't mean that folder.",
    "The project name is wrong.",
    "Wrong project name in the config.",
    "Wait, no test covers this.",
    "Actually, wait for the build.",
    "The docs are not really up to date.",
    "My mistake was in the Dockerfile.",
    "I'll take that back to the team.",
    "You cloned the wrong repo.",
    "Clicking the link opens the wrong tab, fix it.",
    "The remote points to the wrong project.",
    "This function is meant for a different session.",
    "It's meant for another project too.",
    "You must be joking, the test fails again.",
    "No more joking in comments.",
    "Just kidding around with names does not help.",
    "Cancel this order when the payment fails.",
    "Ignore this request if the token is missing.",
    "Ignore that message from npm.",
    "Ignore that suggestion from the linter.",
    "Ignore that one failing test.",
    "Ignore that it fails.",
    "Forget that we have no tests and go on.",
    "The last part is wrong.",
    "The last suggestion was wrong.",
    "Don't store it, hash it first.",
    "Don't keep it, delete the file.",
    "No need to save it.",
    "That's wrong, undo it.",
    "It's wrong, drop it and use a set.",
    "I did not mean that as criticism, go on.",
    "Actually forget the tests, do the docs first.",
    "Actually hold the deployment.",
    "Don't actually push anything yet.",
    "No wait time is allowed.",
]


@pytest.mark.parametrize("remark", REMARKS)
def test_remark_takes_the_last_message_back(remark: str) -> None:
    assert is_retraction(remark)
    assert LEDGER not in learn_texts(user(LEDGER), agent("ok"), user(remark))


@pytest.mark.parametrize("task", TASKS)
def test_task_with_the_words_of_a_remark_takes_nothing_back(task: str) -> None:
    assert not is_retraction(task)
    assert LEDGER in learn_texts(user(LEDGER), agent("ok"), user(task))
    assert LEDGER in learn_texts(user(f"{LEDGER} {task}"))


@pytest.mark.parametrize(
    "message",
    [
        "> Never mind, ignore that.\n\nWhy did you write that?",
        "```\nnever mind, ignore that\n```\nWhy is this printed?",
        '<file path="talk.txt">scratch that</file>\nRead this.',
    ],
    ids=["quoted", "code", "file"],
)
def test_remark_that_is_quoted_or_pasted_takes_nothing_back(message: str) -> None:
    assert not is_retraction(message)
    assert LEDGER in learn_texts(user(LEDGER), agent("ok"), user(message))


@pytest.mark.parametrize(
    "text", ["Forget the last rule.", "Disregard my previous instruction.", "Forget my last order."]
)
def test_last_rule_names_the_statement_before(text: str) -> None:
    assert LEDGER not in learn_texts(user(f"{LEDGER} {text}"))


def test_remark_before_pasted_text_takes_the_last_message_back() -> None:
    pasted = "```\n" + "x = 1\n" * 100 + "```"
    assert LEDGER not in learn_texts(user(LEDGER), agent("ok"), user(f"{pasted}\nscratch that"))
    assert LEDGER not in learn_texts(user(LEDGER), agent("ok"), user(f"scratch that\n{pasted}"))


@pytest.mark.parametrize(
    "order",
    ["From now on, ignore deprecation warnings.", "Disregard deprecated endpoints from now on."],
)
def test_standing_order_to_ignore_something_is_learned(order: str) -> None:
    assert learn_texts(user(LEDGER), agent("ok"), user(order)) == [LEDGER, order]


def test_order_to_ignore_this_warning_is_not_learned_without_the_warning() -> None:
    assert learn_texts(user("From now on ignore this warning.")) == []
