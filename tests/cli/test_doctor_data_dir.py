"""``doctor`` and a data directory that is no folder of a store: it reports the path, and changes nothing there."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import pytest

from support.command_line import CommandLine


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def check_of(cli: CommandLine, data_dir: Path) -> dict[str, Any]:
    answer = cli("doctor", "--fix", "--json", "--data-dir", str(data_dir))
    assert answer.code == 1
    assert answer.json["fixes"] == []
    checks = {check["name"]: check for check in answer.json["checks"]}
    assert checks.get("store", {"level": "note"})["level"] == "note"
    found: dict[str, Any] = checks["data_dir"]
    return found


def test_fix_refuses_a_data_dir_that_is_a_file(cli: CommandLine) -> None:
    file = cli.folder / "notes.txt"
    file.write_text("mine")
    file.chmod(0o644)
    check = check_of(cli, file)
    assert (check["level"], check["text"], check["fixable"]) == ("problem", f"{file} is not a folder", False)
    assert "--data-dir" in check["hint"]
    assert mode_of(file) == 0o644


@pytest.mark.skipif(os.name == "nt", reason="Windows has no permission bits")
def test_fix_keeps_the_permissions_of_a_folder_without_a_store(cli: CommandLine) -> None:
    folder = cli.folder / "shared"
    folder.mkdir()
    folder.chmod(0o1777)
    assert check_of(cli, folder)["fixable"] is False
    assert (mode_of(folder), list(folder.iterdir())) == (0o1777, [])


def test_folder_without_a_store_stays_empty(cli: CommandLine) -> None:
    folder = cli.folder / "empty"
    folder.mkdir(mode=0o700)
    checks = cli("doctor", "--json", "--data-dir", str(folder)).json["checks"]
    [(level, text)] = [(check["level"], check["text"]) for check in checks if check["name"] == "store"]
    assert (level, text) == ("note", "there is no store yet; the first memory creates it")
    assert list(folder.iterdir()) == []


def test_data_dir_below_a_file_is_reported(cli: CommandLine) -> None:
    (cli.folder / "file").write_text("mine")
    assert check_of(cli, cli.folder / "file" / "store")["text"].endswith("store is below a file")
