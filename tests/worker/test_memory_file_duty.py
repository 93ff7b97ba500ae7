"""Updates of a project's memory file as a duty of the worker."""

from __future__ import annotations

from pathlib import Path

import pytest

from opencode_memory import MemoryStore
from opencode_memory.config.load import load
from opencode_memory.worker.duty import Duty
from opencode_memory.worker.learning_duties import EDITED_FILES, MEMORY_FILE, LearningDuties
from support.memory_files import git
from support.worker_loop import (
    work_through_failures,
    work_until_idle,
)


def file_duties(store: MemoryStore, tmp_path: Path, **settings: str) -> tuple[Duty, ...]:
    changes = {f"OPENCODE_MEMORY_{key.upper()}": value for key, value in settings.items()}
    environment = {"HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin", **changes}
    environment["XDG_CONFIG_HOME"] = str(tmp_path / "config")
    config = load(environment=environment)
    return tuple(duty for duty in LearningDuties(store, config).duties() if duty.kind in {MEMORY_FILE, EDITED_FILES})


@pytest.fixture
def work_tree(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    git(folder, "init", "--quiet")
    return folder


def ask(store: MemoryStore, work_tree: Path) -> None:
    store.jobs.enqueue(MEMORY_FILE, str(work_tree), payload={"project": "app"})


def test_memory_file_is_not_created_without_consent(store: MemoryStore, work_tree: Path, tmp_path: Path) -> None:
    store.remember("the port is 5128", category="decision")
    ask(store, work_tree)
    work_until_idle(store, file_duties(store, tmp_path))
    assert not (work_tree / ".opencode").exists()
    assert store.jobs.list() == []


def test_memory_file_is_created_if_the_configuration_consents(
    store: MemoryStore, work_tree: Path, tmp_path: Path
) -> None:
    store.remember("the port is 5128", category="decision")
    ask(store, work_tree)
    work_until_idle(store, file_duties(store, tmp_path, memory_file="auto"))
    assert "the port is 5128" in (work_tree / ".opencode" / "MEMORY.md").read_text()


def test_consented_memory_file_is_kept_up_to_date(store: MemoryStore, work_tree: Path, tmp_path: Path) -> None:
    store.remember("the port is 5128", category="decision")
    ask(store, work_tree)
    work_until_idle(store, file_duties(store, tmp_path, memory_file="auto"))
    store.remember("jest runs before the merge", category="convention")
    ask(store, work_tree)
    work_until_idle(store, file_duties(store, tmp_path))
    assert "jest runs before the merge" in (work_tree / ".opencode" / "MEMORY.md").read_text()


def test_edit_of_the_user_is_read_without_being_asked(store: MemoryStore, work_tree: Path, tmp_path: Path) -> None:
    store.remember("the port is 5128", category="decision")
    ask(store, work_tree)
    duties = file_duties(store, tmp_path, memory_file="auto")
    work_until_idle(store, duties)
    path = work_tree / ".opencode" / "MEMORY.md"
    path.write_text(path.read_text().replace("the port is 5128", "the port is 6000"))
    work_until_idle(store, file_duties(store, tmp_path, memory_file="auto"))
    assert [memory.content for memory in store.list(project="app")] == ["the port is 6000"]
    assert store.jobs.list() == []


def test_users_file_is_not_changed_without_consent(store: MemoryStore, work_tree: Path, tmp_path: Path) -> None:
    path = work_tree / ".opencode" / "MEMORY.md"
    path.parent.mkdir()
    path.write_text("# Mine\n")
    store.remember("the port is 5128", category="decision")
    ask(store, work_tree)
    work_until_idle(store, file_duties(store, tmp_path))
    assert path.read_text() == "# Mine\n"


def test_no_duty_if_the_memory_file_is_off(store: MemoryStore, tmp_path: Path) -> None:
    assert file_duties(store, tmp_path, memory_file="off") == ()


def test_missing_work_tree_creates_no_file(store: MemoryStore, work_tree: Path, tmp_path: Path) -> None:
    ask(store, tmp_path / "gone")
    work_through_failures(store, file_duties(store, tmp_path, memory_file="auto"))
    assert not (tmp_path / "gone").exists()
