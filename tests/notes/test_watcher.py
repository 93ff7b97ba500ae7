"""Watcher of notes with scripted events: no event here depends on a file system or on time."""

from __future__ import annotations

import itertools
import shutil
import threading
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

import pytest

from opencode_memory import BusyError
from opencode_memory.notes import tree, watcher
from opencode_memory.notes.file_events import EventBatch, EventQueue
from opencode_memory.notes.files import Skipped
from opencode_memory.notes.folder import IngestReport
from opencode_memory.notes.reread import SkipLog
from opencode_memory.notes.tree import (
    Tree,
    scan,
)
from opencode_memory.notes.watcher import NoteWatcher
from support.notes import touch

Step = Sequence[Path] | EventBatch | Callable[[], object] | None
QUIET = None


class Scene:
    """A watcher with scripted events: batches of paths, quiet periods, and changes of files."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        self.folder = folder
        self.folder.mkdir()
        self.stop = threading.Event()
        self.reported: list[Path] = []
        self.watched: list[set[str]] = []
        self.open_now = 0
        self.refusals: list[Exception] = []
        self.steps: list[Step] = []
        scene = self

        class ScriptedQueue(EventQueue):
            def take(self, timeout_seconds: float) -> EventBatch | None:
                while scene.steps:
                    step = scene.steps.pop(0)
                    if callable(step):
                        step()
                    elif step is None or isinstance(step, EventBatch):
                        return step
                    else:
                        return EventBatch(frozenset(map(str, step)))
                scene.stop.set()
                return None

        class ScriptedObserver:
            def __init__(self, folders: Collection[str], **_: object) -> None:
                scene.watched.append(set(folders))
                if scene.refusals:
                    raise scene.refusals.pop(0)
                scene.open_now += 1

            def close(self) -> None:
                scene.open_now -= 1

        monkeypatch.setattr(watcher, "EventQueue", ScriptedQueue)
        monkeypatch.setattr(watcher, "FileSystemObserver", ScriptedObserver)
        monkeypatch.setattr(watcher, "_IS_RECURSIVE", False)

    def play(self, *steps: Step, **options: Any) -> list[str]:
        """Run a watcher through a script; return the paths reported after the start, relative to the folder."""
        self.steps = list(steps)
        given = {"project_of": lambda _: (None, None), "on_change": self.reported.append, "poll_seconds": 0}
        NoteWatcher([self.folder], **(given | options)).run(self.stop)
        assert self.open_now == 0
        assert self.reported[0] == self.folder
        return [str(path.relative_to(self.folder)) for path in self.reported[1:]]

    def write(self, name: str, text: str = "text\n") -> Callable[[], object]:
        return lambda: (self.folder / name).write_text(text)


@pytest.fixture
def scene(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Scene:
    return Scene(monkeypatch, tmp_path / "notes")


def test_burst_of_saves_is_reported_once_after_its_last(scene: Scene) -> None:
    touch(scene.folder, "a.md", "b.md")
    note = scene.folder / "a.md"
    during: list[int] = []

    def save() -> None:
        during.append(len(scene.reported))
        note.write_text(f"{len(during)}")

    assert scene.play(*[save, [note]] * 10, QUIET, QUIET) == ["a.md"]
    assert during == [1] * 10


def test_save_within_the_same_clock_tick_is_reported(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    touch(scene.folder, "a.md", "b.md")
    monkeypatch.setattr(watcher, "compute_stamp", lambda _: 0)
    note = scene.folder / "a.md"
    assert scene.play([note], QUIET, [note], QUIET) == ["a.md", "a.md"]


def test_note_with_an_event_is_reported_after_a_rescan(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    touch(scene.folder, "a.md", "b.md", "sub/c.md")
    monkeypatch.setattr(tree, "compute_stamp", lambda _: 0)
    assert scene.play([scene.folder / "a.md", scene.folder / "sub"], QUIET) == ["a.md"]
    assert len(scene.watched) == 2


def test_constantly_changing_note_is_reported(scene: Scene) -> None:
    touch(scene.folder, "a.md", "b.md")
    assert len(scene.play(*[[scene.folder / "a.md"]] * 100)) == 5


def test_edit_of_a_known_note_needs_no_scan(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    touch(scene.folder, "a.md", "b.md", "c.md")
    a, b = scene.folder / "a.md", scene.folder / "b.md"

    def no_more_looks() -> None:
        monkeypatch.setattr(watcher, "scan", lambda *_, **__: pytest.fail("looked"))

    assert scene.play(no_more_looks, a.unlink, scene.write("b.md", "new"), [a, b], QUIET, [b], QUIET) == [
        "b.md", "a.md", "b.md",
    ]  # fmt: skip


def test_rename_is_reported_as_new_and_then_as_removed_note(scene: Scene) -> None:
    touch(scene.folder, "a.md", "c.md")
    old, new = scene.folder / "a.md", scene.folder / "b.md"
    assert scene.play(lambda: old.rename(new), [old, new], QUIET) == ["b.md", "a.md"]


def test_renamed_folder_is_reported_twice_and_watched(scene: Scene) -> None:
    touch(scene.folder, "old/1.md", "old/2.md", "c.md")
    old, new = scene.folder / "old", scene.folder / "new"
    assert scene.play(lambda: old.rename(new), [old, new], QUIET) == ["new", "old"]
    assert scene.watched == [{str(scene.folder), str(old)}, {str(scene.folder), str(new)}]


def test_recreated_folder_is_watched_again(scene: Scene) -> None:
    touch(scene.folder, "sub/1.md", "c.md")
    sub = scene.folder / "sub"
    again = (lambda: shutil.rmtree(sub), lambda: touch(scene.folder, "sub/1.md"))
    assert scene.play(*again, [sub, sub / "1.md"], QUIET) == ["sub/1.md"]
    assert len(scene.watched) == 2


def test_folder_replaced_without_events_is_detected(scene: Scene) -> None:
    touch(scene.folder, "1.md", "2.md")
    away = scene.folder.with_name("away")
    steps = (lambda: scene.folder.rename(away), QUIET, lambda: away.rename(scene.folder), QUIET)
    assert scene.play(*steps) == [".", "."]
    assert scene.watched == [{str(scene.folder)}, set(), {str(scene.folder)}]


def test_project_of_a_missing_folder_is_not_resolved(scene: Scene) -> None:
    touch(scene.folder, "1.md", "2.md")
    away = scene.folder.with_name("away")
    asked: list[bool] = []

    def project_of(folder: Path) -> tuple[None, None]:
        asked.append(folder.exists())
        return None, None

    scene.folder.rename(away)
    assert scene.play(QUIET, lambda: away.rename(scene.folder), QUIET, project_of=project_of) == ["."]
    assert asked == [True]


def test_folder_created_during_the_observer_start_is_watched(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    touch(scene.folder, "c.md")
    looks = itertools.count()

    def late(*arguments: Any, **options: Any) -> Tree:
        if next(looks) == 1:
            touch(scene.folder, "late/1.md")
        return scan(*arguments, **options)

    monkeypatch.setattr(watcher, "scan", late)
    assert scene.play(QUIET) == []
    assert scene.watched[-1] == {str(scene.folder), str(scene.folder / "late")}


def test_change_during_an_observer_restart_is_not_missed(scene: Scene) -> None:
    touch(scene.folder, "a.md", "b.md", "sub/c.md")
    sub = scene.folder / "sub"
    assert scene.play([sub], scene.write("a.md", "unheard"), QUIET) == ["a.md"]


def test_lost_events_are_found_by_a_rescan(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    touch(scene.folder, "a.md", "b.md")
    lost = EventBatch(lost="the system forgot")
    assert scene.play(scene.write("a.md", "1"), lost, QUIET, scene.write("a.md", "2"), lost, QUIET) == ["a.md", "a.md"]
    assert [record.getMessage() for record in caplog.records if record.levelname == "WARNING"] == [
        "events of the watched folders were lost (the system forgot); they are scanned again"
    ]


def test_folders_are_rescanned_periodically(scene: Scene) -> None:
    touch(scene.folder, "a.md", "b.md")
    assert scene.play(scene.write("a.md", "unheard"), QUIET, rescan_seconds=0) == ["a.md"]
    assert scene.play(scene.write("a.md", "unheard"), QUIET) == ["a.md"]


def test_ignored_hidden_and_excluded_folders_are_not_watched(scene: Scene) -> None:
    touch(scene.folder, "a.md", "target/1.md", ".obsidian/2.md", "node_modules/3.md", "vendor/4.md", "exports/5.md")
    touch(scene.folder, "vendor/.git/HEAD")
    (scene.folder / ".gitignore").write_text("/target/\n")
    assert scene.play(QUIET, exclude=[scene.folder / "exports"]) == []
    assert scene.watched == [{str(scene.folder)}]


def test_changed_ignore_rules_remove_and_add_notes(scene: Scene) -> None:
    touch(scene.folder, "a.md", "drafts/1.md", "drafts/2.md")
    rules = scene.folder / ".gitignore"
    rules.write_text("drafts\n")
    come = (lambda: rules.write_text("drafts\n"), [rules], QUIET)
    assert scene.play(rules.unlink, [rules], QUIET, *come) == ["drafts", "drafts"]
    assert scene.watched == [{str(scene.folder)}, {str(scene.folder), str(scene.folder / "drafts")}]


def test_folder_that_becomes_a_repository_is_dropped(scene: Scene) -> None:
    touch(scene.folder, "a.md", "sub/1.md", "sub/2.md")
    git = scene.folder / "sub" / ".git"
    assert scene.play(git.mkdir, [git], QUIET) == ["sub"]


def test_outer_ignore_files_apply_within_a_project_only(scene: Scene) -> None:
    touch(scene.folder, "a.md", "b.md", "c.md")
    (scene.folder.parent / ".gitignore").write_text("a.md\n")
    note = scene.folder / "a.md"
    top = scene.folder.parent
    assert scene.play([note], QUIET, project_of=lambda _: ("app", top)) == []
    scene.stop.clear()
    scene.reported.clear()
    assert scene.play([note], QUIET, project_of=lambda _: (None, top)) == ["a.md"]


def test_system_limit_is_logged_and_folders_are_polled(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    touch(scene.folder, "a.md", "b.md")
    scene.refusals = [OSError("OS file watch limit reached.")]
    polled = Polled(scene)
    polled.then(scene.write("a.md", "unheard"), (scene.folder / "b.md").unlink, scene.stop.set)
    assert scene.play(on_change=polled) == ["a.md", "b.md"]
    [warning] = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert "OS file watch limit reached" in warning
    assert "scanned every 0 s or less often instead" in warning


class Polled:
    """Runs the next action at each report, so that no test has to wait."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._acts: list[Callable[[], object]] = []

    def then(self, *acts: Callable[[], object]) -> None:
        self._acts = list(acts)

    def __call__(self, path: Path) -> None:
        self._scene.reported.append(path)
        self._acts.pop(0)()


