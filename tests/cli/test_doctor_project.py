"""The project that ``doctor`` names: after a rename, and after the folder was moved."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from support.command_line import CommandLine


def project_check(cli: CommandLine, *options: str) -> tuple[str, str, str | None]:
    checks = cli("doctor", "--json", *options).json["checks"]
    [found] = [(check["level"], check["text"], check["hint"]) for check in checks if check["name"] == "project"]
    return found


def test_setting_with_the_former_name_of_a_project_is_reported(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli.remember("Of the shop.", "-p", "shop")
    monkeypatch.setenv("OPENCODE_MEMORY_PROJECT", "shop")
    assert project_check(cli) == ("ok", "shop (OPENCODE_MEMORY_PROJECT)", None)
    cli.ok("projects", "rename", "shop", "shop2")
    level, text, hint = project_check(cli)
    assert level == "note"
    assert text.startswith("no project is named 'shop' (OPENCODE_MEMORY_PROJECT)")
    assert hint == "did you mean 'shop2'?"
    assert project_check(cli, "-p", "shop2") == ("ok", "shop2 (--project)", None)


def test_renamed_project_of_the_folder_is_named_with_its_folder(cli: CommandLine) -> None:
    cli.remember("Of the shop.")
    assert project_check(cli) == ("ok", str(cli.folder), None)
    cli.ok("projects", "rename", str(cli.folder), "shop")
    assert project_check(cli) == ("ok", f"shop, the project of {cli.folder}", None)


def test_moved_repository_is_named_with_its_present_folder(
    cli: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, after = tmp_path / "before", tmp_path / "after"
    before.mkdir()
    subprocess.run(["git", "init", "-q", str(before)], check=True)
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    subprocess.run(["git", "-C", str(before), *who, "commit", "-q", "--allow-empty", "-m", "x"], check=True)
    cli.ok("-C", str(before), "remember", "Of the repository.")
    before.rename(after)
    level, text, _ = project_check(cli, "-C", str(after))
    assert (level, text.endswith(f", the project of {after}")) == ("ok", True)


def test_moved_folder_without_a_repository_names_the_project_that_lost_its_folder(
    cli: CommandLine, tmp_path: Path
) -> None:
    before, after = tmp_path / "before", tmp_path / "after"
    before.mkdir()
    cli.ok("-C", str(before), "remember", "Of the folder.")
    before.rename(after)
    level, text, hint = project_check(cli, "-C", str(after))
    assert (level, text) == ("note", f"{after} has no memories yet")
    assert f"the folder is gone of: {before}." in (hint or "")
    assert "projects merge" in (hint or "")
