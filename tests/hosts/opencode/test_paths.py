"""Configuration folders of OpenCode, and those that the setup may use."""

from __future__ import annotations

from pathlib import Path

import pytest

from opencode_memory.hosts.opencode.paths import folders_read, global_folder, own_folder, project_folder


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / ".opencode" / "bin").mkdir(parents=True)
    return tmp_path


def repository(folder: Path) -> Path:
    (folder / ".git" / "refs").mkdir(parents=True)
    (folder / ".git" / "objects").mkdir()
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    return folder


def test_global_folder_is_opencodes_own_or_the_configured_one(home: Path) -> None:
    environment = {"HOME": str(home)}
    assert global_folder(environment) == own_folder(environment) == home / ".config" / "opencode"
    elsewhere = {**environment, "XDG_CONFIG_HOME": str(home / "xdg")}
    assert global_folder(elsewhere) == home / "xdg" / "opencode"
    named = {**elsewhere, "OPENCODE_CONFIG_DIR": str(home / "mine")}
    assert (global_folder(named), own_folder(named)) == (home / "mine", home / "xdg" / "opencode")


def test_in_a_repository_every_folder_up_to_its_work_tree_is_read(home: Path) -> None:
    shop = repository(home / "work" / "shop")
    for place in (home / "work", shop, shop / "deep"):
        (place / ".opencode").mkdir(parents=True)
    (shop / "deep" / "down").mkdir()
    assert folders_read({"HOME": str(home)}, shop / "deep" / "down") == (
        home / ".config" / "opencode",
        shop / "deep" / ".opencode",
        shop / ".opencode",
        home / ".opencode",
    )
    assert project_folder(shop / "deep" / "down") == shop / ".opencode"


def test_outside_a_repository_every_folder_above_is_read(home: Path) -> None:
    (home / "work" / ".opencode").mkdir(parents=True)
    (home / "work" / "notes").mkdir()
    found = folders_read({"HOME": "/nowhere"}, home / "work" / "notes")
    assert found[:3] == (Path("/nowhere/.config/opencode"), home / "work" / ".opencode", home / ".opencode")
    assert project_folder(home / "work" / "notes") == home / "work" / "notes" / ".opencode"


def test_environment_variables_of_opencode_are_respected(home: Path) -> None:
    shop = repository(home / "shop")
    (shop / ".opencode").mkdir()
    (home / "mine").mkdir()
    environment = {"HOME": str(home), "OPENCODE_CONFIG_DIR": str(home / "mine")}
    own = home / ".config" / "opencode"
    assert folders_read(environment, shop) == (own, shop / ".opencode", home / ".opencode", home / "mine")
    closed = {**environment, "OPENCODE_DISABLE_PROJECT_CONFIG": "1"}
    assert folders_read(closed, shop) == (own, home / ".opencode", home / "mine")


def test_a_folder_is_named_once(home: Path) -> None:
    repository(home)
    assert folders_read({"HOME": str(home), "OPENCODE_CONFIG_DIR": str(home / ".opencode")}, home) == (
        home / ".config" / "opencode",
        home / ".opencode",
    )
