"""Watcher of notes with scripted events: no event here depends on a file system or on time."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import threading
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from opencode_memory import BusyError
from opencode_memory.notes import tree, watcher
from opencode_memory.notes.change_set import Changes, classify_events, find_paths_to_read
from opencode_memory.notes.file_events import EventBatch, EventQueue
from opencode_memory.notes.files import Skipped, find_notes
from opencode_memory.notes.folder import IngestReport
from opencode_memory.notes.reread import SkipLog
from opencode_memory.notes.tree import (
    Folder,
    Note,
    SkippedPath,
    StoppedError,
    Tree,
    compute_stamp,
    find_ingest_path,
    scan,
    walk,
)
from opencode_memory.notes.watcher import NoteWatcher

NAMES = st.sampled_from(["a", "b", "c.md", "d.md"])
PATHS = st.lists(NAMES, min_size=1, max_size=4).map(lambda names: "/".join(["/r", *names]))
NOTES = st.dictionaries(PATHS, st.integers(0, 1), max_size=8)
Step = Sequence[Path] | EventBatch | Callable[[], object] | None
QUIET = None


def covers(chosen: Collection[str], note: str) -> bool:
    return any(note == path or note.startswith(f"{path}/") for path in chosen)


# Paths to read


@given(NOTES, NOTES, st.sets(PATHS, max_size=3))
def test_paths_to_read_are_minimal_and_cover_all_changes(
    before: dict[str, int], after: dict[str, int], named: set[str]
) -> None:
    # No path is both a note and a folder.
    every = before.keys() | after.keys()
    before, after = (
        {path: stamp for path, stamp in one.items() if not any(other.startswith(f"{path}/") for other in every)}
        for one in (before, after)
    )
    changed = {path for path in before | after if before.get(path) != after.get(path)} | (named & after.keys())
    unchanged = after.keys() - changed
    chosen = find_paths_to_read(before, after, named, root="/r")
    assert all(covers(chosen, path) for path in changed)
    assert not any(covers(chosen, path) for path in unchanged)
    folders = {"/".join(parts[:end]) for path in changed for parts in [path.split("/")] for end in range(2, len(parts))}
    possible = [path for path in changed | folders if not any(covers([path], other) for other in unchanged)]
    for fewer in itertools.combinations(possible, max(len(chosen) - 1, 0)):
        assert not chosen or not all(covers(fewer, path) for path in changed)


def test_single_note_is_reported_itself_and_a_new_folder_once() -> None:
    assert find_paths_to_read({}, {"/r/a/b.md": 1}, (), root="/r") == ["/r/a/b.md"]
    assert find_paths_to_read({"/r/x.md": 1}, {"/r/x.md": 1, "/r/a/b.md": 1, "/r/a/c/d.md": 1}, (), root="/r") == [
        "/r/a"
    ]
    assert find_paths_to_read({"/r/a/b.md": 1, "/r/a/c/d.md": 1}, {}, (), root="/r") == ["/r/a"]


def test_note_with_an_event_is_read_despite_an_equal_stamp() -> None:
    notes = {"/r/a.md": 1, "/r/b.md": 1}
    assert find_paths_to_read(notes, notes, ["/r/a.md"], root="/r") == ["/r/a.md"]
    assert find_paths_to_read(notes, notes, ["/r/never.md"], root="/r") == []


# Classification of events


def heard(*paths: str, folder: bool = False) -> Changes:
    return classify_events(paths, notes={"/r/a.md"}, folders={"/r", "/r/sub"}, is_folder=lambda _: folder)


def test_event_of_a_known_note_is_direct_and_of_a_new_note_needs_a_scan() -> None:
    assert heard("/r/a.md") == Changes(notes=frozenset({"/r/a.md"}))
    assert heard("/r/sub/new.MD") == Changes(needs_scan=True)


@pytest.mark.parametrize("path", ["/r/.gitignore", "/r/sub/.gitignore", "/r/sub/.git"])
def test_changed_ignore_rules_need_a_scan(path: str) -> None:
    assert heard(path) == Changes(needs_scan=True)


@pytest.mark.parametrize("path", ["/r/sub", "/r"])
def test_event_of_a_known_folder_needs_a_rewatch(path: str) -> None:
    assert heard(path) == Changes(needs_rewatch=True)


def test_event_of_a_new_folder_needs_a_rewatch() -> None:
    assert heard("/r/sub/v1.2", folder=True) == Changes(needs_rewatch=True)


@pytest.mark.parametrize(
    "path",
    ["/r/a.py", "/r/4913", "/r/a.md~", "/r/.a.md.swp", "/r/.obsidian", "/r/node_modules", "/r/ignored/a.md", "/q/a.md"],
)
def test_events_of_irrelevant_paths_are_ignored(path: str) -> None:
    assert not heard(path, folder=path.endswith(("node_modules", ".obsidian")))


@given(st.lists(PATHS), st.lists(PATHS))
def test_grouping_of_events_does_not_change_the_result(first: list[str], second: list[str]) -> None:
    def meaning(paths: Sequence[str]) -> Changes:
        return classify_events(
            paths, notes={"/r/c.md"}, folders={"/r", "/r/a"}, is_folder=lambda path: path.endswith("b")
        )

    assert meaning(first) | meaning(second) == meaning([*second, *first, *first])


# Queue of events


def test_queued_events_are_taken_once() -> None:
    queue = EventQueue()
    queue.put(["/a", "/b"])
    queue.put(["/b", "/c"])
    assert queue.take(0) == EventBatch(frozenset({"/a", "/b", "/c"}))
    assert queue.take(0) is None


def test_too_many_events_are_reported_as_lost() -> None:
    queue = EventQueue()
    queue.put([f"/{number}" for number in range(30_000)])
    queue.put([f"/{number}" for number in range(30_000, 60_000)])
    assert queue.take(0) == EventBatch(lost="more than 50000 files changed at once")


def test_waiting_for_events_ends_on_wake() -> None:
    queue = EventQueue()
    queue.wake()
    assert queue.take(3600) is None


# Scans


def touch(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"# {name}\n")


def seen(root: Path, top: Path | None = None) -> list[Path | Skipped]:
    found = walk(root, top=top)
    return [
        Path(one.path) if isinstance(one, Note) else Skipped(one.path, one.reason)
        for one in found
        if not isinstance(one, Folder)
    ]


PARTS = st.sampled_from(["a", "b.md", "b", ".hidden", ".git", "node_modules", "c.markdown", "x.py"])
GLOBS = st.sampled_from(["a", "b.md", "/b.md", "*.md", "!b.md", "a/", "b/*", "!a", "**/c.markdown"])


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.lists(PARTS, min_size=1, max_size=4), max_size=8),
    st.dictionaries(st.sampled_from(["", "a", "b"]), st.lists(GLOBS, max_size=3), max_size=2),
    st.sampled_from(["", "a"]),
)
def test_walk_and_ingest_find_the_same_notes(
    tmp_path: Path, files: list[list[str]], rules: dict[str, list[str]], below: str
) -> None:
    top = tmp_path / "top"
    shutil.rmtree(top, ignore_errors=True)
    (top / below).mkdir(parents=True)
    made = []
    for parts in files:
        path = top.joinpath(*parts)
        if not path.exists() and all(parent.is_dir() or not parent.exists() for parent in path.parents):
            touch(top, "/".join(parts))
            made.append(path)
    for folder, globs in rules.items():
        if (top / folder).is_dir():
            (top / folder / ".gitignore").write_text("\n".join(globs))
    root = top / below
    notes = seen(root, top)
    assert notes == list(find_notes(root, top=top))
    walked = {one.path for one in walk(root, top=top) if isinstance(one, Folder)}
    for path in made:
        if path.is_relative_to(root):
            place = find_ingest_path(root, path, top=top)
            assert (place == path) == (path in notes)
            assert path in notes or str(place) in walked


def test_link_replacing_a_note_or_folder_is_ingested_from_its_folder(tmp_path: Path) -> None:
    touch(tmp_path, "elsewhere/a.md", "notes/sub/a.md")
    (tmp_path / "notes/a.md").symlink_to(tmp_path / "elsewhere/a.md")
    (tmp_path / "notes/link").symlink_to(tmp_path / "elsewhere")
    notes = tmp_path / "notes"
    assert seen(notes) == [Skipped(str(notes / "a.md"), "symbolic link, not followed"), notes / "sub/a.md"]
    assert find_ingest_path(notes, notes / "a.md", top=None) == notes
    assert find_ingest_path(notes, notes / "link/a.md", top=None) == notes


def test_missing_path_is_ingested_itself(tmp_path: Path) -> None:
    for path in (tmp_path / "gone.md", tmp_path / "gone/too.md", tmp_path):
        assert find_ingest_path(tmp_path, path, top=None) == path
    assert find_ingest_path(tmp_path / "gone", tmp_path / "gone/a.md", top=None) == tmp_path / "gone/a.md"


def test_non_utf8_name_is_skipped_with_a_printable_reason(tmp_path: Path) -> None:
    try:
        (tmp_path / "\udcff.md").touch()
    except OSError:
        pytest.skip("this file system takes no such name")
    assert seen(tmp_path) == [Skipped(f"{tmp_path}/\\udcff.md", "its name is not UTF-8")]


def test_stamp_changes_with_an_edit_or_a_replacement(tmp_path: Path) -> None:
    note = tmp_path / "a.md"
    note.write_text("one")
    first = compute_stamp(note.stat())
    assert compute_stamp(note.stat()) == first
    (tmp_path / "b.md").write_text("two")
    shutil.copystat(note, tmp_path / "b.md")
    (tmp_path / "b.md").replace(note)
    assert compute_stamp(note.stat()) != first


def test_deeply_nested_folders_do_not_overflow_the_stack(tmp_path: Path) -> None:
    here = os.open(tmp_path, os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("d", dir_fd=here)
        inner = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(here)
    found = scan(tmp_path, top=None)
    subprocess.run(["rm", "-r", str(tmp_path / "d")], check=True)
    assert len(found.folders) == 1501


def test_inaccessible_notes_are_not_reported_as_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    touch(tmp_path, "a.md", "sub/b.md", "sub-2/c.md")
    before = scan(tmp_path, top=None)
    forbid(monkeypatch, tmp_path / "sub")
    (tmp_path / "sub-2/c.md").unlink()
    after = scan(tmp_path, top=None, before=before)
    assert after.notes.keys() == {str(tmp_path / "a.md"), str(tmp_path / "sub/b.md")}
    assert str(tmp_path / "sub") not in after.folders
    assert SkippedPath(str(tmp_path / "sub"), "Permission denied") in walk(tmp_path, top=None)


def forbid(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Make a folder inaccessible even for root, because tests may run as root."""
    scandir = os.scandir

    def guarded(path: str) -> Any:
        if str(path) == str(folder):
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(tree.os, "scandir", guarded)


def test_scan_stops_between_files(tmp_path: Path) -> None:
    touch(tmp_path, *(f"{number}.md" for number in range(100)))

    class After(threading.Event):
        left = 50

        def is_set(self) -> bool:
            self.left -= 1
            return self.left < 0

    stop = After()
    with pytest.raises(StoppedError):
        scan(tmp_path, top=None, stop=stop)
    assert stop.left == -1


# The watcher


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
        "a.md", "b.md", "b.md",
    ]  # fmt: skip


def test_rename_is_reported_as_removed_and_new_note(scene: Scene) -> None:
    touch(scene.folder, "a.md", "c.md")
    old, new = scene.folder / "a.md", scene.folder / "b.md"
    assert scene.play(lambda: old.rename(new), [old, new], QUIET) == ["a.md", "b.md"]


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
