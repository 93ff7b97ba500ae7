"""Adversarial texts: extraction takes little time for any session."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from opencode_memory.learning.extraction import (
    authored_text,
    blockers,
    choices,
    commands,
    findings,
    injected_text,
    problems,
    project_commands,
    sentences,
    statements,
    summary,
)
from opencode_memory.learning.extraction.events import LONGEST_TEXT, Compaction, Event, ToolCall, truncate
from opencode_memory.learning.extraction.feedback import extract_from_refusal
from opencode_memory.learning.extraction.languages.cues import MEASURED
from support.learning import LEDGER, agent, bash, edit, fail, find_candidates, refuse, user

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer of the process's own time")
SECONDS = 1.0
"""Of the processor, for one text; plain texts of this length take a twentieth of it."""


class TooSlowError(Exception):
    """The processor time limit was exceeded."""


@contextmanager
def soon() -> Iterator[None]:
    """Raise an error if the block uses too much processor time."""

    def stop(*_: object) -> None:
        raise TooSlowError

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def full_of(atom: str, end: str = "\x01") -> str:
    """Repeat a text up to the maximum length of a feed's text."""
    return atom * (LONGEST_TEXT // len(atom)) + end


OFFER = statements.Context("bash npm install\n1. use redis\n2. use memcached")
READERS: dict[str, Callable[[str], object]] = {
    "own_words": authored_text.extract_authored_text,
    "sentences": sentences.split_sentences,
    "of_person": lambda text: statements.extract_from_user(text, OFFER),
    "of_agent": findings.extract_from_agent,
    "takes_back": statements.is_retraction,
    "plays_a_role": lambda text: statements.is_role_play(text, before=True),
    "of_feedback": lambda text: extract_from_refusal(text, "bash npm install", MEASURED),
    "resolutions": lambda text: blockers.find_resolutions(text, [blockers.OpenBlocker("t", "waiting for credentials")]),
    "complaint": problems.find_complaint,
    "normalised": commands.normalise_command,
    "project_commands": project_commands.list_project_commands,
    "goal": summary.describe_goal,
    "outcome": summary.describe_outcome,
    "looks_failed": problems.looks_failed,
    "is_trivial": commands.is_trivial,
    "is_volatile": commands.is_volatile,
    "takes_edits_back": commands.reverts_edits,
    "hashes": injected_text.hash_triples,
}
PLAIN = [
    "word ", "word", "Ab", "a.b ", "0", "1 ", "é", "<private>", "<memory>", "<memory ", "< ", "```\nx\n", "'", '"',
    "„a", "«", "(", "[", "- a\n", "> a\n", "| a |\n", "a\n", f"{LEDGER} ", "never ", "use a ", "instead of ", "E   ",
    "error: ", "\x1b[0m", "&& make ", "; make ", "a=b ", "git checkout ", "\\\n",
]  # fmt: skip


@pytest.mark.parametrize("reader", READERS)
def test_long_texts_of_one_word_are_processed_quickly(reader):
    for atom in PLAIN:
        with soon():
            READERS[reader](full_of(atom))


@pytest.mark.parametrize(
    ("reader", "atom"),
    [
        ("sentences", " "),
        ("sentences", "\t"),
        ("sentences", "also "),
        ("takes_back", "and "),
        ("takes_back", "oh no, "),
        ("takes_back", "wait, no, please "),
        ("of_agent", "and "),
        ("normalised", "| cat "),
        ("of_person", "- a.b\n"),
        ("of_person", "a.b/c "),
        ("complaint", "error: a\n"),
        ("hashes", "word, "),
    ],
)
def test_adversarial_texts_are_processed_quickly(reader, atom):
    with soon():
        READERS[reader](full_of(atom))


@pytest.mark.parametrize(
    "atom",
    [
        "a-",
        "1.",
        "a b ",
        "a_b ",
    ],
)
def test_sentence_of_long_words_is_scored_quickly(atom):
    """Check the longest possible sentence: seventy words of any length."""
    with soon():
        statements.extract_from_user(f"We run {full_of(atom)}", OFFER)


@pytest.mark.parametrize("atom", ["\n", "   \n", "1. a\n", "- ", "either ", "x\n"])
def test_offer_is_recognised_quickly(atom):
    with soon():
        find_candidates(agent(full_of(atom)), user("2"))


@pytest.mark.parametrize(
    "atom",
    [
        " ",
        "\n",
        "1 ",
        "the ",
        "ok ",
    ],
)
def test_choice_is_recognised_quickly(atom):
    with soon():
        choices.find_choice(full_of(atom), "1. use redis\n2. use memcached")


EVERYWHERE: list[Callable[[str], Event]] = [
    user,
    agent,
    bash,
    fail,
    refuse,
    edit,
    lambda text: bash("make", 1, text),
    lambda text: edit("a.py", text, text[1:]),
    lambda text: Compaction(summary=text),
    lambda text: ToolCall(tool="memory_recall", input={"query": text}, output=text),
    lambda text: ToolCall(tool="apply_patch", input={"patchText": f"*** Update File: {text}"}),
]


@pytest.mark.parametrize("event", EVERYWHERE)
@pytest.mark.parametrize("text", ["x" * 100_000, "x y " * 25_000, "We decided to use it. " * 4_500])
def test_very_long_line_is_processed_quickly_in_any_event(event, text):
    with soon():
        find_candidates(event(truncate(text)))


def test_truncated_text_has_the_maximum_length():
    assert len(truncate("x" * 100_000)) <= LONGEST_TEXT + 3
