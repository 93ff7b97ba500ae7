"""Where files live, and that a path cannot lead out of the folders that it may use."""

from __future__ import annotations

from pathlib import Path

import pytest

from opencode_memory.config.paths import confine, default_config_file, default_data_dir
from opencode_memory.errors import ConfigError, InvalidInputError


def test_xdg_folders_win_over_home() -> None:
    environment = {"HOME": "/home/ada", "XDG_DATA_HOME": "/data", "XDG_CONFIG_HOME": "/config"}
    assert default_data_dir(environment) == Path("/data/opencode-memory/store")
    assert default_config_file(environment) == Path("/config/opencode-memory/memory.toml")


@pytest.mark.parametrize("value", ["", "relative/folder"])
def test_relative_xdg_folders_are_ignored(value: str) -> None:
    environment = {"HOME": "/home/ada", "XDG_DATA_HOME": value}
    assert default_data_dir(environment) == Path("/home/ada/.local/share/opencode-memory/store")


def test_no_home_is_a_clear_error() -> None:
    with pytest.raises(ConfigError, match="HOME"):
        default_data_dir({})


def test_paths_inside_a_root_are_resolved(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    assert confine(tmp_path / "notes" / ".." / "new.md", [tmp_path]) == tmp_path / "new.md"
    assert confine(tmp_path, [tmp_path]) == tmp_path


def test_neither_dots_nor_links_lead_out_of_the_roots(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "link").symlink_to("/etc")
    for path in (root / ".." / "other", root / "link" / "passwd", Path("/etc/passwd"), tmp_path / "root-2"):
        with pytest.raises(InvalidInputError, match="outside"):
            confine(path, [root])


def test_without_roots_nothing_is_allowed(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="no folder"):
        confine(tmp_path, [])
