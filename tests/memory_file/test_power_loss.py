"""Files that Python writes survive a loss of power and a failing disk: the old or the new version, never a part."""

from __future__ import annotations

import errno
import itertools
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from opencode_memory.files.atomic import write_atomically
from opencode_memory.memory_file import disk
from support.disk import Disk
from support.memory_files import AT, Scene

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads names of descriptors in /proc")

OLD, NEW = b"old version", b"new version, which is longer"


def write_file(folder: Path) -> None:
    write_atomically(folder / ".opencode" / "MEMORY.md", NEW, mode=0o644)


def write_memory_file(folder: Path) -> None:
    disk.write(folder, NEW, before=disk.read(folder), at=AT)


WRITERS = [write_file, write_memory_file]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "shop" / ".opencode" / "MEMORY.md"
    file.parent.mkdir(parents=True)
    file.write_bytes(OLD)
    return file


@pytest.mark.parametrize("write", WRITERS)
def test_power_loss_leaves_the_old_or_the_new_version_and_after_the_write_only_the_new_one(
    file: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[Path], None]
) -> None:
    seen: list[set[bytes | None]] = []
    with monkeypatch.context() as patch:
        recorder = Disk(file.parents[1], patch)
        recorder.on_call = lambda: seen.append(recorder.contents_after_power_loss(file))
        write(file.parents[1])
    assert all(contents <= {OLD, NEW} for contents in seen), seen
    assert {OLD, NEW} in seen
    assert recorder.contents_after_power_loss(file) == {NEW}


def test_power_loss_after_the_first_memory_file_leaves_its_new_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        recorder = Disk(tmp_path, patch)
        disk.write(tmp_path, NEW, before=None, at=AT)
    assert recorder.contents_after_power_loss(tmp_path / ".opencode" / "MEMORY.md") == {NEW}


@pytest.mark.parametrize("error", [errno.EIO, errno.ENOSPC])
@pytest.mark.parametrize("write", WRITERS)
def test_call_that_fails_once_is_never_acknowledged(
    file: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[Path], None], error: int
) -> None:
    for number in itertools.count():
        file.write_bytes(OLD)
        with monkeypatch.context() as patch:
            recorder = Disk(file.parents[1], patch, fail_at=number, error=error)
            try:
                write(file.parents[1])
            except OSError as failure:
                assert failure.errno == error or f"{file}" in str(failure)
            else:
                break
        was_renamed = not {"rename", "replace"}.isdisjoint(recorder.calls[:number])
        assert file.read_bytes() == (NEW if was_renamed else OLD)
    assert number == len(recorder.calls), "a failed call was taken for a success"
    assert number > 4
    assert file.read_bytes() == NEW
    assert [path.name for path in file.parent.iterdir() if "." in path.name[1:]] == ["MEMORY.md"]


@pytest.mark.parametrize("error", [errno.EIO, errno.ENOSPC])
def test_memory_file_whose_write_failed_is_complete_after_the_next_synchronization(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, error: int
) -> None:
    for number in itertools.count():
        scene.store.remember(f"The lamp {number} is in the hall")
        memories = scene.active()
        with monkeypatch.context() as patch:
            recorder = Disk(scene.folder / ".opencode", patch, fail_at=number, error=error)
            try:
                report = scene.sync()
            except OSError:
                pass
            else:
                assert report.problem is not None or f"The lamp {number} is" in scene.text()
        scene.sync()
        assert f"The lamp {number} is" in scene.text()
        assert scene.active() == memories
        if number >= len(recorder.calls):
            break


FULL_DISK = """
import resource, sys
from pathlib import Path
from opencode_memory.files.atomic import write_atomically
from opencode_memory.memory_file import disk

folder, writer, limit = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
new = b"new " * 25_000
before = disk.read(folder)
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
try:
    if writer == "write_file":
        write_atomically(folder / ".opencode" / "MEMORY.md", new, mode=0o644)
    else:
        from support.memory_files import AT
        disk.write(folder, new, before=before, at=AT)
except Exception as error:
    print(type(error).__name__)
"""


@pytest.mark.parametrize("limit", [0, 100, 5_000, 50_000, 99_999])
@pytest.mark.parametrize("writer", ["write_file", "write_memory_file"])
def test_file_that_cannot_grow_in_the_middle_of_a_write_keeps_its_old_version(
    file: Path, writer: str, limit: int
) -> None:
    """The system refuses a part of the data, as it does on a full disk."""
    tests = Path(__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(file.parents[1]), writer, str(limit)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tests,
    )
    assert done.stdout.strip() in ("OSError", "FolderError"), done
    assert file.read_bytes() == OLD
    assert [left.name for left in file.parent.iterdir() if left.name.startswith(".MEMORY")] == []
