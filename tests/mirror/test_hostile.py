"""Hostile and broken folders: nothing outside is touched, nothing is lost, and the report names the reason."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from opencode_memory import MemoryStore
from opencode_memory.errors import BusyError, StorageError
from opencode_memory.memory_file import confined
from opencode_memory.mirror.page import read_page
from opencode_memory.mirror.record import locked
from support.mirrors import Scene


def test_link_in_place_of_a_file_is_neither_read_nor_replaced(scene: Scene, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("private key")
    path = scene.file("port")
    path.unlink()
    path.symlink_to(secret)
    (scene.place.path / "other.md").symlink_to(secret)
    report = scene.sync()
    assert {change.name for change in report.unclear} == {path.name, "other.md"}
    assert (report.applied, scene.texts()) == ((), ["The port is 5128", "Use pnpm, not npm"])
    [memory] = [memory for memory in scene.memories() if "port" in memory.content]
    scene.store.edit(memory.id, content="The port is 6000")
    scene.sync()
    assert (secret.read_text(), path.is_symlink()) == ("private key", True)


@pytest.mark.parametrize("part", [".opencode", ".opencode/memory"])
def test_link_in_place_of_a_folder_is_not_followed(scene: Scene, tmp_path: Path, part: str) -> None:
    outside = tmp_path / "outside"
    (scene.place.top / part).rename(outside)
    (scene.place.top / part).symlink_to(outside)
    before = sorted(path.name for path in outside.rglob("*"))
    scene.store.remember("A third memory", project="app")
    report = scene.sync()
    assert "symbolic link" in (report.problem or "")
    assert sorted(path.name for path in outside.rglob("*")) == before
    assert len(scene.texts()) == 3


def test_fifo_and_folder_are_left_alone(scene: Scene) -> None:
    os.mkfifo(scene.place.path / "pipe.md")
    (scene.place.path / "folder.md").mkdir()
    assert {change.name for change in scene.sync().unclear} == {"pipe.md", "folder.md"}


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"---\nid: x\nno end\n", "no end"),
        (b"---\n" + b"key: value\n" * 300 + b"---\ntext\n", "no end"),
        (b"---\ncategory: decisoin\n---\ntext\n", "decision"),
        (b"---\npinned: perhaps\n---\ntext\n", "true or false"),
        (b"---\ncategory: fact\n---\n\n", "no text"),
        (b"", "no text"),
        (b"\xff\xfet\x00", "UTF-8"),
        (b"caf\xe9\n", "UTF-8"),
        (b"a\n<<<<<<< ours\nb\n=======\nc\n>>>>>>> theirs\n", "merge"),
        (b"x" * (1 << 20) + b"y", "bytes"),
        (b"x" * 100_001, "100"),
    ],
)
def test_unusable_version_is_kept_and_the_memory_too(scene: Scene, data: bytes, reason: str) -> None:
    path = scene.file("port")
    path.write_bytes(data)
    for _ in range(2):
        report = scene.sync()
        [change] = report.unclear
        assert reason in change.reason, change.reason
        assert (path.read_bytes(), scene.texts()) == (data, ["The port is 5128", "Use pnpm, not npm"])
    [memory] = [memory for memory in scene.memories() if "port" in memory.content]
    scene.store.edit(memory.id, content="The port is 6000")
    scene.sync()
    assert path.read_bytes() == data


def test_hostile_head_is_plain_text(scene: Scene) -> None:
    head = 'id: ../../etc/passwd\ncategory: fact\ntags: !!python/object:os.system [x, "y: z", &a *a]\n<<: *merge\n'
    (scene.place.path / "evil.md").write_text(f"---\n{head}---\nA harmless text\n")
    report = scene.sync()
    assert [change.name for change in report.applied] == ["evil.md"]
    [memory] = [memory for memory in scene.memories() if "harmless" in memory.content]
    assert f"id: {memory.id}\n" in (scene.place.path / "evil.md").read_text()
    assert "<<: *merge\n" in (scene.place.path / "evil.md").read_text()


def test_long_lines_of_a_head_are_read_at_once() -> None:
    page = read_page(b"---\na" + b" " * 16_000 + b"\n---\ntext\n")
    assert page.fields.content == "text"


def refuse(*_arguments: object, **_options: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_full_disk_of_the_folder_loses_nothing_and_says_so(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    path = scene.replace("5128", "7000")
    scene.store.remember("A third memory", project="app")
    before = path.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr("opencode_memory.platform.posix._DescriptorFolder.sync", refuse)
        report = scene.sync()
    assert "No space left on device" in (report.problem or "")
    assert "The port is 7000" in scene.texts()
    assert path.read_bytes() == before
    assert [path for path in scene.place.path.iterdir() if path.name.endswith(".opencode-memory")] == []
    report = scene.sync()
    assert (report.problem, report.applied, len(scene.files())) == (None, (), 3)


def test_full_disk_of_the_store_loses_nothing(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    path = scene.replace("5128", "7000")
    before = path.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr("opencode_memory.memory_file.confined.os.fsync", refuse)
        with pytest.raises(StorageError, match="No space left"):
            scene.sync()
    assert (path.read_bytes(), "The port is 7000" in scene.texts()) == (before, True)
    report = scene.sync()
    assert (report.problem, report.applied, report.unclear) == (None, (), ())


def test_error_of_the_store_is_no_problem_of_the_folder(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_arguments: object, **_fields: object) -> None:
        raise StorageError("cannot write store.db: No space left on device", path="store.db")

    scene.replace("5128", "7000")
    with monkeypatch.context() as patch:
        patch.setattr(MemoryStore, "edit", fail)
        with pytest.raises(StorageError, match=r"store\.db"):
            scene.sync()
    assert [change.name for change in scene.sync().applied] == [scene.file("port").name]
    assert "The port is 7000" in scene.texts()


def test_file_that_is_edited_while_it_is_written_keeps_the_edit(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    path = scene.file("port")
    [memory] = [memory for memory in scene.memories() if "port" in memory.content]
    scene.store.edit(memory.id, tags=["net"])
    replace_in = confined.replace_in

    def edited_first(folder: int, name: str, data: bytes, **options: object) -> None:
        if name == path.name:
            path.write_text(path.read_text().replace("5128", "7000"))
        replace_in(folder, name, data, **options)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr("opencode_memory.mirror.place.replace_in", edited_first)
        report = scene.sync()
    assert "changed while" in report.unclear[0].reason
    scene.sync()
    found = scene.store.get(memory.id)
    assert (found.content, found.tags) == ("The port is 7000", ("net",))


def test_folder_that_is_synchronized_by_another_process_is_busy(scene: Scene) -> None:
    with locked(scene.store.data_dir, scene.place), pytest.raises(BusyError):
        scene.sync()


def test_temporary_files_and_other_files_are_no_memories(scene: Scene) -> None:
    for name in (".port.md.swp", "port.md~", "notes.txt", ".hidden.md", "#port.md#"):
        (scene.place.path / name).write_text("not a memory\n")
    report = scene.sync()
    assert (report.applied, report.unclear) == ((), ())
