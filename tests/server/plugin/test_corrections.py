"""Later statements of the user on a stored subject, through the plugin's interface with the real learner.

The pairs run with the test embedder, which knows no synonyms. docs/quality.md has the figures of the shipped model.
"""

from __future__ import annotations

from collections import Counter

import pytest

from opencode_memory.models import Status
from support.corrections import CORRECTED, Correction, ask_again, read_corrections, run_correction
from support.mcp import Resident, World

LEAST_IN_SIGHT = 38
"""Number of the 40 requests that must hold the later statement."""


@pytest.mark.timeout(300)
@pytest.mark.parametrize(("name", "all_pairs", "least"), [("pairs", 40, 38), ("later", 12, 11)])
def test_later_word_of_the_user_leads_in_nearly_all_pairs(
    world: World, server: Resident, name: str, all_pairs: int, least: int
) -> None:
    pairs = list(read_corrections(name))
    outcomes = {
        pair.then: run_correction(world, server, pair, f"{name}-{number}").name for number, pair in enumerate(pairs)
    }
    counts = Counter(outcomes.values())
    others = {then: outcome for then, outcome in outcomes.items() if outcome not in CORRECTED}
    assert len(outcomes) == all_pairs
    assert counts["old alone"] == 0, others
    assert sum(counts[outcome] for outcome in CORRECTED) >= least, others


@pytest.mark.parametrize("pair", [pytest.param(pair, id=pair.kind) for pair in read_corrections("negatives")])
def test_message_about_something_else_leaves_a_memory_alone(world: World, server: Resident, pair: Correction) -> None:
    outcome = run_correction(world, server, pair, "walrus-two")
    assert outcome.old is not None
    linked = [found.kind for found in world.store.related(outcome.old.id, limit=20)]
    assert outcome.old.status is Status.ACTIVE
    assert not {"contradicts", "supersedes"}.intersection(linked)
    [same] = [memory for memory in world.store.list(project="*") if memory.content == outcome.old.content]
    assert same.id == outcome.old.id


@pytest.mark.timeout(300)
def test_next_session_gets_the_later_statement_and_never_the_earlier_one_alone(world: World, server: Resident) -> None:
    pairs = list(read_corrections("pairs"))
    new, old_alone = [], []
    for number, pair in enumerate(pairs):
        run_correction(world, server, pair, f"pair{number}")
        sight = ask_again(world, server, pair, f"pair{number}")
        if sight.new:
            new.append(pair)
        if sight.old_alone:
            old_alone.append(pair)
    assert not old_alone
    assert len(new) >= LEAST_IN_SIGHT, [pair.asks for pair in pairs if pair not in new]
