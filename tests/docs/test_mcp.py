"""Table of tools in docs/mcp.md compared with the code; UPDATE_DOCS=1 writes it again."""

from __future__ import annotations

from pathlib import Path

from docs.tables import check_tables
from opencode_memory.server.tools import TOOLS

DOCUMENT = Path(__file__).parents[2] / "docs" / "mcp.md"


def table() -> str:
    rows = []
    for tool in TOOLS:
        required = tool.input.get("required", [])
        arguments = ", ".join(name if name in required else f"{name}?" for name in tool.input["properties"])
        rows.append(f"| `{tool.name}({arguments})` | {' '.join(tool.about.split())} |")
    return "\n".join(["| tool | |", "|---|---|", *rows, ""])


def test_table_shows_all_tools() -> None:
    check_tables(DOCUMENT, {"tools": table()})


def test_core_tools_come_first() -> None:
    core = [tool.core for tool in TOOLS]
    assert core == sorted(core, reverse=True)
    assert sum(core) == 7
