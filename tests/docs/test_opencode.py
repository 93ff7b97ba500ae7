"""Table of docs/opencode.md with the cost of tools compared with the code; UPDATE_DOCS=1 writes it again."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from docs.tables import check_tables
from opencode_memory.context.block import HEAD
from opencode_memory.context.decide import FOUND
from opencode_memory.context.entry import GROUPS, HEADLINES
from opencode_memory.embedding import find_model
from opencode_memory.embedding.tokenization import Tokenization
from opencode_memory.server.app import INSTRUCTIONS, PLUGGED_INSTRUCTIONS
from opencode_memory.server.plugin.tools import TOOLS as PLUGIN_TOOLS
from opencode_memory.server.toolbox import Tool
from opencode_memory.server.tools import TOOLS as MCP_TOOLS

DOCUMENT = Path(__file__).parents[2] / "docs" / "opencode.md"
FINDINGS = "memory-findings"
_COUNTER = Tokenization(find_model().vocabulary)


def offers() -> dict[str, tuple[list[Tool], str]]:
    """Return the possible sets of tools, each with the instructions of the server that offers it."""
    findings = [tool for tool in PLUGIN_TOOLS if tool.name == FINDINGS]
    few = [tool for tool in MCP_TOOLS if tool.core and tool.name != "get_boot_context"]
    return {
        "`--tools mcp`, the default": (few + findings, PLUGGED_INSTRUCTIONS),
        "`--tools plugin`": (list(PLUGIN_TOOLS), ""),
        "both together (never used)": ([*few, *PLUGIN_TOOLS], PLUGGED_INSTRUCTIONS),
        "every tool of `/mcp`, without the plugin": (list(MCP_TOOLS), INSTRUCTIONS),
    }


def cost(tools: Iterable[Tool], instructions: str) -> tuple[int, int]:
    """Return the tokens and bytes that tools add to every request."""
    sent = [
        {"type": "function", "function": {"name": tool.name, "description": tool.about, "parameters": tool.input}}
        for tool in tools
    ]
    texts = [*(json.dumps(tool, ensure_ascii=False, separators=(",", ":")) for tool in sent), instructions]
    tokens = sum(word.tokens for text in texts for word in _COUNTER.words(text))
    return tokens, sum(len(text.encode()) for text in texts)


def table() -> str:
    rows = ["| offer | tools | tokens | bytes |", "|---|---:|---:|---:|"]
    for name, (tools, instructions) in offers().items():
        tokens, size = cost(tools, instructions)
        rows.append(f"| {name} | {len(tools)} | {tokens:,} | {size:,} |")
    return "\n".join([*rows, ""])


def test_table_shows_the_cost_of_tools() -> None:
    check_tables(DOCUMENT, {"costs": table()})


def test_default_offer_costs_less_than_a_third_of_all_tools() -> None:
    costs = [cost(*offered)[0] for offered in offers().values()]
    assert costs[0] < costs[3] / 3
    assert costs[2] > 1.5 * max(costs[:2])


def test_example_of_a_block_begins_with_the_real_head() -> None:
    lines = DOCUMENT.read_text(encoding="utf-8").splitlines()
    head = lines[lines.index("<project-memory>") + 1]
    assert HEAD.startswith(head.removesuffix(" …"))
    assert {GROUPS["directives"], GROUPS["habits"], GROUPS["decisions"], HEADLINES, FOUND} <= set(lines)
