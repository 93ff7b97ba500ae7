"""Watched folders with real files, events and stores. Each wait is for an event."""

from __future__ import annotations

import logging
import os
import queue
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from opencode_memory import MemoryStore, Status, Trust
from opencode_memory.notes import file_events, watcher
from opencode_memory.notes.folder import IngestReport
from opencode_memory.notes.reread import SkipLog, ingest_changed
from opencode_memory.notes.watcher import NoteWatcher

PATIENCE_SECONDS = 60
OpenStore = Callable[..., MemoryStore]


class Watching:
    """A watcher in its own thread, and the worker's handling of its reports."""

    def __init__(self, store: MemoryStore, folder: Path, **options: Any) -> None:
        self.store = store
        self.folder = folder
        self.top = options.pop("top", folder)
        self.folders = [folder, *options.pop("more", ())]
        self.skips = SkipLog()
        self.reported: queue.Queue[Path] = queue.Queue()
        self.stop = threading.Event()
        given = {"project_of": self.project_of, "on_change": self.reported.put, "debounce_ms": 100}
        self.watcher = NoteWatcher(self.folders, **(given | options))
        self.thread = threading.Thread(target=self.watcher.run, args=(self.stop,), daemon=True)
        self.thread.start()

    def project_of(self, _: Path) -> tuple[str, Path]:
        return "app", self.top

    def read(self, path: Path) -> IngestReport:
        return ingest_changed(self.store, path, self.project_of, folders=self.folders, skips=self.skips)

    def next(self) -> Path:
        path = self.reported.get(timeout=PATIENCE_SECONDS)
        self.read(path)
        return path

    def until(self, *contents: str) -> list[Path]:
        """Process reports until the store has exactly these memories; return the reported paths."""
        paths = []
        while sorted(memory.content for memory in self.store.list(limit=1000)) != sorted(contents):
            paths.append(self.next())
        return paths

    def end(self) -> None:
        self.stop.set()
        self.thread.join(PATIENCE_SECONDS)
        assert not self.thread.is_alive()


@pytest.fixture
def watch(store: MemoryStore, notes: Path) -> Iterator[Callable[..., Watching]]:
    running: list[Watching] = []

    def begin(folder: Path = notes, **options: Any) -> Watching:
        running.append(Watching(store, folder, **options))
        # From here on the watcher receives events.
        for _ in running[-1].folders:
            running[-1].next()
        return running[-1]

    yield begin
    for scene in running:
        scene.end()


Watch = Callable[..., Watching]


def test_changes_before_the_start_are_found(watch: Watch, notes: Path) -> None:
    (notes / "edited.md").write_text("before\n")
    (notes / "gone.md").write_text("gone\n")
    watch().end()
    (notes / "edited.md").write_text("after\n")
    (notes / "gone.md").unlink()
    (notes / "new.md").write_text("new\n")
    watch().until("after\n", "new\n")


def test_edit_updates_and_deletion_archives(watch: Watch, store: MemoryStore, notes: Path) -> None:
    (notes / "a.md").write_text("before\n")
    (notes / "b.md").write_text("stays\n")
    scene = watch()
    [id] = [memory.id for memory in store.list() if memory.content == "before\n"]
    (notes / "a.md").write_text("after\n")
    assert set(scene.until("after\n", "stays\n")) == {notes / "a.md"}
    assert store.get(id).content == "after\n"
    (notes / "a.md").unlink()
    assert set(scene.until("stays\n")) == {notes / "a.md"}
    assert store.get(id).status == Status.ARCHIVED


def test_renamed_note_and_renamed_folder_keep_their_texts_under_new_names(
    watch: Watch, store: MemoryStore, notes: Path
) -> None:
    (notes / "sub").mkdir()
    (notes / "a.md").write_text("a\n")
    for name in ("b", "c"):
        (notes / "sub" / f"{name}.md").write_text(f"{name}\n")
    scene = watch()

    def topics() -> set[str | None]:
        return {memory.topic for memory in store.list(limit=100)}

    (notes / "a.md").rename(notes / "z.md")
    while topics() != {"file:z.md#", "file:sub/b.md#", "file:sub/c.md#"}:
        scene.next()
    (notes / "sub").rename(notes / "moved")
    while topics() != {"file:z.md#", "file:moved/b.md#", "file:moved/c.md#"}:
        scene.next()
    (notes / "moved" / "b.md").write_text("edited\n")
    scene.until("a\n", "edited\n", "c\n")


