"""The table of docs/opencode.md says what tools cost; UPDATE_DOCS=1 writes it anew."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path

from opencode_memory.embedding import find_model
from opencode_memory.embedding.tokenization import Tokenization
from opencode_memory.server.app import INSTRUCTIONS, PLUGGED_INSTRUCTIONS
from opencode_memory.server.plugin.tools import TOOLS as SEED_TOOLS
from opencode_memory.server.toolbox import Tool
from opencode_memory.server.tools import TOOLS as MCP_TOOLS

DOCUMENT = Path(__file__).parents[2] / "docs" / "opencode.md"
BEGIN, END = "<!-- costs -->\n", "<!-- end -->"
FINDINGS = "memory-findings"
_COUNTER = Tokenization(find_model().tokenizer)


def offers() -> dict[str, tuple[list[Tool], str]]:
    """What a model may be offered, with the instructions of the server that offers it."""
    findings = [tool for tool in SEED_TOOLS if tool.name == FINDINGS]
    few = [tool for tool in MCP_TOOLS if tool.core and tool.name != "get_boot_context"]
    return {
        "`--tools mcp`, the default": (few + findings, PLUGGED_INSTRUCTIONS),
        "`--tools plugin`": (list(SEED_TOOLS), ""),
        "both at once, which is never done": ([*few, *SEED_TOOLS], PLUGGED_INSTRUCTIONS),
        "every tool of `/mcp`, without the plugin": (list(MCP_TOOLS), INSTRUCTIONS),
    }


def cost(tools: Iterable[Tool], instructions: str) -> tuple[int, int]:
    """Tokens and bytes of every request."""
    sent = [
        {"type": "function", "function": {"name": tool.name, "description": tool.about, "parameters": tool.input}}
        for tool in tools
    ]
    texts = [*(json.dumps(one, ensure_ascii=False, separators=(",", ":")) for one in sent), instructions]
    tokens = sum(word.tokens for text in texts for word in _COUNTER.words(text))
    return tokens, sum(len(text.encode()) for text in texts)


def table() -> str:
    rows = ["| what is offered | tools | tokens | bytes |", "|---|---:|---:|---:|"]
    for name, (tools, instructions) in offers().items():
        tokens, size = cost(tools, instructions)
        rows.append(f"| {name} | {len(tools)} | {tokens:,} | {size:,} |")
    return "\n".join([*rows, ""])


def test_the_table_says_what_tools_cost() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    current = f"{before}{BEGIN}{table()}{END}{after}"
    if os.environ.get("UPDATE_DOCS"):
        DOCUMENT.write_text(current, encoding="utf-8")
    assert text == current or os.environ.get("UPDATE_DOCS")


def test_what_is_offered_by_default_costs_a_third_of_everything() -> None:
    costs = [cost(*offered)[0] for offered in offers().values()]
    assert costs[0] < costs[3] / 3
    assert costs[2] > 1.5 * max(costs[:2])
