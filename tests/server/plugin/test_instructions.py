"""Files that the configuration of OpenCode names: what they say is not repeated beside a message."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.bridge import DIRECTIVE, QUESTION, WALRUS, Plugin, known
from support.mcp import World


@pytest.mark.parametrize(
    "instructions",
    [["."], ["./"], ["a/" * 1_500 + "b"], ["x"] * 1_001, ["x" * 5_000], [5], "rules.md", None, {"a": 1}],
    ids=["dot", "folder", "deep", "many", "long", "number", "text", "null", "object"],
)
def test_wrong_instructions_of_a_configuration_cost_no_memories(
    world: World, plugin: Plugin, instructions: object
) -> None:
    known(world, DIRECTIVE, "directive")
    assert DIRECTIVE in plugin.shown("msg_1", QUESTION, instructions=instructions)


def test_file_of_the_configuration_is_not_repeated(world: World, plugin: Plugin, folder: Path) -> None:
    known(world, DIRECTIVE, "directive")
    known(world, WALRUS)
    (folder / "RULES.md").write_text(f"* {DIRECTIVE}\n")
    block = plugin.shown("msg_1", QUESTION, instructions=["RULES.md"])
    assert WALRUS in block
    assert DIRECTIVE not in block
