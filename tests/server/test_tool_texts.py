"""Texts that make storing a natural act for an agent: they reach every kind of client, in few characters."""

from __future__ import annotations

import json
from typing import Any

import pytest

from opencode_memory.config.sections import Tools
from opencode_memory.server.app import INSTRUCTIONS, PLUGGED_INSTRUCTIONS, describe_tools
from opencode_memory.server.plugin.tools import TOOLS
from opencode_memory.server.tool_calls import select_tools
from opencode_memory.server.toolbox import Tool

ALL_BYTES, CORE_BYTES = 20_200, 5_500


def describe(*tools: Tool) -> list[dict[str, Any]]:
    return [tool.model_dump(by_alias=True, exclude_none=True) for tool in describe_tools(tools)]


@pytest.mark.parametrize("instructions", [INSTRUCTIONS, PLUGGED_INSTRUCTIONS], ids=["mcp", "plugin"])
@pytest.mark.parametrize(
    "part",
    [
        "As soon as the user says something lasting (a rule, a choice, a preference, a correction)",
        "in the user's words, with its subject",
        '"Use X, not Y", never "this"',
        "Nothing about the work at hand",
        "category=directive only for what the user demands always",
    ],
)
def test_instructions_name_the_moment_the_wording_and_what_to_leave_out(instructions: str, part: str) -> None:
    assert part in instructions


@pytest.mark.parametrize("name", ["remember", "memory-write"])
def test_description_of_the_tool_that_stores_says_when_and_how(name: str) -> None:
    (tool,) = (tool for tool in (*select_tools(Tools.ALL), *TOOLS) if tool.name == name)
    (described,) = describe(tool)
    assert "lasting rule, choice, preference, correction" in described["description"]
    assert "nothing on the task at hand" in described["description"]
    text = described["inputSchema"]["properties"]["content"]["description"]
    assert "stands alone, subject named, in the user's words" in text


@pytest.mark.parametrize(("which", "most"), [(Tools.ALL, ALL_BYTES), (Tools.CORE, CORE_BYTES)])
def test_descriptions_of_all_tools_stay_small(which: Tools, most: int) -> None:
    written = json.dumps(describe(*select_tools(which)), ensure_ascii=False, separators=(",", ":"))
    assert len(written.encode()) <= most
