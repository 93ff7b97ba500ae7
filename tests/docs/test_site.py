"""The site of the documentation: built strictly, with every page, and without anything from other sites."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from docs.machine import ROOT

_REMOTE = re.compile(r"<(?:script|link|img|iframe|source)\b[^>]*\b(?:src|href)=\"?(?:https?:)?//[^\">\s]+")
_SOURCES = ("README.md", "llms.txt", "mkdocs.yml")


def build(root: Path, site: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(site)]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    site = tmp_path_factory.mktemp("site")
    done = build(ROOT, site)
    assert done.returncode == 0, done.stderr
    return site


def test_every_page_is_on_the_site(site: Path) -> None:
    pages = {file.stem for file in (ROOT / "docs").glob("*.md")}
    assert {file.parent.name for file in site.glob("*/index.html")} == pages


def test_first_page_is_the_readme(site: Path) -> None:
    page = (site / "index.html").read_text(encoding="utf-8")
    assert "quickstart/" in page
    assert "docs/" not in re.sub(r"<pre.*?</pre>|<code.*?</code>", "", page, flags=re.DOTALL)


def test_pictures_of_the_first_page_exist(site: Path) -> None:
    sources = re.findall(r"<img[^>]* src=\"([^\"]+)\"", (site / "index.html").read_text(encoding="utf-8"))
    assert sources
    assert [source for source in sources if not (site / source).is_file()] == []


def test_pages_in_the_list_for_language_models_exist(site: Path) -> None:
    links = re.findall(r"\]\(([\w-]+)/\)", (site / "llms.txt").read_text(encoding="utf-8"))
    assert len(links) > 10
    assert [link for link in links if not (site / link / "index.html").is_file()] == []


def test_site_loads_nothing_from_other_sites(site: Path) -> None:
    assert [found for page in site.rglob("*.html") for found in _REMOTE.findall(page.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize("link", ["[gone](gone.md)", "[gone](mcp.md#gone)", "[gone](../gone.py)"])
def test_broken_link_ends_the_build(tmp_path: Path, link: str) -> None:
    for name in _SOURCES:
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    (tmp_path / "scripts").mkdir()
    shutil.copy(ROOT / "scripts" / "docs_site.py", tmp_path / "scripts")
    with (tmp_path / "docs" / "mcp.md").open("a", encoding="utf-8") as page:
        page.write(f"\n{link}\n")
    done = build(tmp_path, tmp_path / "site")
    assert done.returncode != 0
    assert "gone" in done.stderr
