"""A purge removes the files of its memories at once, and names what it cannot reach."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from opencode_memory.learning.review import accept
from opencode_memory.mirror import PurgedFiles, find_texts, remove_purged, share
from opencode_memory.mirror.record import locked
from opencode_memory.models import Status
from support.mirrors import ENVIRONMENT, Scene

AT = datetime(2026, 3, 1, tzinfo=UTC)
FOREIGN = "---\nid: 01920000-0000-7000-8000-00000000beef\n---\n\nDeploy with make ship.\n"


def id_of(scene: Scene, part: str = "port") -> str:
    [memory] = [memory for memory in scene.memories() if part in memory.content]
    return memory.id


def purge(scene: Scene, id_: str) -> PurgedFiles:
    files = remove_purged(scene.store, find_texts(scene.store, [id_]), at=AT, environment=ENVIRONMENT)
    scene.store.purge(id_)
    return files


def names(scene: Scene, part: str) -> list[str]:
    return sorted(path.name for path in scene.place.path.rglob("*.md") if part in path.read_text())


def test_purge_removes_the_file_and_the_shared_file(scene: Scene) -> None:
    id_ = id_of(scene)
    shared = share(scene.store, scene.place, id_, at=AT)
    files = purge(scene, id_)
    assert (set(files.removed), files.problems) == ({shared, scene.place.path / shared.name}, ())
    assert names(scene, "5128") == []
    report = scene.sync()
    assert (report.applied, report.proposed, report.removed) == ((), (), ())


def test_purge_of_a_deleted_memory_removes_the_shared_file_with_an_earlier_text(scene: Scene) -> None:
    id_ = id_of(scene)
    shared = share(scene.store, scene.place, id_, at=AT)
    scene.store.edit(id_, content="The port is 6000")
    scene.store.delete(id_)
    assert shared in purge(scene, id_).removed
    assert names(scene, "5128") == []


def test_purge_removes_the_file_of_a_team_mate_from_which_the_memory_came(scene: Scene) -> None:
    team = scene.place.path / "team"
    team.mkdir()
    (team / "deploy.md").write_text(FOREIGN)
    scene.sync()
    [memory] = scene.memories(Status.CANDIDATE)
    accept(scene.store, memory)
    assert purge(scene, memory.id).removed == (team / "deploy.md",)


def test_purge_names_what_git_has(scene: Scene) -> None:
    id_ = id_of(scene)
    share(scene.store, scene.place, id_, at=AT)
    scene.git("add", "--all")
    scene.git("commit", "--quiet", "--message", "share")
    [problem] = purge(scene, id_).problems
    assert "git may still have .opencode/memory/team/the-port" in problem
    assert "rewrite the history" in problem


def test_purge_leaves_a_file_with_another_text_and_names_it(scene: Scene) -> None:
    id_ = id_of(scene)
    path = scene.replace("5128", "5128, said Ann")
    files = purge(scene, id_)
    assert (files.removed, path.exists()) == ((), True)
    assert f"{path} belongs to it and has another text" in files.problems[0]


def test_purge_leaves_files_of_other_memories(scene: Scene, home: Scene) -> None:
    other = scene.store.remember("The port is 5128", project="other").id
    assert purge(scene, other) == PurgedFiles((), ())
    assert (len(scene.files()), len(home.files())) == (2, 1)


def test_purge_of_a_global_memory_removes_its_file_and_the_one_that_a_project_shares(scene: Scene, home: Scene) -> None:
    id_ = id_of(home, "short")
    share(scene.store, scene.place, id_, at=AT)
    assert len(purge(scene, id_).removed) == 2
    assert (home.files(), names(scene, "short")) == ([], [])


def test_purge_names_a_folder_that_another_process_synchronizes(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("opencode_memory.mirror.purged._WAIT_SECONDS", 0.0)
    with locked(scene.store.data_dir, scene.place):
        files = purge(scene, id_of(scene))
    assert files.removed == ()
    assert f"{scene.place.path} could not be searched" in files.problems[0]


def test_purge_does_not_follow_a_folder_that_became_a_link(scene: Scene, tmp_path: Path) -> None:
    scene.place.path.rename(tmp_path / "elsewhere")
    scene.place.path.symlink_to(tmp_path / "elsewhere")
    files = purge(scene, id_of(scene))
    assert (files.removed, "symbolic link" in files.problems[0]) == ((), True)
    assert len(list((tmp_path / "elsewhere").glob("*.md"))) == 2