@pytest.mark.parametrize("temporary", [".a.md.swp", "a.md~", "4913", "a.md.tmp"])
def test_atomic_save_by_renaming_causes_one_edit(watch: Watch, notes: Path, temporary: str) -> None:
    (notes / "a.md").write_text("before\n")
    (notes / "b.md").write_text("stays\n")
    scene = watch()
    (notes / temporary).write_text("after\n")
    (notes / temporary).replace(notes / "a.md")
    assert set(scene.until("after\n", "stays\n")) == {notes / "a.md"}


def test_last_save_of_a_burst_is_not_missed(watch: Watch, notes: Path) -> None:
    note = notes / "a.md"
    note.write_text("0\n")
    scene = watch()
    for number in range(1, 400):
        note.write_text(f"{number % 7}\n")
    note.write_text("last\n")
    scene.until("last\n")


@pytest.mark.parametrize("recursive", [False, True])
def test_notes_in_folders_made_at_once_and_later_are_found(
    watch: Watch, notes: Path, monkeypatch: pytest.MonkeyPatch, recursive: bool
) -> None:
    # Behaviour of other systems than Linux.
    monkeypatch.setattr(watcher, "_IS_RECURSIVE", recursive)
    (notes / "a.md").write_text("a\n")
    scene = watch()
    deep = notes / "x" / "y" / "z"
    deep.mkdir(parents=True)
    (deep / "b.md").write_text("b\n")
    scene.until("a\n", "b\n")
    (deep / "c.md").write_text("c\n")
    scene.until("a\n", "b\n", "c\n")
    shutil.rmtree(notes / "x")
    scene.until("a\n")


def test_watched_folder_may_be_created_removed_and_recreated(watch: Watch, notes: Path, tmp_path: Path) -> None:
    later = tmp_path / "work" / "later"
    scene = watch(later, top=tmp_path)
    later.mkdir(parents=True)
    (later / "a.md").write_text("one\n")
    scene.until("one\n")
    (later / "a.md").write_text("two\n")
    scene.until("two\n")
    shutil.rmtree(tmp_path / "work")
    scene.until()
    later.mkdir(parents=True)
    (later / "a.md").write_text("two\n")
    (later / "b.md").write_text("three\n")
    scene.until("two\n", "three\n")
    (later / "b.md").write_text("four\n")
    scene.until("two\n", "four\n")


