"""``llms.txt``, the list of the documents for language models (llmstxt.org), is the one that the pages give."""

from __future__ import annotations

import os
import re
from pathlib import Path

from docs.machine import ROOT

DOCUMENT = ROOT / "llms.txt"
FIRST = ("quickstart", "installation", "opencode", "learning", "loops", "mcp", "browser", "cli", "configuration")
HEAD = """\
# opencode-memory

> Long-term memory for coding agents, above all for OpenCode: it learns from sessions, keeps what it learned in one SQLite
> file on your machine, finds it again by words and by meaning, and shows it to the next model.

The command is `opencode-memory`, the Python module `opencode_memory`, the package `ocm-memory`. Each page says at its
beginning what its reader can do afterwards.
"""
_PURPOSE = re.compile(r"After reading this page, (.+?)\.(?:\s|$)", re.DOTALL)


def entry(page: Path) -> str:
    text = page.read_text(encoding="utf-8")
    purpose = _PURPOSE.search(text)
    assert purpose is not None, page
    title = text.split("\n", 1)[0].removeprefix("# ")
    return f"- [{title}]({page.relative_to(ROOT).as_posix()}): {' '.join(purpose[1].split())}\n"


def render() -> str:
    pages = {page.stem: page for page in sorted((ROOT / "docs").glob("*.md"))}
    others = [page for name, page in pages.items() if name not in FIRST]
    use = "".join(entry(pages[name]) for name in FIRST)
    judge = "".join(map(entry, others))
    return f"{HEAD}\n## Use\n\n{use}\n## Judge and repair\n\n{judge}\n## Optional\n\n{entry(ROOT / 'ARCHITECTURE.md')}"


def test_list_for_language_models_has_every_page() -> None:
    if os.environ.get("UPDATE_DOCS"):
        DOCUMENT.write_text(render(), encoding="utf-8")
    assert DOCUMENT.read_text(encoding="utf-8") == render()