def test_polling_reports_a_note_when_it_is_stable(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    touch(scene.folder, "a.md", "b.md")
    looks: list[str] = []
    when: list[int] = []

    def writing(*arguments: Any, **options: Any) -> Tree:
        looks.append("look")
        if len(looks) in (2, 3, 4):
            (scene.folder / "a.md").write_text("x" * len(looks))
        return scan(*arguments, **options)

    def reported(path: Path) -> None:
        when.append(len(looks))
        scene.reported.append(path)
        if len(when) == 2:
            scene.stop.set()

    monkeypatch.setattr(watcher, "scan", writing)
    assert scene.play(polling=True, on_change=reported) == ["a.md"]
    assert scene.watched == []
    assert when == [1, 5]


def test_polling_reports_a_constantly_changing_note(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    touch(scene.folder, "a.md", "b.md")
    texts = itertools.count()

    def writing(*arguments: Any, **options: Any) -> Tree:
        (scene.folder / "a.md").write_text("x" * next(texts))
        return scan(*arguments, **options)

    monkeypatch.setattr(watcher, "scan", writing)
    polled = Polled(scene)
    polled.then(lambda: None, lambda: None, scene.stop.set)
    assert scene.play(polling=True, on_change=polled) == ["a.md", "a.md"]


def test_polling_tries_system_events_again_later(scene: Scene) -> None:
    touch(scene.folder, "a.md", "b.md")
    scene.refusals = [RuntimeError("Too many open files"), RuntimeError("Too many open files")]
    assert scene.play(scene.write("a.md", "heard"), [scene.folder / "a.md"], QUIET, rescan_seconds=0) == ["a.md"]
    assert len(scene.watched) >= 3


def test_folder_removed_during_the_observer_start_causes_no_polling(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    scene.refusals = [FileNotFoundError("gone"), PermissionError("forbidden")]
    assert scene.play(QUIET) == []
    assert len(scene.watched) == 3
    assert not [record for record in caplog.records if record.levelname == "WARNING"]


def test_failed_reports_are_repeated_later_in_order(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    touch(scene.folder, "a.md", "b.md", "c.md")
    tries: list[str] = []

    def busy(path: Path) -> None:
        tries.append(path.name)
        if 2 <= len(tries) <= 4:
            raise BusyError("another process holds the lock")
        scene.reported.append(path)

    a, b = scene.folder / "a.md", scene.folder / "b.md"
    assert scene.play([a], QUIET, [b], QUIET, QUIET, QUIET, on_change=busy) == ["a.md", "b.md"]
    assert tries == ["notes", "a.md", "a.md", "a.md", "a.md", "b.md"]
    assert len([record for record in caplog.records if "tried again" in record.getMessage()]) == 1


def test_callers_bug_is_raised_and_the_observer_closed(scene: Scene) -> None:
    def broken(_: Path) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        scene.play(on_change=broken)
    assert scene.open_now == 0


def test_stop_during_a_scan_ends_the_watcher(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    touch(scene.folder, "a.md", "sub/b.md")

    def stopped(*arguments: Any, **options: Any) -> Tree:
        scene.stop.set()
        return scan(*arguments, **options)

    def stop_at_the_next_look() -> None:
        monkeypatch.setattr(watcher, "scan", stopped)

    assert scene.play(stop_at_the_next_look, [scene.folder / "sub"], QUIET, lambda: pytest.fail("went on")) == []


def test_file_instead_of_a_folder_is_logged_and_not_read(
    scene: Scene, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    touch(tmp_path, "one.md")
    scene.steps = [QUIET]
    reported: list[Path] = []
    one_note = NoteWatcher([tmp_path / "one.md"], project_of=lambda _: (None, None), on_change=reported.append)
    one_note.run(scene.stop)
    assert reported == []
    assert "only folders are watched" in caplog.text


# Warnings about skipped files


def report(*skipped: tuple[str, str]) -> IngestReport:
    told = tuple(Skipped(file, reason) for file, reason in skipped)
    return IngestReport(files=0, added=0, updated=0, unchanged=0, archived=0, skipped=told)


def test_skipped_file_is_logged_once_per_reason(caplog: pytest.LogCaptureFixture) -> None:
    skips = SkipLog()
    for one in (report(("/r/a.md", "x")), report(("/r/a.md", "x")), report(("/r/a.md", "y"))):
        skips.warn(Path("/r"), one)
    assert [record.getMessage() for record in caplog.records] == [
        "/r/a.md is skipped: x",
        "/r/a.md is skipped: y",
    ]
    caplog.clear()
    skips.warn(Path("/r/b.md"), report())
    skips.warn(Path("/r/a.md"), report(("/r/a.md", "y")))
    assert caplog.records == []
    skips.warn(Path("/r"), report())
    skips.warn(Path("/r/a.md"), report(("/r/a.md", "y")))
    assert len(caplog.records) == 1
