"""The file that makes OpenCode's terminal load the sidebar: setup writes the one that is missing, and undo removes it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from opencode_memory.hosts.opencode.manifest import plugin_files
from opencode_memory.hosts.opencode.setup.apply import apply_plan
from opencode_memory.hosts.opencode.setup.plan import Wanted, plan_setup, plan_undo
from opencode_memory.hosts.opencode.setup.terminal import PLUGIN


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "opencode"
    folder.mkdir()
    return folder


def set_up(folder: Path, *, sidebar: bool = True) -> None:
    files = {f"plugin/{name}": text for name, text in plugin_files().items()}
    apply_plan(plan_setup(Wanted(folder=folder, within=None, files=files, sidebar=sidebar)))


def undo(folder: Path) -> None:
    plan = plan_undo(folder)
    assert plan is not None
    apply_plan(plan)


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [((), "tui.json"), (("tui.json",), "tui.jsonc"), (("tui.jsonc",), "tui.json"), (("tui.json", "tui.jsonc"), None)],
)
def test_missing_file_is_written_and_removed_again(folder: Path, theirs: tuple[str, ...], ours: str | None) -> None:
    for name in theirs:
        (folder / name).write_text('{"theme": "mine"}')
    for _ in range(2):  # A second run changes nothing.
        set_up(folder)
    if ours is not None:
        [address] = json.loads((folder / ours).read_text())["plugin"]
        assert Path(address.removeprefix("file://")) == folder / PLUGIN
        assert (folder / PLUGIN).is_file()
    undo(folder)
    assert {path.name for path in folder.glob("tui.*")} == set(theirs)
    assert all((folder / name).read_text() == '{"theme": "mine"}' for name in theirs)


def test_file_that_was_changed_stays(folder: Path) -> None:
    set_up(folder)
    (folder / "tui.json").write_text('{"plugin": [], "theme": "mine"}')
    set_up(folder)
    undo(folder)
    assert (folder / "tui.json").read_text() == '{"plugin": [], "theme": "mine"}'


def test_sidebar_that_is_switched_off_goes(folder: Path) -> None:
    set_up(folder)
    assert (folder / "tui.json").exists()
    set_up(folder, sidebar=False)
    assert not (folder / "tui.json").exists()
