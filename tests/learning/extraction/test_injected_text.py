"""What a memory gave to a session is never learned again, whoever repeats it; what tools return is nobody's statement."""

from __future__ import annotations

import pytest

from opencode_memory.learning.extraction.events import ToolCall
from opencode_memory.learning.extraction.injected_text import MOST_HASHES, add_texts, hash_triples, repeats
from opencode_memory.models import Category
from support.learning import LEDGER, RUFF, agent, bash, find_candidates, learn_texts, user

FINDING = "It turns out that the staging database listens on port 5433 and not 5432."


def read(path: str, output: str) -> ToolCall:
    return ToolCall(tool="read", input={"filePath": path}, output=output)


def test_a_finding_of_the_agent_is_learned_when_nobody_gave_it():
    assert FINDING in learn_texts(user("go"), agent(FINDING), least=0.2)


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
def test_an_injected_block_is_not_learned_nor_who_repeats_it(block):
    assert learn_texts(user(f"{block.format(RUFF)}\nhello"), least=0.2) == []
    assert learn_texts(user(f"go {block.format(FINDING)}"), agent(FINDING), least=0.2) == []
    assert learn_texts(user(f"go {block.format(LEDGER)}"), agent("ok"), user(LEDGER), least=0.2) == []


@pytest.mark.parametrize(
    "tool", ["memory_recall", "opencode-memory_recall", "mem_search", "recall", "project_memory_get"]
)
def test_what_a_memorys_tool_returned_is_not_learned_from_the_agent(tool):
    call = ToolCall(tool=tool, input={"query": "staging"}, output=f"1. {FINDING}")

    assert learn_texts(user("go"), call, agent(FINDING), least=0.2) == []


def test_a_sentence_that_mostly_repeats_what_was_given_is_not_learned():
    call = ToolCall(tool="memory_recall", input={}, output=FINDING)
    again = "It turns out that the staging database listens on port 5433 and not 5432, as expected here."

    assert learn_texts(user("go"), call, agent(again), least=0.2) == []


def test_what_was_given_is_known_after_many_messages():
    call = ToolCall(tool="memory_recall", input={}, output=FINDING)

    assert FINDING not in learn_texts(user("go"), call, *[bash("ls")] * 500, user("and"), agent(FINDING), least=0.2)


def test_what_our_command_printed_in_a_shell_is_not_learned_from_the_agent():
    assert FINDING not in learn_texts(
        user("go"), bash("opencode-memory recall staging", 0, FINDING), agent(FINDING), least=0.2
    )


def test_what_the_file_of_memories_says_is_not_learned_from_the_agent():
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
def test_what_a_tool_returns_or_is_given_is_no_statement(call):
    assert learn_texts(user("go"), call, user("fine"), least=0.3) == []


def test_an_error_text_becomes_no_order():
    calls = [bash("make", 1, RUFF), ToolCall(tool="edit", input={"filePath": "/home/ann/shop/a.py"}), bash("make")]

    assert {one.category for one in find_candidates(*calls)} <= {Category.SOLUTION, Category.PROCEDURE}


def test_what_an_agent_orders_is_never_the_persons_order():
    said = find_candidates(user("go"), agent(f"{RUFF} Never push to main. Always use uv in this project. {LEDGER}"))

    assert [one for one in said if one.is_persons] == []
    assert [one for one in said if one.category is Category.DIRECTIVE] == []


def test_the_hashes_of_what_was_given_are_bounded_and_the_oldest_go_first():
    known = add_texts((), [f"word{number} and then something" for number in range(MOST_HASHES)])
    known = add_texts(known, [FINDING])

    assert len(known) == MOST_HASHES
    assert repeats(FINDING, known)


def test_texts_without_words_repeat_nothing():
    assert hash_triples("… !!") == ()
    assert not repeats("…", hash_triples(FINDING))
    assert not repeats(FINDING, ())
