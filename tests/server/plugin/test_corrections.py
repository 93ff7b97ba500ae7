"""Later statements of the user on a stored subject, through the plugin's interface with the real learner."""

from __future__ import annotations

import pytest

from opencode_memory.models import Status
from support.corrections import Correction, read_corrections, run_correction
from support.mcp import Resident, World


@pytest.mark.parametrize("pair", [pytest.param(pair, id=pair.kind) for pair in read_corrections("negatives")])
def test_message_about_something_else_leaves_a_memory_alone(world: World, server: Resident, pair: Correction) -> None:
    outcome = run_correction(world, server, pair, "walrus-two")
    assert outcome.old is not None
    linked = [found.kind for found in world.store.related(outcome.old.id, limit=20)]
    assert outcome.old.status is Status.ACTIVE
    assert not {"contradicts", "supersedes"}.intersection(linked)
    [same] = [memory for memory in world.store.list(project="*") if memory.content == outcome.old.content]
    assert same.id == outcome.old.id
