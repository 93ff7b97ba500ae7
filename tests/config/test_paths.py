"""Default paths, and confinement of paths to allowed folders."""

from __future__ import annotations

from pathlib import Path

import pytest

from opencode_memory.config.paths import confine, default_config_file, default_data_dir
from opencode_memory.errors import ConfigError, InvalidInputError


def test_xdg_folders_override_home() -> None:
    environment = {"HOME": "/home/ada", "XDG_DATA_HOME": "/data", "XDG_CONFIG_HOME": "/config"}
    assert default_data_dir(environment) == Path("/data/opencode-memory/store")
    assert default_config_file(environment) == Path("/config/opencode-memory/memory.toml")


@pytest.mark.parametrize("value", ["", "relative/folder"])
def test_relative_xdg_folders_are_ignored(value: str) -> None:
    environment = {"HOME": "/home/ada", "XDG_DATA_HOME": value}
    assert default_data_dir(environment) == Path("/home/ada/.local/share/opencode-memory/store")


def test_missing_home_is_a_config_error() -> None:
    with pytest.raises(ConfigError, match="HOME"):
        default_data_dir({})


def test_path_inside_root_is_resolved(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    assert confine(tmp_path / "notes" / ".." / "new.md", [tmp_path]) == tmp_path / "new.md"
    assert confine(tmp_path, [tmp_path]) == tmp_path


def test_dots_and_links_out_of_roots_are_refused(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "link").symlink_to("/etc")
    for path in (root / ".." / "other", root / "link" / "passwd", Path("/etc/passwd"), tmp_path / "root-2"):
        with pytest.raises(InvalidInputError, match="outside"):
            confine(path, [root])


def test_no_roots_allow_no_path(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="no folder"):
        confine(tmp_path, [])
