"""The workflows of GitHub: actions pinned by commit, and no permission that a job does not name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parent.parent / ".github" / "workflows"
WORKFLOWS = sorted(FOLDER.glob("*.yml"))
_USES = re.compile(r"^\s*(?:- )?uses: (.*)$", re.MULTILINE)
_PINNED = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")


def test_there_are_workflows() -> None:
    assert {file.stem for file in WORKFLOWS} == {"ci", "release"}


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.stem)
def test_actions_are_pinned_by_commit_with_their_version(file: Path) -> None:
    used = _USES.findall(file.read_text(encoding="utf-8"))
    assert used
    assert [name for name in used if not _PINNED.fullmatch(name)] == []


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.stem)
def test_a_job_has_only_the_permissions_that_it_names(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    assert "\npermissions: {}\n" in text
    assert text.count("runs-on:") == text.count("    permissions:")
    assert set(re.findall(r"^\s+(\S+): write", text, re.MULTILINE)) <= {"id-token"}


def test_an_action_has_the_same_commit_everywhere() -> None:
    commits: dict[str, set[str]] = {}
    for file in WORKFLOWS:
        for name in _USES.findall(file.read_text(encoding="utf-8")):
            action, _, commit = name.partition("@")
            commits.setdefault(action, set()).add(commit)
    assert {action: found for action, found in commits.items() if len(found) > 1} == {}
