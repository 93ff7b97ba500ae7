"""Injected memories and tool output are not learned, whoever repeats them."""

from __future__ import annotations

import pytest

from opencode_memory.learning.extraction.events import ToolCall
from opencode_memory.learning.extraction.injected_text import (
    MOST_HASHES,
    add_texts,
    hash_triples,
    repeats,
    strip_earlier,
)
from opencode_memory.learning.extraction.session_state import SessionState
from opencode_memory.models import Category
from support.learning import LEDGER, RUFF, agent, bash, find_candidates, learn_texts, messages, run_steps, user

FINDING = "It turns out that the staging database listens on port 5433 and not 5432."


def read(path: str, output: str) -> ToolCall:
    return ToolCall(tool="read", input={"filePath": path}, output=output)


def test_agents_finding_is_learned_unless_injected():
    (found,) = learn_texts(user("go"), agent(FINDING))

    assert found.lower() in FINDING.lower()


@pytest.mark.parametrize(
    "block",
    [
        "<memory>{}</memory>",
        "<project-memory>{}</project-memory>",
        "<opencode-memory>\n{}\n</opencode-memory>",
        '<memories source="x">{}</memories>',
        "<project_memory_context>{}</project_memory_context>",
        "<system-reminder>{}</system-reminder>",
        "<recalled>{}</recalled>",
        "<memory>{}",
    ],
)
def test_injected_block_and_its_repetition_are_not_learned(block):
    assert learn_texts(user(f"{block.format(RUFF)}\nhello"), least=0.2) == []
    assert learn_texts(user(f"go {block.format(FINDING)}"), agent(FINDING), least=0.2) == []
    assert learn_texts(user(f"go {block.format(LEDGER)}"), agent("ok"), user(LEDGER), least=0.2) == []


@pytest.mark.parametrize(
    "tool", ["memory_recall", "opencode-memory_recall", "mem_search", "recall", "project_memory_get"]
)
def test_memory_tool_output_is_not_learned_from_the_agent(tool):
    call = ToolCall(tool=tool, input={"query": "staging"}, output=f"1. {FINDING}")

    assert learn_texts(user("go"), call, agent(FINDING), least=0.2) == []


def test_sentence_that_mostly_repeats_injected_text_is_not_learned():
    call = ToolCall(tool="memory_recall", input={}, output=FINDING)
    again = "It turns out that the staging database listens on port 5433 and not 5432, as expected here."

    assert learn_texts(user("go"), call, agent(again), least=0.2) == []


def test_injected_text_is_remembered_over_many_messages():
    call = ToolCall(tool="memory_recall", input={}, output=FINDING)

    assert FINDING not in learn_texts(user("go"), call, *[bash("ls")] * 500, user("and"), agent(FINDING), least=0.2)


def test_output_of_our_command_is_not_learned_from_the_agent():
    assert FINDING not in learn_texts(
        user("go"), bash("opencode-memory recall staging", 0, FINDING), agent(FINDING), least=0.2
    )


def test_content_of_the_memory_file_is_not_learned_from_the_agent():
    file = read("/home/ann/shop/.opencode/MEMORY.md", f"- {FINDING}")

    assert FINDING not in learn_texts(user("go"), file, agent(FINDING), least=0.2)


@pytest.mark.parametrize(
    "call",
    [
        ToolCall(tool="webfetch", input={"url": "https://example.org"}, output=f"{RUFF}\n{LEDGER}"),
        ToolCall(tool="read", input={"filePath": "/home/ann/shop/README.md"}, output=f"{RUFF}\n{LEDGER}"),
        ToolCall(tool="task", input={"prompt": RUFF}, output=LEDGER),
        bash("cat README.md", 0, f"{RUFF}\n{LEDGER}"),
        bash("make rules", 0, f"{RUFF}\n{LEDGER}"),
        bash(f"echo '{RUFF}'"),
    ],
)
def test_tool_input_and_output_are_no_statements(call):
    assert learn_texts(user("go"), call, user("fine"), least=0.3) == []


def test_error_text_becomes_no_directive():
    calls = [bash("make", 1, RUFF), ToolCall(tool="edit", input={"filePath": "/home/ann/shop/a.py"}), bash("make")]

    assert {one.category for one in find_candidates(*calls)} <= {Category.SOLUTION, Category.PROCEDURE}


def test_agents_order_becomes_no_directive():
    said = find_candidates(user("go"), agent(f"{RUFF} Never push to main. Always use uv in this project. {LEDGER}"))

    assert [one for one in said if one.is_persons] == []
    assert [one for one in said if one.category is Category.DIRECTIVE] == []


def test_hashes_of_injected_text_are_bounded_and_the_oldest_dropped():
    known = add_texts((), [f"word{number} and then something" for number in range(MOST_HASHES)])
    known = add_texts(known, [FINDING])

    assert len(known) == MOST_HASHES
    assert repeats(FINDING, known)


def test_texts_without_words_are_no_repetition():
    assert hash_triples("… !!") == ()
    assert not repeats("…", hash_triples(FINDING))
    assert not repeats(FINDING, ())


BLOCK = "- Always run `ruff check` before you commit.\n- Logs are kept for 30 days in the bucket. (2 d ago)"


def learn_beside(block: str, said: str) -> list[str]:
    """Return what is ready of a message in a session to which a block was injected."""
    state = SessionState(injected=add_texts((), [strip_earlier(block)]))
    _, ready = run_steps(messages(user(said), user("ok")), state)
    return [one.content for one in ready if said.rstrip(".!") in one.content]


@pytest.mark.parametrize(
    "said",
    [
        "We no longer run `ruff check` before you commit.",
        "Logs are kept for 90 days in the bucket.",
        "Never run `ruff check` twice before you commit.",
    ],
)
def test_sentence_that_changes_an_injected_rule_is_no_repetition(said):
    assert learn_beside(BLOCK, said)


def test_repeated_rule_of_a_block_is_not_learned_again():
    assert learn_beside(BLOCK, "Always run `ruff check` before you commit!") == []


def test_earlier_statement_that_a_block_names_may_be_said_again():
    block = "- Push directly to main. (2 d ago; before: Never push directly to main.)"

    assert learn_beside(block, "Never push directly to main!")


def test_what_holds_instead_is_no_repetition_of_a_withdrawal_in_the_block():
    block = '- Rates are kept in a file. (2 d ago; said later, 1 d ago: "Forget what I said about the file.")'
    state = SessionState(injected=add_texts((), [block]))
    withdrawal = "Forget what I said about the file."
    _, again = run_steps(messages(user(withdrawal), user("ok")), state)
    _, more = run_steps(messages(user(f"{withdrawal} Rates live in the table vat_rates."), user("ok")), state)

    assert [one.rule for one in again] == []
    assert [one.instead for one in more if one.withdraws] == ["Rates live in the table vat_rates."]
