"""Documents of loops, also those that earlier versions have written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from loops.loop_world import World
from opencode_memory.loops.documents import LOOP
from opencode_memory.loops.model import StepKind, Trouble
from opencode_memory.store.documents import Change
from opencode_memory.text import clock


@pytest.mark.parametrize("tree", ["4b825dc", None])
@pytest.mark.parametrize("kind", [StepKind.CHECK, StepKind.AUDIT, StepKind.FINAL_CHECK])
def test_complaint_is_stored_and_read(make: Callable[..., World], kind: StepKind, tree: str | None) -> None:
    world = make()
    trouble = Trouble(kind=kind, said="0123456789abcdef", tree=tree)
    world.loops.write(replace(world.loop, trouble=trouble), at=clock.now())
    assert world.loops.get(world.loop.id).trouble == trouble


@pytest.mark.parametrize(
    ("stored", "trouble"),
    [
        ("", None),
        (None, None),
        (
            {"kind": "check", "said": "01ab", "tree": "4b825dc"},
            Trouble(kind=StepKind.CHECK, said="01ab", tree="4b825dc"),
        ),
        ("4b825dc:check:01ab", Trouble(kind=StepKind.CHECK, said="01ab", tree="4b825dc")),
        ("None:audit:01ab", Trouble(kind=StepKind.AUDIT, said="01ab", tree=None)),
        ("4b825dc:final:01ab", Trouble(kind=StepKind.FINAL_CHECK, said="01ab", tree="4b825dc")),
    ],
)
def test_complaint_of_an_earlier_version_is_read(
    make: Callable[..., World], stored: Any, trouble: Trouble | None
) -> None:
    world = make()
    documents = world.store.documents
    found = documents.get(LOOP, world.loop.id)
    assert found is not None
    body = {**found.body, "trouble": stored}
    documents.write([Change(kind=LOOP, name=found.name, expected=found.version, body=body, project=found.project)])
    assert world.loops.get(world.loop.id).trouble == trouble


@pytest.mark.parametrize(
    ("trouble", "stored"),
    [
        (None, ""),
        (Trouble(kind=StepKind.CHECK, said="01ab", tree=None), "None:check:01ab"),
        (Trouble(kind=StepKind.FINAL_CHECK, said="01ab", tree="4b825dc"), "4b825dc:final:01ab"),
    ],
)
def test_complaint_is_stored_as_an_earlier_version_reads_it(
    make: Callable[..., World], trouble: Trouble | None, stored: str
) -> None:
    world = make()
    world.loops.write(replace(world.loop, trouble=trouble), at=clock.now())
    found = world.store.documents.get(LOOP, world.loop.id)
    assert found is not None
    assert found.body["trouble"] == stored
