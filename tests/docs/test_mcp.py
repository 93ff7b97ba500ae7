"""The table of tools in docs/mcp.md is what a server offers; UPDATE_DOCS=1 writes it anew."""

from __future__ import annotations

import os
from pathlib import Path

from opencode_memory.server.tools import TOOLS

DOCUMENT = Path(__file__).parents[2] / "docs" / "mcp.md"
BEGIN, END = "<!-- tools -->\n", "<!-- end -->"


def table() -> str:
    rows = []
    for tool in TOOLS:
        required = tool.input.get("required", [])
        arguments = ", ".join(name if name in required else f"{name}?" for name in tool.input["properties"])
        rows.append(f"| `{tool.name}({arguments})` | {' '.join(tool.about.split())} |")
    return "\n".join(["| tool | |", "|---|---|", *rows, ""])


def test_the_table_of_tools_is_what_a_server_offers() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    current = f"{before}{BEGIN}{table()}{END}{after}"
    if os.environ.get("UPDATE_DOCS"):
        DOCUMENT.write_text(current, encoding="utf-8")
    assert text == current or os.environ.get("UPDATE_DOCS")


def test_the_core_tools_come_first() -> None:
    core = [tool.core for tool in TOOLS]
    assert core == sorted(core, reverse=True)
    assert sum(core) == 7
