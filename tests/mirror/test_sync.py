"""Memories are written as files, and the user's changes of the files are applied to the memories."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from opencode_memory import MemoryStore
from opencode_memory.memory_file import ChangedBy
from opencode_memory.mirror import Kind
from opencode_memory.models import Status, Trust
from opencode_memory.text.formatting import short_id
from support.mirrors import Scene, global_scene, project_scene


def kinds(changes: tuple[object, ...]) -> list[Kind]:
    return [change.kind for change in changes]  # type: ignore[attr-defined]


def test_memory_has_a_file_with_a_head_and_its_text(scene: Scene) -> None:
    [memory] = [memory for memory in scene.memories() if "pnpm" in memory.content]
    path = scene.file("pnpm")
    assert path.name == f"use-pnpm-not-npm-{short_id(memory.id)}.md"
    assert path.read_text() == (
        f"---\nid: {memory.id}\ncategory: preference\ntags: [build]\ndate: {memory.time.date()}\nby: user\n---\n\n"
        "Use pnpm, not npm\n"
    )


def test_files_and_folders_are_private(scene: Scene) -> None:
    assert {stat.S_IMODE(path.stat().st_mode) for path in scene.files()} == {0o600}
    assert stat.S_IMODE(scene.place.path.stat().st_mode) == 0o700


def test_git_ignores_the_files_but_not_the_shared_ones(scene: Scene) -> None:
    team = scene.place.path / "team"
    team.mkdir()
    (team / "shared.md").write_text("shared\n")
    assert scene.git("status", "--porcelain", "--untracked-files=all").split() == [
        "??",
        ".opencode/memory/team/shared.md",
    ]


def test_global_memories_are_in_the_home_folder(home: Scene, scene: Scene) -> None:
    assert [path.name[:25] for path in home.files()] == ["answer-in-short-sentences"]
    assert len(scene.files()) == 2


def test_nothing_is_written_if_nothing_changed(scene: Scene) -> None:
    before = {path: path.stat().st_mtime_ns for path in scene.files()}
    report = scene.sync()
    assert (report.written, report.applied, report.shown) == ((), (), 2)
    assert {path: path.stat().st_mtime_ns for path in scene.files()} == before


def test_changed_memory_is_written_again(scene: Scene) -> None:
    [memory] = [memory for memory in scene.memories() if "port" in memory.content]
    name = scene.file("port").name
    scene.store.edit(memory.id, content="The port is 6000")
    assert scene.sync().written == (name,)
    assert "The port is 6000" in (scene.place.path / name).read_text()


def test_edit_changes_the_memory_and_vouches_for_it(scene: Scene) -> None:
    scene.replace("5128", "7000")
    report = scene.sync()
    assert kinds(report.applied) == [Kind.EDIT]
    [memory] = [memory for memory in scene.memories() if "port" in memory.content]
    assert (memory.content, memory.trust, memory.verified_at is not None) == ("The port is 7000", Trust.USER, True)
    assert scene.sync().written == ()


def test_history_names_the_user_if_a_worker_applies_the_change(scene: Scene) -> None:
    worker = Scene(scene.store.acting_as("extracted"), scene.place)
    scene.replace("5128", "7000")
    scene.file("pnpm").unlink()
    assert len(worker.sync().applied) == 2
    assert {operation.actor for operation in scene.store.operations.list(limit=2)} == {Trust.USER}


def test_fields_of_the_head_change_the_memory(scene: Scene) -> None:
    scene.replace(
        "category: preference\ntags: [build]", "category: convention\ntags:\n  - build\n  - js\npinned: yes", "pnpm"
    )
    scene.sync()
    [memory] = [memory for memory in scene.memories() if "pnpm" in memory.content]
    assert (memory.category, set(memory.tags), memory.pinned) == ("convention", {"build", "js"}, True)
    assert "tags:\n  - build\n  - js\npinned: yes\n" in scene.file("pnpm").read_text()


def test_edit_of_one_field_keeps_what_the_memory_got_meanwhile(scene: Scene) -> None:
    [memory] = [memory for memory in scene.memories() if "port" in memory.content]
    scene.store.edit(memory.id, tags=["net"])
    scene.replace("5128", "7000")
    scene.sync()
    found = scene.store.get(memory.id)
    assert (found.content, found.tags) == ("The port is 7000", ("net",))
    assert "tags: [net]" in scene.file("port").read_text()


def test_text_that_both_sides_changed_is_the_users_and_the_other_stays_in_the_history(scene: Scene) -> None:
    [memory] = [memory for memory in scene.memories() if "port" in memory.content]
    scene.store.edit(memory.id, content="The port is 6000")
    scene.replace("5128", "7000")
    scene.sync()
    assert scene.store.get(memory.id).content == "The port is 7000"
    before = [entry.before.content for entry in scene.store.history(memory.id) if entry.before is not None]
    assert "The port is 6000" in before


def test_keys_and_formatting_of_others_are_kept(scene: Scene) -> None:
    path = scene.file("port")
    text = (
        path.read_text().replace("category:", "# mine\naliases: [a, b]\nCategory:   ").replace("---\n\nThe", "---\nThe")
    )
    path.write_bytes(text.replace("\n", "\r\n").encode() + b"\r\n\r\n")
    before = path.read_bytes()
    assert scene.sync().applied == ()
    assert path.read_bytes() == before
    [memory] = [memory for memory in scene.memories() if "port" in memory.content]
    scene.store.edit(memory.id, tags=["net"])
    scene.sync()
    assert path.read_bytes() == before.replace(b"date:", b"tags: [net]\r\ndate:")


def test_new_file_is_a_new_memory_and_gets_a_head(scene: Scene) -> None:
    path = scene.place.path / "Deploy.md"
    path.write_text("---\naliases: [ship]\ncategory: procedure\ntags: ops, ci\n---\nDeploy with make ship.\n")
    assert kinds(scene.sync().applied) == [Kind.ADD]
    [memory] = [memory for memory in scene.memories() if "ship" in memory.content]
    assert (memory.category, set(memory.tags), memory.trust) == ("procedure", {"ops", "ci"}, Trust.USER)
    text = path.read_text()
    assert text.startswith(f"---\nid: {memory.id}\naliases: [ship]\ncategory: procedure\n")
    assert text.endswith("---\nDeploy with make ship.\n")
    assert len(scene.files()) == 3
    assert scene.sync().written == ()


def test_new_file_without_a_head_is_a_fact(scene: Scene) -> None:
    (scene.place.path / "note.md").write_text("The queue is called jobs.\n")
    scene.sync()
    [memory] = [memory for memory in scene.memories() if "queue" in memory.content]
    assert (memory.category, scene.file("note").read_text().endswith("---\n\nThe queue is called jobs.\n")) == (
        "fact",
        True,
    )


def test_deleted_file_archives_its_memory(scene: Scene) -> None:
    scene.file("port").unlink()
    assert kinds(scene.sync().applied) == [Kind.DELETE]
    assert scene.texts(Status.ARCHIVED) == ["The port is 5128"]
    assert len(scene.files()) == 1


def test_file_that_is_put_back_restores_its_memory(scene: Scene) -> None:
    path = scene.file("port")
    text = path.read_text()
    path.unlink()
    scene.sync()
    path.write_text(text)
    assert kinds(scene.sync().applied) == [Kind.RESTORE]
    assert "The port is 5128" in scene.texts()


def test_file_of_an_archived_memory_is_removed(scene: Scene) -> None:
    [memory] = [memory for memory in scene.memories() if "port" in memory.content]
    scene.store.archive(memory.id)
    assert len(scene.sync().removed) == 1
    assert [path.name[:8] for path in scene.files()] == ["use-pnpm"]


def test_edit_of_a_memory_that_was_archived_meanwhile_is_a_new_memory(scene: Scene) -> None:
    [memory] = [memory for memory in scene.memories() if "port" in memory.content]
    scene.store.archive(memory.id)
    scene.replace("5128", "7000")
    assert kinds(scene.sync().applied) == [Kind.ADD]
    assert "The port is 7000" in scene.texts()
    assert scene.texts(Status.ARCHIVED) == ["The port is 5128"]
    assert len(scene.files()) == 2


def test_renamed_file_keeps_its_memory_and_its_new_name(scene: Scene) -> None:
    scene.file("port").rename(scene.place.path / "network.md")
    report = scene.sync()
    assert (report.applied, report.written) == ((), ())
    scene.replace("5128", "7000", "network")
    assert kinds(scene.sync().applied) == [Kind.EDIT]
    assert len(scene.files()) == 2
    assert len(scene.memories()) == 2


def test_copy_of_a_file_is_reported_and_changed_copy_is_a_new_memory(scene: Scene) -> None:
    copy = scene.place.path / "copy.md"
    copy.write_text(scene.file("port").read_text())
    assert [change.name for change in scene.sync().unclear] == ["copy.md"]
    copy.write_text(copy.read_text().replace("The port is 5128", "Ship on Fridays"))
    assert kinds(scene.sync().applied) == [Kind.ADD]
    assert scene.texts() == ["Ship on Fridays", "The port is 5128", "Use pnpm, not npm"]


def test_two_new_files_with_one_text_are_one_memory(scene: Scene) -> None:
    for name in ("a.md", "b.md"):
        (scene.place.path / name).write_text("The queue is called jobs.\n")
    report = scene.sync()
    assert [change.name for change in report.unclear] == ["b.md"]
    assert scene.texts().count("The queue is called jobs.") == 1
    assert (scene.place.path / "b.md").read_text() == "The queue is called jobs.\n"


def test_removed_folder_is_written_again_and_no_memory_is_archived(scene: Scene) -> None:
    for path in scene.place.path.iterdir():
        path.unlink()
    scene.place.path.rmdir()
    assert len(scene.sync().written) == 2
    assert scene.texts(Status.ARCHIVED) == []


def test_most_files_removed_at_once_is_no_deletion(store: MemoryStore, tmp_path: Path) -> None:
    for number in range(6):
        store.remember(f"Service {number} listens on its own socket", project="app")
    scene = project_scene(store, tmp_path / "shop")
    scene.sync()
    for path in scene.files()[:5]:
        path.unlink()
    report = scene.sync()
    assert (kinds(report.proposed), report.applied) == ([Kind.DELETE] * 5, ())
    assert len(scene.texts()) == 6
    assert scene.sync().proposed == ()
    assert len(scene.files()) == 1
    assert len(scene.sync(rewrites=True).written) == 5


def test_emptied_small_folder_archives_nothing_until_the_user_says_so(scene: Scene) -> None:
    names = tuple(path.name for path in scene.files())
    for path in scene.files():
        path.unlink()
    for _ in range(2):
        report = scene.sync()
        assert (report.applied, report.written, sorted(report.missing)) == ((), (), sorted(names))
    assert len(scene.texts()) == 2
    assert kinds(scene.sync(changed_by=ChangedBy.PERSON).applied) == [Kind.DELETE] * 2
    assert scene.texts() == []


def test_emptied_small_folder_is_written_again_on_request(scene: Scene) -> None:
    for path in scene.files():
        path.unlink()
    scene.sync()
    report = scene.sync(rewrites=True)
    assert (len(report.written), report.missing) == (2, ())


def test_file_that_came_back_after_an_accident_can_be_deleted_on_purpose(scene: Scene) -> None:
    texts = {path: path.read_text() for path in scene.files()}
    for path in texts:
        path.unlink()
    scene.sync()
    for path, text in texts.items():
        path.write_text(text)
    report = scene.sync()
    assert (report.applied, report.proposed, report.missing) == ((), (), ())
    scene.file("port").unlink()
    assert kinds(scene.sync().applied) == [Kind.DELETE]


def test_only_file_of_a_folder_is_deleted_on_purpose(home: Scene) -> None:
    home.file().unlink()
    assert kinds(home.sync().applied) == [Kind.DELETE]
    assert home.texts(Status.ARCHIVED) == ["Answer in short sentences"]


def test_files_that_were_put_together_in_a_new_one_are_deleted_on_purpose(scene: Scene) -> None:
    text = "\n".join(path.read_text().split("---\n")[2].strip() for path in scene.files())
    for path in scene.files():
        path.unlink()
    (scene.place.path / "all.md").write_text(text)
    assert kinds(scene.sync().applied) == [Kind.ADD, Kind.DELETE, Kind.DELETE]


def test_dry_run_reports_and_writes_nothing(scene: Scene) -> None:
    path = scene.replace("5128", "7000")
    (scene.place.path / "note.md").write_text("The queue is called jobs.\n")
    before = path.read_bytes()
    report = scene.sync(dry_run=True)
    assert kinds(report.applied) == [Kind.ADD, Kind.EDIT] or kinds(report.applied) == [Kind.EDIT, Kind.ADD]
    assert "The port is 5128" in scene.texts()
    assert path.read_bytes() == before
    assert path.name not in report.written
    assert kinds(scene.sync().applied) == kinds(report.applied)


def test_dry_run_does_not_write_a_file_again_that_was_deleted(scene: Scene) -> None:
    scene.file("port").unlink()
    report = scene.sync(dry_run=True)
    assert (kinds(report.applied), report.written) == ([Kind.DELETE], ())


def test_files_are_written_in_batches(store: MemoryStore, tmp_path: Path) -> None:
    for number in range(5):
        store.remember(f"Service {number} listens on its own socket", project="app")
    scene = project_scene(store, tmp_path / "shop")
    assert [scene.sync(most_files=2).is_complete for _ in range(3)] == [False, False, True]
    assert len(scene.files()) == 5


def test_secret_in_an_edit_is_redacted_in_the_memory_and_in_the_file(scene: Scene) -> None:
    secret = "ghp_" + "a1B2" * 9
    scene.replace("5128", f"5128, token {secret}")
    scene.sync()
    assert secret not in " ".join(scene.texts())
    assert secret not in scene.file("port").read_text()


def test_memory_of_another_project_is_not_changed_by_a_forged_id(scene: Scene, store: MemoryStore) -> None:
    other = store.remember("Another project uses bun", project="other").id
    forged = store.remember("A global rule", scope="global").id
    for name, id_ in (("x.md", other), ("y.md", forged)):
        (scene.place.path / name).write_text(f"---\nid: {id_}\n---\nForged {name}\n")
    assert kinds(scene.sync().applied) == [Kind.ADD, Kind.ADD]
    assert store.get(other).content == "Another project uses bun"
    assert store.get(forged).content == "A global rule"


@pytest.mark.parametrize("is_home", [True, False])
def test_record_that_is_lost_makes_changes_proposals(store: MemoryStore, tmp_path: Path, is_home: bool) -> None:
    scope = "global" if is_home else None
    store.remember("The port is 5128", scope=scope, project=None if is_home else "app")
    scene = (global_scene if is_home else project_scene)(store, tmp_path / "top")
    scene.sync()
    for record in (store.data_dir / "mirror").glob("*.json"):
        record.write_text("{")
    scene.replace("5128", "7000")
    report = scene.sync()
    assert (kinds(report.proposed), report.applied) == ([Kind.EDIT], ())
    assert scene.texts() == ["The port is 5128"]
    assert scene.texts(Status.CANDIDATE) == ["The port is 7000"]
    assert "7000" in scene.file("port").read_text()