def test_watched_folder_may_be_reached_by_a_link(watch: Watch, notes: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(notes)
    (notes / "a.md").write_text("before\n")
    scene = watch(tmp_path / "link")
    (notes / "a.md").write_text("after\n")
    assert scene.until("after\n") == [notes / "a.md"]


def test_unreadable_note_is_logged_once_and_keeps_its_memory(
    watch: Watch, notes: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (notes / "a.md").write_text("before\n")
    (notes / "b.md").write_text("one\n")
    scene = watch()

    def told() -> int:
        return len([record for record in caplog.records if "a.md is skipped: not UTF-8" in record.getMessage()])

    with caplog.at_level(logging.WARNING):
        (notes / "a.md").write_bytes(b"\xe9 first\n")
        while not told():
            scene.next()
        (notes / "a.md").write_bytes(b"\xe9 second\n")
        (notes / "b.md").write_text("two\n")
        scene.until("before\n", "two\n")
        while not scene.reported.empty():
            scene.next()
        assert scene.read(notes / "a.md").skipped
        assert told() == 1
        (notes / "a.md").write_text("after\n")
        scene.until("after\n", "two\n")
        assert scene.thread.is_alive()


def test_non_utf8_name_blocks_no_other_note(watch: Watch, notes: Path) -> None:
    (notes / "a.md").write_text("before\n")
    scene = watch()
    try:
        (notes / "\udcff.txt").write_text("x")
    except OSError:
        pytest.skip("this file system takes no such name")
    (notes / "a.md").write_text("after\n")
    scene.until("after\n")
    (notes / "a.md").write_text("later\n")
    scene.until("later\n")


def test_ignored_and_hidden_files_and_exports_are_not_reported(watch: Watch, store: MemoryStore, notes: Path) -> None:
    exports = store.data_dir / "exports"
    exports.mkdir()
    (notes / ".gitignore").write_text("ignored.md\ntarget/\n")
    (notes / "a.md").write_text("before\n")
    (notes / "b.md").write_text("stays\n")
    for folder in ("target", "node_modules", ".obsidian", "vendor/.git"):
        (notes / folder).mkdir(parents=True)
    scene = watch(notes.parent, top=notes.parent, exclude=[exports])
    for name in (
        "ignored.md", ".hidden.md", "code.py", "target/x.md", "node_modules/x.md", ".obsidian/x.md", "vendor/x.md",
    ):  # fmt: skip
        (notes / name).write_text("# not for us\n")
    (notes / "target" / "deep").mkdir()
    (exports / "all.md").write_text("# not for us\n")
    (notes / "a.md").write_text("after\n")
    assert set(scene.until("after\n", "stays\n")) == {notes / "a.md"}
    assert scene.read(exports / "all.md").files == 0


def test_note_that_becomes_ignored_is_archived_and_later_restored(watch: Watch, notes: Path) -> None:
    (notes / "a.md").write_text("a\n")
    (notes / "drafts").mkdir()
    (notes / "drafts" / "b.md").write_text("b\n")
    scene = watch()
    (notes / ".gitignore").write_text("drafts/\n")
    scene.until("a\n")
    (notes / ".gitignore").unlink()
    scene.until("a\n", "b\n")
    (notes / "drafts" / "b.md").write_text("c\n")
    scene.until("a\n", "c\n")


def test_folders_are_polled_without_system_events(
    watch: Watch, notes: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError("OS file watch limit reached.")

    monkeypatch.setattr(file_events, "RustNotify", refuse)
    (notes / "a.md").write_text("before\n")
    scene = watch(poll_seconds=0.01)
    assert "OS file watch limit reached" in caplog.text
    (notes / "a.md").write_text("after!\n")
    (notes / "sub").mkdir()
    (notes / "sub" / "b.md").write_text("b\n")
    scene.until("after!\n", "b\n")
    (notes / "a.md").unlink()
    scene.until("b\n")
    shutil.rmtree(notes)
    scene.until()


def test_watcher_ends_on_stop(watch: Watch) -> None:
    scene = watch()
    scene.end()
    assert not [thread for thread in threading.enumerate() if thread.name == "opencode-memory-file-events"]


PROGRAM = """
import sys, threading
from pathlib import Path
from opencode_memory.notes.watcher import NoteWatcher

def ready(path):
    print(path, flush=True)

polling = sys.argv[2] == "polling"
watcher = NoteWatcher([Path(sys.argv[1])], project_of=lambda _: (None, None), on_change=ready, polling=polling)
try:
    watcher.run(threading.Event())
except KeyboardInterrupt:
    print("interrupted", threading.active_count(), flush=True)
"""


@pytest.mark.parametrize("how", ["events", "polling"])
def test_keyboard_interrupt_ends_a_watcher(notes: Path, how: str) -> None:
    command = [sys.executable, "-c", PROGRAM, str(notes), how]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ}) as process:
        assert process.stdout.readline() == f"{notes}\n"
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=PATIENCE_SECONDS)[0] == "interrupted 1\n"
        assert process.returncode == 0


# Later reading of reported paths


def reader(store: MemoryStore, folder: Path, **options: Any) -> Callable[[Path], IngestReport]:
    given = {"folders": [folder]}
    return lambda path: ingest_changed(store, path, lambda _: ("app", folder), **(given | options))


def contents(store: MemoryStore, **options: Any) -> set[str]:
    return {memory.content for memory in store.list(limit=1000, **options)}


def test_text_of_a_note_is_imported_and_its_directives_wait(store: MemoryStore, notes: Path) -> None:
    (notes / "a.md").write_text("a\n")
    (notes / "rules.md").write_text("---\ncategory: directive\n---\nObey.\n")
    reader(store, notes)(notes)
    [memory] = store.list()
    assert (memory.content, memory.trust, memory.project) == ("a\n", Trust.IMPORTED, "app")
    assert contents(store, status="candidate") == {"Obey.\n"}


