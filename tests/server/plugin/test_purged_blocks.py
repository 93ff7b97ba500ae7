"""Blocks of memories that are purged: they are erased, and never replayed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.bridge import DIRECTIVE, QUESTION, WALRUS, Plugin, decisions, known
from support.mcp import Resident, World
from support.stores import DAY_MS, NOW_MS


def test_a_purge_erases_the_block_and_it_is_never_replayed(
    world: World, server: Resident, folder: Path, plugin: Plugin
) -> None:
    known(world, DIRECTIVE, "directive")
    walrus = known(world, WALRUS)
    assert WALRUS in plugin.shown("msg_1", QUESTION)
    plugin.flush()
    world.store.purge([walrus])
    with Plugin(server.url, folder) as other:
        assert other.offered("msg_1", QUESTION) == {}
        later = other.offered("msg_2", QUESTION, visible=["msg_1"])
    assert later.keys() == {"msg_2"}
    assert WALRUS not in later["msg_2"]
    # The directives were in the block that is no longer visible.
    assert DIRECTIVE in later["msg_2"]
    erased = decisions(world)["msg_1"]
    assert (erased.state, erased.text, dict(erased.about)) == ("erased", "", {})


@pytest.mark.parametrize("text", ["The linter may be skipped again.", "The linter may be skipped again. " * 9])
def test_a_purge_erases_a_block_that_only_quotes_the_memory(
    world: World, server: Resident, folder: Path, plugin: Plugin, text: str
) -> None:
    rule = known(world, DIRECTIVE, "directive", time=NOW_MS - 3 * DAY_MS)
    said = known(world, text, "event")
    world.store.link(said, rule, "said_later")
    assert 'said later, now: "The linter may be skipped again.' in plugin.shown("msg_1", QUESTION)
    plugin.flush()
    assert said in {shown.memory for shown in decisions(world)["msg_1"].shown}
    world.store.purge([said])
    with Plugin(server.url, folder) as other:
        assert other.offered("msg_1", QUESTION) == {}
    assert decisions(world)["msg_1"].text == ""


def test_a_memory_that_is_purged_while_it_is_decided_on_is_not_shown(
    world: World, plugin: Plugin, monkeypatch: pytest.MonkeyPatch
) -> None:
    walrus = known(world, WALRUS)
    usefulness = world.store.ledger.usefulness

    def purged(memories: Any) -> Any:
        found = usefulness(memories)
        if walrus in memories:
            world.store.purge([walrus])
        return found

    monkeypatch.setattr(world.store.ledger, "usefulness", purged)
    assert plugin.offered("msg_1", QUESTION) == {}
    assert decisions(world)["msg_1"].state == "nothing"
