"""Fact sheets of projects, written by the worker when a session comes to rest."""

from __future__ import annotations

from pathlib import Path

import pytest

from opencode_memory import MemoryStore
from opencode_memory.config.load import load
from opencode_memory.hosts.opencode.feed.live_learning import REST
from opencode_memory.learning import switches
from opencode_memory.models import ALL_PROJECTS
from opencode_memory.worker.learning_duties import LearningDuties
from support.memory_files import git
from support.worker_loop import work_until_idle

MANIFEST = "module example.com/locks\n\ngo 1.24\n"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "locks"
    folder.mkdir()
    git(folder, "init", "--quiet")
    git(folder, "remote", "add", "origin", "https://example.com/harbor/locks.git")
    (folder / "go.mod").write_text(MANIFEST, encoding="utf-8")
    return folder


def end_session(
    store: MemoryStore, tmp_path: Path, directory: Path, *, parent: str | None = None, **settings: str
) -> None:
    """Let the worker finish a session that came to rest in a folder."""
    environment = {"HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin", "XDG_CONFIG_HOME": str(tmp_path / "config")}
    environment |= {f"OPENCODE_MEMORY_{key.upper()}": value for key, value in settings.items()}
    duties = LearningDuties(store, load(environment=environment)).duties()
    payload = {"directory": str(directory), "parent": parent, "title": "", "active_ms": 0}
    store.jobs.enqueue(REST, "ses_1", payload=payload)
    work_until_idle(store, tuple(duty for duty in duties if duty.kind == REST))


def list_texts(store: MemoryStore) -> list[str]:
    return [memory.content for memory in store.list(project=ALL_PROJECTS)]


def test_first_session_of_a_project_writes_its_fact_sheet(store: MemoryStore, repository: Path, tmp_path: Path) -> None:
    (repository / "cmd").mkdir()
    end_session(store, tmp_path, repository / "cmd")
    (text,) = list_texts(store)
    assert text.startswith("Project example.com/locks.\n")
    assert "test `go test ./...`" in text


@pytest.mark.parametrize(
    "settings", [{"learning_sources": "live"}, {"learning_skip_projects": "example.com/harbor/locks"}]
)
def test_switched_off_source_or_project_gets_no_fact_sheet(
    store: MemoryStore, repository: Path, tmp_path: Path, settings: dict[str, str]
) -> None:
    end_session(store, tmp_path, repository, **settings)
    assert list_texts(store) == []


def test_project_without_learning_gets_no_fact_sheet(store: MemoryStore, repository: Path, tmp_path: Path) -> None:
    end_session(store, tmp_path, repository)
    (sheet,) = store.list(project=ALL_PROJECTS)
    assert sheet.project is not None
    switches.switch(store, sheet.project, on=False)
    (repository / "go.mod").write_text("module example.com/sluices\n", encoding="utf-8")
    end_session(store, tmp_path, repository)
    assert list_texts(store) == [sheet.content]


def test_session_of_a_subagent_writes_no_fact_sheet(store: MemoryStore, repository: Path, tmp_path: Path) -> None:
    end_session(store, tmp_path, repository, parent="ses_0")
    assert list_texts(store) == []


def test_folder_outside_of_a_repository_gets_no_fact_sheet(store: MemoryStore, tmp_path: Path) -> None:
    (tmp_path / "go.mod").write_text(MANIFEST, encoding="utf-8")
    end_session(store, tmp_path, tmp_path)
    assert list_texts(store) == []
