"""Tables of the documentation that are generated from the code."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

END = "<!-- end -->"


def replace_table(text: str, name: str, table: str) -> str:
    """Return a document with another table between its markers ``<!-- name -->`` and ``<!-- end -->``."""
    before, rest = text.split(f"<!-- {name} -->\n")
    _, after = rest.split(END, maxsplit=1)
    return f"{before}<!-- {name} -->\n{table}{END}{after}"


def check_tables(document: Path, tables: Mapping[str, str]) -> None:
    """Compare the tables of a document with those of the code; with ``UPDATE_DOCS=1`` write them first."""
    text = current = document.read_text(encoding="utf-8")
    for name, table in tables.items():
        current = replace_table(current, name, table)
    if os.environ.get("UPDATE_DOCS"):
        document.write_text(current, encoding="utf-8")
        return
    assert text == current, f"run UPDATE_DOCS=1 python -m pytest tests/docs to write {document.name} again"
