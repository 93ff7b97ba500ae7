"""Links of the project and the entry of the MCP registry, which a release derives from the name of the repository."""

from __future__ import annotations

import json
import re
import shutil
import tomllib
from pathlib import Path

import pytest

import release_metadata
from release_metadata import ROOT, add_links, add_mark, describe_server, main, name_server

HOME = "jo/opencode-memory"


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files that the script reads and changes, as a copy."""
    for name in ("pyproject.toml", "README.md", "Cargo.toml"):
        shutil.copy(ROOT / name, tmp_path)
    monkeypatch.setattr(release_metadata, "ROOT", tmp_path)
    monkeypatch.setenv("GITHUB_REPOSITORY", HOME)
    return tmp_path


def test_entry_has_what_the_schema_of_the_registry_demands(sources: Path) -> None:
    assert main(["server", str(sources / "server.json")]) == 0
    entry = json.loads((sources / "server.json").read_text())
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", entry["name"])
    assert 0 < len(entry["description"]) <= 100
    assert set(entry["repository"]) == {"url", "source"}
    (package,) = entry["packages"]
    assert {"registryType", "identifier", "transport", "version"} <= set(package)
    assert package["transport"] == {"type": "stdio"}
    # The schema wants a value or a hint for each of them.
    assert [(argument["type"], argument["value"]) for argument in package["packageArguments"]] == [
        ("positional", "serve"),
        ("positional", "--stdio"),
    ]


def test_entry_names_the_package_and_a_command_of_the_same_name() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    cargo = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]
    entry = describe_server(HOME, cargo["version"], distribution=project["name"])
    (package,) = entry["packages"]
    assert (package["identifier"], package["version"], entry["version"]) == ("ocm-memory", *[cargo["version"]] * 2)
    # `uvx NAME` runs the command NAME.
    assert package["identifier"] in project["scripts"]


def test_stamp_adds_links_and_mark(sources: Path) -> None:
    assert main(["stamp"]) == 0
    project = tomllib.loads((sources / "pyproject.toml").read_text())
    assert project["project"]["urls"]["Issues"] == f"https://github.com/{HOME}/issues"
    before = tomllib.loads((ROOT / "pyproject.toml").read_text())
    del project["project"]["urls"]
    assert project == before
    assert (sources / "README.md").read_text().endswith(f"\n<!-- mcp-name: {name_server(HOME)} -->\n")


def test_second_stamp_is_refused() -> None:
    text = add_links((ROOT / "pyproject.toml").read_text(), HOME)
    with pytest.raises(ValueError, match="already"):
        add_links(text, HOME)


def test_mark_keeps_the_text() -> None:
    assert add_mark("# Title\n\nText.\n\n", HOME).startswith("# Title\n\nText.\n\n<!-- ")


@pytest.mark.parametrize("repository", ["", "jo", "jo/a/b", 'jo/a"\nx = "', "jo/../x/"])
def test_name_that_is_no_repository_is_refused(repository: str, sources: Path) -> None:
    before = (sources / "pyproject.toml").read_text()
    with pytest.raises(SystemExit):
        main(["--repository", repository, "stamp"])
    assert (sources / "pyproject.toml").read_text() == before
