"""What comes with git is a proposal: a checkout, a merge or a clone changes no memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from opencode_memory import ConflictError, MemoryStore, RememberResult
from opencode_memory.learning.review import accept, reject
from opencode_memory.memory_file import ChangedBy
from opencode_memory.mirror import Kind, MirrorReport
from opencode_memory.models import Memory, Status, Trust
from support.memory_files import git
from support.mirrors import Scene, project_scene


def proposed(report: MirrorReport) -> list[tuple[Kind, str]]:
    return [(change.kind, change.name[:8]) for change in report.proposed]


@pytest.fixture
def branches(scene: Scene) -> Scene:
    """A repository with the files on ``main``; on ``other``, one is edited, one is removed and one is new."""
    scene.track()
    scene.sync()
    scene.git("checkout", "--quiet", "-b", "other")
    path = scene.file("port")
    path.write_text(path.read_text().replace("5128", "7000"))
    scene.file("pnpm").unlink()
    (scene.place.path / "new.md").write_text("Deploy with make ship.\n")
    scene.track()
    scene.git("checkout", "--quiet", "main")
    assert scene.sync().applied == ()
    return scene


def test_checkout_proposes_and_changes_no_memory(branches: Scene) -> None:
    branches.git("checkout", "--quiet", "other")
    report = branches.sync()
    assert report.applied == ()
    assert proposed(report) == [(Kind.ADD, "new.md"), (Kind.EDIT, "the-port"), (Kind.DELETE, "use-pnpm")]
    assert branches.texts() == ["The port is 5128", "Use pnpm, not npm"]
    assert branches.texts(Status.CANDIDATE) == ["Deploy with make ship.", "The port is 7000"]
    assert {memory.trust for memory in branches.memories(Status.CANDIDATE)} == {Trust.IMPORTED}
    assert branches.git("status", "--porcelain") == ""


def test_checkout_there_and_back_leaves_everything_as_it_was(branches: Scene) -> None:
    branches.git("checkout", "--quiet", "other")
    branches.sync()
    assert branches.sync().proposed == ()
    branches.git("checkout", "--quiet", "main")
    report = branches.sync()
    assert (report.applied, report.written, report.proposed) == ((), (), ())
    assert branches.git("status", "--porcelain") == ""
    branches.replace("5128", "8000")
    assert [change.kind for change in branches.sync().applied] == [Kind.EDIT]


def test_accepted_text_gets_the_file_it_came_in(branches: Scene) -> None:
    branches.git("checkout", "--quiet", "other")
    branches.sync()
    [memory] = [one for one in branches.memories(Status.CANDIDATE) if "ship" in one.content]
    accept(branches.store, memory)
    branches.sync()
    assert f"id: {memory.id}" in (branches.place.path / "new.md").read_text()
    assert len([path for path in branches.files() if "ship" in path.read_text()]) == 1


def test_accepted_edit_supersedes_the_memory_and_keeps_its_file(branches: Scene) -> None:
    branches.git("checkout", "--quiet", "other")
    branches.sync()
    [memory] = [one for one in branches.memories(Status.CANDIDATE) if "7000" in one.content]
    accept(branches.store, memory)
    branches.sync()
    assert [text for text in branches.texts() if "port" in text] == ["The port is 7000"]
    assert branches.texts(Status.SUPERSEDED) == ["The port is 5128"]
    [path] = [path for path in branches.files() if "port" in path.read_text()]
    assert f"id: {memory.id}" in path.read_text()
    assert branches.sync().written == ()


def test_refused_proposal_does_not_stop_the_others(branches: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    remember = MemoryStore.remember

    def refuse_one(store: MemoryStore, content: str, **fields: Any) -> RememberResult:
        if "7000" in content:
            raise ConflictError("another process was faster")
        return remember(store, content, **fields)

    branches.git("checkout", "--quiet", "other")
    with monkeypatch.context() as patch:
        patch.setattr(MemoryStore, "remember", refuse_one)
        report = branches.sync()
    assert report.problem is None
    assert "another process was faster" in [change.reason for change in report.proposed]
    assert [text for text in branches.texts(Status.CANDIDATE) if "ship" in text] == ["Deploy with make ship."]


def test_rejected_text_is_not_proposed_again(branches: Scene) -> None:
    branches.git("checkout", "--quiet", "other")
    branches.sync()
    for memory in branches.memories(Status.CANDIDATE):
        reject(branches.store, memory)
    branches.sync()
    for branch in ("main", "other"):
        branches.git("checkout", "--quiet", "--force", branch)
        branches.sync()
    assert branches.texts(Status.CANDIDATE) == []


def test_changes_that_came_with_git_are_applied_if_they_are_mine(branches: Scene) -> None:
    branches.git("checkout", "--quiet", "other")
    branches.sync()
    branches.sync(changed_by=ChangedBy.PERSON)
    assert "The port is 7000" in branches.texts()
    assert "Use pnpm, not npm" in branches.texts(Status.ARCHIVED)
    assert "Deploy with make ship." in branches.texts()


def test_edit_on_top_of_a_checkout_is_mine(branches: Scene) -> None:
    branches.git("checkout", "--quiet", "other")
    branches.sync()
    branches.replace("7000", "9000")
    assert [change.kind for change in branches.sync().applied] == [Kind.EDIT]
    assert "The port is 9000" in branches.texts()


def test_unfinished_merge_is_waited_for(branches: Scene) -> None:
    (branches.place.repository.git_dir / "MERGE_HEAD").write_text("0" * 40)  # type: ignore[union-attr]
    branches.replace("5128", "7000")
    report = branches.sync()
    assert "a merge is under way" in (report.problem or "")
    assert "The port is 5128" in branches.texts()
    (branches.place.repository.git_dir / "MERGE_HEAD").unlink()  # type: ignore[union-attr]
    assert [change.kind for change in branches.sync().applied] == [Kind.EDIT]


def test_deletion_of_an_ignored_file_beside_a_commit_is_mine(scene: Scene) -> None:
    (scene.place.top / "code.py").write_text("pass\n")
    scene.git("add", "code.py")
    scene.git("commit", "--quiet", "--message", "code")
    scene.file("port").unlink()
    assert [change.kind for change in scene.sync().applied] == [Kind.DELETE]


def removed_and_committed(scene: Scene) -> Memory:
    """Remove the tracked file of a memory, which archives it, and commit the removal."""
    scene.track()
    scene.sync()
    scene.git("rm", "--quiet", str(scene.file("port")))
    assert [change.kind for change in scene.sync().applied] == [Kind.DELETE]
    scene.git("commit", "--quiet", "--message", "remove")
    assert scene.sync().applied == ()
    [memory] = scene.memories(Status.ARCHIVED)
    return memory


def test_file_that_a_checkout_brings_back_restores_the_memory_that_went_with_it(scene: Scene) -> None:
    memory = removed_and_committed(scene)
    scene.git("checkout", "--quiet", "HEAD~1")
    assert [(change.kind, change.id) for change in scene.sync().applied] == [(Kind.RESTORE, memory.id)]
    assert "The port is 5128" in scene.texts()
    assert scene.git("status", "--porcelain") == ""
    scene.git("checkout", "--quiet", "main")
    report = scene.sync()
    assert (proposed(report), len(report.missing)) == ([(Kind.DELETE, "the-port")], 1)
    assert "The port is 5128" in scene.texts()


@pytest.mark.parametrize("how", ["archive", "delete", "purge"])
def test_file_that_a_checkout_brings_back_leaves_a_memory_away_that_was_put_away_since(scene: Scene, how: str) -> None:
    memory = removed_and_committed(scene)
    scene.store.restore(memory.id)
    getattr(scene.store, how)(memory.id)
    scene.git("checkout", "--quiet", "HEAD~1")
    assert scene.sync().applied == ()
    assert "The port is 5128" not in scene.texts()


@pytest.mark.parametrize("is_told", [True, False])
def test_file_of_an_archived_memory_that_a_checkout_brings_back_is_a_new_memory_if_it_is_mine(
    scene: Scene, is_told: bool
) -> None:
    memory = removed_and_committed(scene)
    scene.store.restore(memory.id)
    scene.store.archive(memory.id)
    scene.git("checkout", "--quiet", "HEAD~1")
    if is_told:
        [change] = scene.sync().proposed
        assert (change.kind, change.id) == (Kind.RESTORE, memory.id)
        assert "was archived" in change.reason
        assert scene.sync().proposed == ()
    assert [change.kind for change in scene.sync(changed_by=ChangedBy.PERSON).applied] == [Kind.ADD]
    assert scene.texts().count("The port is 5128") == 1
    assert scene.store.get(memory.id).status is Status.ARCHIVED
    assert scene.sync().applied == ()


def test_clone_proposes_its_files(scene: Scene, store: MemoryStore, tmp_path: Path) -> None:
    scene.track()
    git(tmp_path, "clone", "--quiet", "shop", "clone")
    store.remember("Only here", project="copy")
    from opencode_memory.mirror import project_place

    place = project_place(tmp_path / "clone", "copy", {})
    assert place is not None
    clone = Scene(store, place)
    report = clone.sync()
    assert [change.kind for change in report.proposed] == [Kind.ADD, Kind.ADD]
    assert (report.applied, clone.texts()) == ((), ["Only here"])
    assert clone.git("status", "--porcelain", "--untracked-files=no") == ""


def test_many_new_files_of_others_are_refused_with_a_way_out(store: MemoryStore, tmp_path: Path) -> None:
    scene = project_scene(store, tmp_path / "shop")
    scene.place.path.mkdir(parents=True)
    for number in range(201):
        (scene.place.path / f"{number}.md").write_text(f"Service {number} has a socket of its own\n")
    report = scene.sync()
    assert "--mine" in (report.problem or "")
    assert scene.texts(Status.CANDIDATE) == []


def test_linked_work_tree_shows_the_folder_of_the_main_one(scene: Scene, tmp_path: Path) -> None:
    from opencode_memory.mirror import project_place

    scene.track()
    scene.git("worktree", "add", "--quiet", str(tmp_path / "linked"))
    place = project_place(tmp_path / "linked", "app", {})
    assert place is not None
    assert place.path == scene.place.path
