"""Links and names of files in the documents exist, and ARCHITECTURE.md shows the packages that there are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from docs.machine import DOCUMENTS, ROOT
from test_layout import LEVELS

ARCHITECTURE = ROOT / "ARCHITECTURE.md"
WRITTEN = (
    *DOCUMENTS,
    ARCHITECTURE,
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    *ROOT.glob("benches/**/README.md"),
)
SOURCES = ("python", "rust", "tests", "benches", "scripts")
EXAMPLES = {"src/app.py", "memory.py"}
"""Names of files that stand for files of a user, or for files of an earlier version."""
STORE_FOLDERS = {"lexical/", "vectors/", "backups/", "exports/", "node_modules/", ".opencode/", "docs/"}
"""Folders of a store, of OpenCode or of a user."""
WIDTH = 110
"""Columns of ARCHITECTURE.md, which is read in a terminal beside the code."""
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_CODE = re.compile(r"`([^`\n]+)`")
_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"(?<![\w/.-])((?:[\w.-]+/)*[\w-]+\.(?:py|pyi|rs|ts))(?![\w/])")
_FOLDER = re.compile(r"(?:[\w.-]+/)+")
_NAME = re.compile(r"[A-Za-z_]\w*(?:(?:\.|::)[A-Za-z_]\w*)*")


@cache
def paths() -> frozenset[str]:
    """Return all files and folders of the sources, relative to the repository."""
    found = (path for folder in SOURCES for path in (ROOT / folder).rglob("*") if "__pycache__" not in path.parts)
    return frozenset(f"/{path.relative_to(ROOT).as_posix()}{'/' if path.is_dir() else ''}" for path in found)


@cache
def words() -> frozenset[str]:
    """Return all words of the sources."""
    files = [ROOT / path[1:] for path in paths() if path.endswith((".py", ".pyi", ".rs", ".ts", ".toml"))]
    return frozenset(word for file in files for word in re.findall(r"\w+", file.read_text(encoding="utf-8")))


@cache
def anchors(file: Path) -> frozenset[str]:
    """Return the anchors of a document's headings, as GitHub makes them."""
    text = _FENCED.sub("", file.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return frozenset(re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings)


def exists(name: str) -> bool:
    """Return whether a file or folder of the sources has this path, or ends with it."""
    return name in EXAMPLES | STORE_FOLDERS or any(path.endswith(f"/{name}") for path in paths())


def broken_links(file: Path) -> Iterator[str]:
    """Yield the relative links of a document whose target does not exist."""
    for target in _LINK.findall(_FENCED.sub("", file.read_text(encoding="utf-8"))):
        if re.match(r"\w+:", target):
            continue
        path, _, anchor = target.partition("#")
        to = (file.parent / path).resolve() if path else file
        if not to.exists() or (anchor and anchor not in anchors(to)):
            yield target


@pytest.mark.parametrize("file", WRITTEN, ids=lambda file: file.relative_to(ROOT).as_posix())
def test_relative_links_exist(file: Path) -> None:
    assert list(broken_links(file)) == []


@pytest.mark.parametrize("file", WRITTEN, ids=lambda file: file.relative_to(ROOT).as_posix())
def test_named_source_files_exist(file: Path) -> None:
    text = _LINK.sub("", file.read_text(encoding="utf-8"))
    names = set(_FILE.findall(text))
    assert sorted(name for name in names if not exists(name)) == []


@pytest.mark.parametrize("file", [ARCHITECTURE, ROOT / "CONTRIBUTING.md"], ids=lambda file: file.name)
def test_named_folders_exist(file: Path) -> None:
    names = {name for name in _CODE.findall(file.read_text(encoding="utf-8")) if _FOLDER.fullmatch(name)}
    assert sorted(name for name in names if not exists(name) and not (ROOT / name).is_dir()) == []


def test_names_of_code_in_the_architecture_occur_in_the_sources() -> None:
    text = _FENCED.sub("", ARCHITECTURE.read_text(encoding="utf-8"))
    named = {name for name in _CODE.findall(text) if _NAME.fullmatch(name) and not _FILE.fullmatch(name)}
    parts = {part for name in named for part in re.split(r"\.|::", name)}
    assert sorted(parts - words()) == []


@pytest.mark.parametrize("file", sorted((ROOT / "docs").glob("*.md")), ids=lambda file: file.name)
def test_page_says_first_what_a_reader_can_do(file: Path) -> None:
    title, _, first, *_ = file.read_text(encoding="utf-8").splitlines()
    assert title.startswith("# ")
    assert first.startswith("After reading this page, you ")


def folders_in_picture() -> tuple[list[str], list[str]]:
    """Return the folders of the core and the Python packages in the picture of the layout, in its order."""
    picture = next(block for block in _FENCED.findall(ARCHITECTURE.read_text(encoding="utf-8")) if "rust/core" in block)
    core, python = (
        re.findall(r"^  ([a-z_]+)/ ", part, re.MULTILINE) for part in picture.split("python/opencode_memory/")
    )
    return core, python


def test_picture_shows_every_package_and_no_other() -> None:
    core, python = folders_in_picture()
    assert set(python) == {file.parent.name for file in (ROOT / "python" / "opencode_memory").glob("*/__init__.py")}
    assert set(core) == {path.name for path in (ROOT / "rust" / "core" / "src").iterdir() if path.is_dir()}


def test_picture_shows_the_python_packages_in_the_order_of_their_levels() -> None:
    level = {package: number for number, packages in enumerate(LEVELS) for package in packages}
    levels = [level[package] for package in folders_in_picture()[1]]
    assert levels == sorted(levels)


def test_each_invariant_has_a_test_with_its_number() -> None:
    listed = set(re.findall(r"^\| I(\d+) \|", ARCHITECTURE.read_text(encoding="utf-8"), re.MULTILINE))
    tested = {found[1] for word in words() if (found := re.match(r"(?:test_)?i(\d+)_", word))}
    assert listed - tested == set()


def test_architecture_fits_into_its_width() -> None:
    lines = ARCHITECTURE.read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if len(line) > WIDTH] == []


def test_broken_link_is_found(tmp_path: Path) -> None:
    file = tmp_path / "page.md"
    file.write_text("# A page\n[a](page.md#a-page) [b](other.md) [c](#nowhere) [d](https://example.com)\n")
    assert list(broken_links(file)) == ["other.md", "#nowhere"]
