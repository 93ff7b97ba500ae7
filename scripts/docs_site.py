"""Hooks of the site of the documentation: the README as its first page, ``llms.txt``, and links to sources.

Pages link to sources by relative paths, which exist in a clone and not on the site. With ``repo_url`` they lead to the
repository. Without it only their text stays, because an address that does not exist would be worse.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT: Final = Path(__file__).resolve().parents[1]
_LINK: Final = re.compile(
    r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?P<path>(?:\.\./)?(?!\w+:)[^)#\s]+)(?P<anchor>#[^)\s]*)?\)"
)
_FENCE: Final = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the README and ``llms.txt``."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    files.append(File.generated(config, "index.md", content=re.sub(r"(?<=[(\"])docs/", "", readme)))
    pages = (ROOT / "llms.txt").read_text(encoding="utf-8")
    files.append(File.generated(config, "llms.txt", content=re.sub(r"\]\(docs/([\w-]+)\.md\)", r"](\1/)", pages)))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turn links to files outside of the site into links to the repository, or into their text."""
    folder = ROOT if page.file.src_uri == "index.md" else ROOT / "docs"

    def replace(match: re.Match[str]) -> str:
        path = match["path"]
        if files.get_file_from_path(path) is not None:
            return match[0]
        target = (folder / path).resolve()
        if not target.exists() or not target.is_relative_to(ROOT):
            return match[0]  # The strict build reports it.
        if not config.repo_url:
            return match[1]
        return (
            f"[{match[1]}]({config.repo_url.rstrip('/')}/blob/main/{target.relative_to(ROOT)}{match['anchor'] or ''})"
        )

    parts = _FENCE.split(markdown)
    return "".join(part if part.startswith("```") else _LINK.sub(replace, part) for part in parts)
