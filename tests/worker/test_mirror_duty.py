"""Memories as files, as a duty of the worker."""

from __future__ import annotations

from pathlib import Path

import pytest

from opencode_memory import MemoryStore
from opencode_memory.config.load import load
from opencode_memory.worker.duty import Duty
from opencode_memory.worker.learning_duties import LearningDuties
from opencode_memory.worker.mirror_duty import MIRROR, MirrorDuty
from support.memory_files import git
from support.worker_loop import work_until_idle


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


@pytest.fixture
def work_tree(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    git(folder, "init", "--quiet")
    return folder


def mirror(store: MemoryStore, home: Path, files: str) -> tuple[LearningDuties, MirrorDuty]:
    environment = {"HOME": str(home), "PATH": "/usr/bin:/bin", "OPENCODE_MEMORY_FILES": files}
    config = load(environment=environment)
    duties = LearningDuties(store, config)
    return duties, MirrorDuty(config, duties.projects)


def only(duties: MirrorDuty, monkeypatch: pytest.MonkeyPatch) -> tuple[Duty, ...]:
    """Return the duty; it looks in each round, because the time of the look is not real in tests."""
    monkeypatch.setattr("opencode_memory.worker.mirror_duty._LOOK_SECONDS", 0.0)
    monkeypatch.setattr("opencode_memory.mirror.watch._REST_FACTOR", 0.0)
    return duties.duties()


def test_there_is_no_duty_by_default(store: MemoryStore, home: Path) -> None:
    config = load(environment={"HOME": str(home)})
    assert MIRROR not in {duty.kind for duty in LearningDuties(store, config).duties()}


def test_learning_duties_include_it(store: MemoryStore, home: Path) -> None:
    duties, _ = mirror(store, home, "global")
    assert MIRROR in {duty.kind for duty in duties.duties()}


def test_edit_of_a_global_memory_is_read_and_its_change_is_written(
    store: MemoryStore, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    id_ = store.remember("The port is 5128", scope="global").id
    duties = only(mirror(store, home, "global")[1], monkeypatch)
    work_until_idle(store, duties)
    [path] = (home / ".opencode" / "memory").glob("*.md")
    path.write_text(path.read_text().replace("5128", "7000"))
    work_until_idle(store, duties)
    assert store.get(id_).content == "The port is 7000"
    store.edit(id_, content="The port is 8000")
    work_until_idle(store, duties)
    assert "The port is 8000" in path.read_text()


@pytest.mark.parametrize("files", ["project", "both", "global"])
def test_project_of_a_session_has_files_if_the_setting_says_so(
    store: MemoryStore, home: Path, work_tree: Path, monkeypatch: pytest.MonkeyPatch, files: str
) -> None:
    learning, mirrored = mirror(store, home, files)
    project = learning.projects.ensure(work_tree)
    store.remember("Use pnpm", project=project)
    duties = only(mirrored, monkeypatch)
    mirrored.add(str(work_tree))
    work_until_idle(store, duties)
    assert (work_tree / ".opencode" / "memory").is_dir() is (files != "global")
    assert (home / ".opencode").exists() is (files != "project")


def test_recorded_folder_is_followed_after_a_restart(
    store: MemoryStore, home: Path, work_tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    learning, first = mirror(store, home, "project")
    id_ = store.remember("The port is 5128", project=learning.projects.ensure(work_tree)).id
    first.add(str(work_tree))
    work_until_idle(store, only(first, monkeypatch))
    [path] = (work_tree / ".opencode" / "memory").glob("*.md")
    path.write_text(path.read_text().replace("5128", "7000"))
    work_until_idle(store, only(mirror(store, home, "project")[1], monkeypatch))
    assert store.get(id_).content == "The port is 7000"


def test_emptied_folder_is_logged_once_with_the_command_that_says_what_to_do(
    store: MemoryStore, home: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for text in ("The port is 5128", "Deploy on Fridays"):
        store.remember(text, scope="global")
    duties = only(mirror(store, home, "global")[1], monkeypatch)
    work_until_idle(store, duties)
    for path in (home / ".opencode" / "memory").glob("*.md"):
        path.unlink()
    for _ in range(2):
        work_until_idle(store, duties)
    assert caplog.text.count("opencode-memory files status") == 1
    assert len(store.list(scope="global")) == 2
