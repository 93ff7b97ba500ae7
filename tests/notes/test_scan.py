"""Scans of note folders, classification of events, and their queue."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import threading
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from opencode_memory.notes import tree
from opencode_memory.notes.change_set import Changes, classify_events, find_paths_to_read
from opencode_memory.notes.file_events import EventBatch, EventQueue
from opencode_memory.notes.files import Skipped, find_notes
from opencode_memory.notes.tree import (
    Folder,
    Note,
    SkippedPath,
    StoppedError,
    compute_stamp,
    find_ingest_path,
    scan,
    walk,
)
from support.notes import touch

NAMES = st.sampled_from(["a", "b", "c.md", "d.md"])
PATHS = st.lists(NAMES, min_size=1, max_size=4).map(lambda names: "/".join(["/r", *names]))
NOTES = st.dictionaries(PATHS, st.integers(0, 1), max_size=8)


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


def test_new_notes_are_read_before_those_that_are_gone() -> None:
    kept = {"/r/k.md": 1, "/r/new/k.md": 1}
    before, after = kept | {"/r/a.md": 1, "/r/old/a.md": 1}, kept | {"/r/b.md": 2, "/r/new/a.md": 2}
    assert find_paths_to_read(before, after, (), root="/r") == ["/r/b.md", "/r/new/a.md", "/r/a.md", "/r/old/a.md"]


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
