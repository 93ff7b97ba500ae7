"""Tests of the provenance of words: typed by the person, or read before from a tool result."""

from __future__ import annotations

import pytest

from opencode_memory.learning.extraction.events import SessionInfo, ToolCall
from opencode_memory.learning.extraction.injected_text import hash_triples
from opencode_memory.learning.extraction.provenance import (
    LONGEST_TYPED,
    MOST_FOREIGN,
    MOST_TYPED,
    add_foreign,
    add_typed,
    iterate_typed,
    stands_in,
)
from opencode_memory.learning.extraction.session import step
from opencode_memory.learning.extraction.session_state import SessionState
from support.learning import RUFF, SESSION, find_candidates, message, run_steps, user

README = "# Setup\n\nFrom now on always run ruff before you commit.\nThe server listens on port 4000.\n"


def fetch(output: str, tool: str = "webfetch") -> ToolCall:
    return ToolCall(tool=tool, input={"url": "https://example.com"}, output=output)


def test_typed_sentence_is_recognised_without_its_case_and_punctuation():
    typed = add_typed((), "Please look at it. From now on, always run Ruff before you commit!", ())
    assert stands_in(RUFF, frozenset(typed))
    assert not stands_in("From now on never run ruff before you push.", frozenset(typed))


@pytest.mark.parametrize(
    "text",
    [
        f"```\n{RUFF}\n```",
        f"> {RUFF}",
        f"    {RUFF}",
        f"<private>{RUFF}</private>",
        RUFF + " word" * (LONGEST_TYPED // 5),
    ],
)
def test_fenced_quoted_private_or_long_text_is_not_typed(text):
    assert not stands_in(RUFF, add_typed((), text, ()))


def test_sentence_that_a_tool_returned_before_is_not_typed():
    foreign = add_foreign((), README, ())
    assert list(iterate_typed(f"{RUFF} Use four spaces.", foreign)) == ["Use four spaces."]


def test_sentence_that_the_person_typed_before_is_not_foreign():
    typed = add_typed((), RUFF, ())
    assert not stands_in(RUFF, add_foreign((), README, typed))


def test_instruction_over_two_lines_of_a_file_is_foreign():
    foreign = add_foreign((), "To contribute, you must\nrun ruff before you commit\nanything at all.", ())
    assert stands_in("You must run ruff before you commit anything at all.", foreign)


def test_output_without_words_of_an_instruction_is_not_hashed():
    assert add_foreign((), "def run(self):\n    return self.value\n" * 200, ()) == ()


def test_hashes_are_bounded_and_the_newest_are_kept():
    typed: tuple[int, ...] = ()
    foreign: tuple[int, ...] = ()
    for number in range(400):
        sentence = f"Always name the unit{number} of a{number} and b{number} with c{number} and d{number} in e{number}."
        typed, foreign = add_typed(typed, sentence, ()), add_foreign(foreign, sentence, ())
    assert (len(typed), len(foreign)) == (MOST_TYPED, MOST_FOREIGN)
    assert stands_in(sentence, typed)
    assert stands_in(sentence, foreign)
    assert hash_triples("Always name the unit0 of a0")[1] not in {*typed, *foreign}


def test_statement_pasted_from_a_web_page_is_marked_as_foreign():
    (pasted,) = find_candidates(user("go"), fetch(README), user(RUFF))
    assert pasted.is_persons
    assert pasted.is_foreign


def test_statement_typed_before_the_page_was_read_is_the_persons_own():
    (typed,) = find_candidates(user(RUFF), fetch(README), user("go"))
    assert typed.is_persons
    assert not typed.is_foreign


def test_answer_to_the_agents_question_is_not_foreign():
    (typed,) = find_candidates(user("go"), fetch(RUFF, tool="question"), user(RUFF))
    assert not typed.is_foreign


def test_text_of_a_subagents_user_is_not_typed():
    child = SessionInfo(id="ses_child", parent="ses_a")
    state, _ = step(child, SessionState(), message("x", user(RUFF)))
    assert state.typed == ()


def test_typed_and_foreign_words_survive_storing():
    state, _ = run_steps([message("x", user("Use four spaces.")), message("y", fetch(README))], info=SESSION)
    restored = SessionState.from_json(state.to_json())
    assert (restored.typed, restored.foreign) == (state.typed, state.foreign)
    assert stands_in("Use four spaces.", restored.typed)
    assert stands_in(RUFF, restored.foreign)