def test_vanished_and_unwatched_paths_are_ignored(store: MemoryStore, notes: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere.md").write_text("elsewhere\n")
    read = reader(store, notes)
    for path in (notes / "gone.md", notes / "gone", tmp_path / "elsewhere.md", tmp_path):
        assert read(path) == IngestReport(files=0, added=0, updated=0, unchanged=0, archived=0, skipped=())
    assert contents(store) == set()


def test_reported_file_that_became_ignored_or_a_link_is_not_read(
    store: MemoryStore, notes: Path, tmp_path: Path
) -> None:
    for name in ("a.md", "b.md", "c.md"):
        (notes / name).write_text(f"{name}\n")
    read = reader(store, notes)
    read(notes)
    (tmp_path / "secret.md").write_text("secret\n")
    (notes / "a.md").unlink()
    (notes / "a.md").symlink_to(tmp_path / "secret.md")
    (notes / "b.md").write_text("secret, too\n")
    (notes / ".gitignore").write_text("b.md\n")
    assert [skipped.reason for skipped in read(notes / "a.md").skipped] == ["symbolic link, not followed"]
    read(notes / "b.md")
    assert contents(store) == {"a.md\n", "c.md\n"}


def test_hidden_or_ignored_folder_is_read_if_it_is_watched_itself(store: MemoryStore, notes: Path) -> None:
    folder = notes / ".agent"
    folder.mkdir()
    (notes / ".gitignore").write_text(".agent/\n")
    (folder / "a.md").write_text("a\n")
    read = reader(store, notes, folders=[folder])
    read(folder)
    (folder / "a.md").write_text("b\n")
    read(folder / "a.md")
    assert contents(store) == {"b\n"}


def test_ignore_file_above_a_folder_applies_without_a_work_tree(open_store: OpenStore, notes: Path) -> None:
    store = open_store()
    (notes / ".gitignore").write_text("secret.md\n")
    (notes / "sub").mkdir()
    (notes / "sub" / "secret.md").write_text("secret\n")
    (notes / "sub" / "a.md").write_text("a\n")
    ingest_changed(store, notes / "sub", lambda _: (None, None), folders=[notes])
    ingest_changed(store, notes / "sub" / "secret.md", lambda _: (None, None), folders=[notes])
    assert contents(store) == {"a\n"}


def test_note_in_two_watched_folders_of_two_projects_belongs_to_both(open_store: OpenStore, notes: Path) -> None:
    store = open_store()
    inner = notes / "inner"
    inner.mkdir()
    (inner / "a.md").write_text("a\n")

    def project_of(folder: Path) -> tuple[str, Path]:
        return folder.name, folder

    for text in ("a\n", "b\n"):
        (inner / "a.md").write_text(text)
        ingest_changed(store, inner / "a.md", project_of, folders=[notes, inner])
        assert {(memory.project, memory.content) for memory in store.list(project="*")} == {
            ("notes", text), ("inner", text),
        }  # fmt: skip
    (inner / ".git").mkdir()
    (inner / "a.md").write_text("c\n")
    (notes / "other.md").write_text("other\n")
    report = ingest_changed(store, inner / "a.md", project_of, folders=[notes, inner])
    assert (report.files, report.updated) == (1, 1)
    assert contents(store, project="inner") == {"c\n"}


def test_inaccessible_path_keeps_its_memories(store: MemoryStore, notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (notes / "sub").mkdir()
    (notes / "sub" / "a.md").write_text("a\n")
    read = reader(store, notes)
    read(notes)
    lstat = Path.lstat

    def guarded(path: Path) -> os.stat_result:
        if path.name == "a.md":
            raise PermissionError(13, "Permission denied", str(path))
        return lstat(path)

    monkeypatch.setattr(Path, "lstat", guarded)
    assert [skipped.reason for skipped in read(notes / "sub" / "a.md").skipped] == ["Permission denied"]
    assert contents(store) == {"a\n"}


def test_reading_stops_between_files_and_resumes_later(store: MemoryStore, notes: Path) -> None:
    for number in range(20):
        (notes / f"{number:02}.md").write_text(f"{number}\n")

    read: list[int] = []

    def heartbeat() -> None:
        read.append(len(read))
        if len(read) == 5:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        reader(store, notes, heartbeat=heartbeat)(notes)
    assert len(contents(store)) < 20
    reader(store, notes)(notes)
    assert len(contents(store)) == 20
