"""Memories that people share through the repository."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from opencode_memory import MemoryStore
from opencode_memory.errors import ConflictError, InvalidInputError
from opencode_memory.learning.review import accept, reject
from opencode_memory.mirror import Kind, share
from opencode_memory.models import Memory, Status, Trust
from support.mirrors import Scene

AT = datetime(2026, 3, 1, tzinfo=UTC)
OTHERS = (
    "---\nid: 01920000-0000-7000-8000-00000000beef\ncategory: procedure\npinned: true\n---\n\nDeploy with make ship.\n"
)


def team(scene: Scene) -> Path:
    return scene.place.path / "team"


def port(scene: Scene) -> Memory:
    [memory] = [memory for memory in scene.memories() if "port" in memory.content]
    return memory


def test_shared_memory_has_a_file_that_git_sees(scene: Scene) -> None:
    scene.store.pin(port(scene).id)
    path = share(scene.store, scene.place, port(scene).id, at=AT)
    assert path.parent == team(scene)
    text = path.read_text()
    assert "The port is 5128" in text
    assert ("pinned" in text, "by:" in text) == (False, False)
    assert scene.git("status", "--porcelain", "--untracked-files=all").split()[1].endswith(path.name)
    assert scene.sync().proposed == ()


def test_sharing_again_updates_the_file_and_keeps_what_is_foreign(scene: Scene) -> None:
    path = share(scene.store, scene.place, port(scene).id, at=AT)
    path = path.rename(path.with_name("network.md"))
    path.write_text(path.read_text().replace("---\nid", "---\nowner: ann\nid", 1))
    scene.store.edit(port(scene).id, content="The port is 6000")
    assert share(scene.store, scene.place, port(scene).id, at=AT) == path
    assert "owner: ann\n" in path.read_text()
    assert "The port is 6000" in path.read_text()


def test_memory_can_be_shared_without_a_mirror(scene: Scene, store: MemoryStore) -> None:
    for path in [*scene.place.path.iterdir(), *(store.data_dir / "mirror").iterdir()]:
        path.unlink()
    path = share(store, scene.place, port(scene).id, at=AT)
    assert [one.name for one in scene.place.path.iterdir() if one.is_file()] == [".gitignore"]
    assert path.exists()


def test_file_of_a_team_mate_waits_for_review(scene: Scene) -> None:
    team(scene).mkdir()
    (team(scene) / "deploy.md").write_text(OTHERS)
    report = scene.sync()
    assert [(change.kind, change.name) for change in report.proposed] == [(Kind.ADD, "team/deploy.md")]
    [memory] = scene.memories(Status.CANDIDATE)
    assert (memory.content, memory.trust, memory.pinned) == ("Deploy with make ship.", Trust.IMPORTED, False)
    assert memory.source.file == ".opencode/memory/team/deploy.md"
    assert scene.sync().proposed == ()
    accept(scene.store, memory)
    scene.sync()
    assert (team(scene) / "deploy.md").read_text() == OTHERS
    assert len(scene.files()) == 3


def test_rejected_text_of_a_team_mate_is_not_proposed_again(scene: Scene) -> None:
    team(scene).mkdir()
    path = team(scene) / "deploy.md"
    path.write_text(OTHERS)
    scene.sync()
    [memory] = scene.memories(Status.CANDIDATE)
    reject(scene.store, memory)
    path.write_text(f"{OTHERS}\n")
    assert scene.sync().proposed == ()
    assert scene.memories(Status.CANDIDATE) == []


def test_change_of_a_shared_memory_by_a_team_mate_is_proposed(scene: Scene) -> None:
    path = share(scene.store, scene.place, port(scene).id, at=AT)
    path.write_text(path.read_text().replace("5128", "7000"))
    report = scene.sync()
    assert [(change.kind, change.name) for change in report.proposed] == [(Kind.EDIT, f"team/{path.name}")]
    assert "The port is 5128" in scene.texts()
    [memory] = scene.memories(Status.CANDIDATE)
    assert memory.metadata["replaces"] == port(scene).id


def test_removed_shared_file_archives_nothing(scene: Scene) -> None:
    path = share(scene.store, scene.place, port(scene).id, at=AT)
    scene.sync()
    path.unlink()
    report = scene.sync()
    assert (report.applied, report.proposed) == ((), ())
    assert "The port is 5128" in scene.texts()


def test_unusable_shared_files_are_reported(scene: Scene, tmp_path: Path) -> None:
    team(scene).mkdir()
    (team(scene) / "link.md").symlink_to(tmp_path / "secret")
    (team(scene) / "broken.md").write_text("---\nno end\n")
    assert {change.name for change in scene.sync().unclear} == {"team/link.md", "team/broken.md"}


def test_team_that_is_a_link_is_not_written(scene: Scene, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    team(scene).symlink_to(outside)
    with pytest.raises(ConflictError, match="symbolic link"):
        share(scene.store, scene.place, port(scene).id, at=AT)
    assert "symbolic link" in (scene.sync().problem or "")
    assert list(outside.iterdir()) == []


def test_memory_of_another_project_and_one_that_waits_are_not_shared(scene: Scene, store: MemoryStore) -> None:
    other = store.remember("Another project uses bun", project="other").id
    waiting = store.remember("Perhaps", project="app", status="candidate").id
    for id_, reason in ((other, "another project"), (waiting, "waits for a review")):
        with pytest.raises(InvalidInputError, match=reason):
            share(store, scene.place, id_, at=AT)
