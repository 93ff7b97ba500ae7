"""Which memories were found for earlier messages of a session."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from opencode_memory.context.reasons import BEFORE, HEADLINE, IN_BRIEF, find_found_before
from opencode_memory.store.ledger import Decision, Shown, State


def decision(
    message: str,
    *shown: tuple[str, str],
    state: State = State.SHOWN,
    scores: Mapping[str, float] = MappingProxyType({}),
) -> Decision:
    memories = tuple(Shown(memory=memory, key=1, score=scores.get(memory, 0.0), why=why) for memory, why in shown)
    return Decision(session="ses_1", message=message, state=state, shown=memories)


def test_found_memories_are_returned_once_and_newest_first() -> None:
    decisions = [decision("msg_1", ("a", "words"), ("b", "words")), decision("msg_2", ("c", "words"), ("a", "words"))]
    assert find_found_before(decisions) == ("c", "a", "b")


def test_memories_of_the_brief_and_headlines_were_not_found_for_a_message() -> None:
    shown = decision("msg_1", ("a", IN_BRIEF), ("b", HEADLINE), ("c", BEFORE), ("d", "meaning 0.61, words 2 of 3"))
    assert find_found_before([shown]) == ("d",)


def test_hit_that_the_brief_of_its_block_shows_was_found() -> None:
    shown = decision("msg_1", ("a", IN_BRIEF), ("b", IN_BRIEF), scores={"b": 0.7})
    assert find_found_before([shown]) == ("b",)


def test_block_that_never_arrived_does_not_count() -> None:
    assert find_found_before([decision("msg_1", ("a", "words"), state=State.OFFERED)]) == ()


def test_old_finds_of_a_long_session_are_left_out() -> None:
    decisions = [decision(f"msg_{number}", (str(number), "words")) for number in range(30)]
    assert find_found_before(decisions) == tuple(str(number) for number in range(29, 17, -1))
