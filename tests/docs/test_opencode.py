"""Table of docs/opencode.md with the cost of tools compared with the code; UPDATE_DOCS=1 writes it again."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from docs.tables import check_tables
from opencode_memory.config.load import load
from opencode_memory.context.block import HEAD
from opencode_memory.context.decide import FOUND
from opencode_memory.context.entry import GROUPS, HEADLINES
from opencode_memory.embedding import find_model
from opencode_memory.embedding.tokenization import Tokenization
from opencode_memory.hosts.opencode.manifest import Choices, Offer, read_manifest, render_manifest
from opencode_memory.server.app import INSTRUCTIONS, PLUGGED_INSTRUCTIONS
from opencode_memory.server.plugin.tools import TOOLS as PLUGIN_TOOLS
from opencode_memory.server.toolbox import Tool
from opencode_memory.server.tools import TOOLS as MCP_TOOLS

DOCUMENT = Path(__file__).parents[2] / "docs" / "opencode.md"
_COUNTER = Tokenization(find_model().vocabulary)


def offers() -> dict[str, tuple[list[Tool], str]]:
    """Return the sets of tools that a manifest offers, each with the instructions of the server that offers it."""
    few = [tool for tool in MCP_TOOLS if tool.core and tool.name != "get_boot_context"]
    return {
        "`--tools mcp`, the default": ([*few, *from_plugin(Offer.MCP)], PLUGGED_INSTRUCTIONS),
        "`--tools mcp`, with `loop.enabled = false`": (
            [*few, *from_plugin(Offer.MCP, loops=False)],
            PLUGGED_INSTRUCTIONS,
        ),
        "`--tools plugin`": (from_plugin(Offer.PLUGIN), ""),
        "`--tools plugin`, with `loop.enabled = false`": (from_plugin(Offer.PLUGIN, loops=False), ""),
        "both together (never used)": ([*few, *PLUGIN_TOOLS], PLUGGED_INSTRUCTIONS),
        "every tool of `/mcp`, without the plugin": (list(MCP_TOOLS), INSTRUCTIONS),
    }


def from_plugin(offer: Offer, *, loops: bool = True) -> list[Tool]:
    """Return the tools that the plugin offers by the manifest of a setup."""
    config = load(environment={"HOME": "/home/me", "OPENCODE_MEMORY_LOOP_ENABLED": str(loops).lower()})
    text = render_manifest(config, Choices(tools=offer), python="/usr/bin/python3", plugin={}, tools=PLUGIN_TOOLS)
    offered = read_manifest(text)["tool"]
    return [tool for tool in PLUGIN_TOOLS if tool.name in offered]


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


def test_no_offer_to_opencode_costs_half_of_all_tools() -> None:
    *offered, _both, every = (cost(*offer)[0] for offer in offers().values())
    assert max(offered) < every / 2


def test_example_of_a_block_begins_with_the_real_head() -> None:
    lines = DOCUMENT.read_text(encoding="utf-8").splitlines()
    head = lines[lines.index("<project-memory>") + 1]
    assert HEAD.startswith(head.removesuffix(" …"))
    assert {GROUPS["directives"], GROUPS["habits"], GROUPS["decisions"], HEADLINES, FOUND} <= set(lines)
