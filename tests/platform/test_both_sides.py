"""Both sides of the operating system keep the same promises. The side of Windows runs on an API in memory."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from opencode_memory.platform import System, system
from opencode_memory.platform.posix import Posix
from opencode_memory.platform.windows import Windows
from support.windows_api import FakeApi


def windows() -> System:
    return Windows(FakeApi(), lambda _seconds: None)


@pytest.fixture(params=[Posix, windows], ids=["posix", "windows"])
def side(request: pytest.FixtureRequest) -> System:
    made: System = request.param()
    return made


def test_system_is_that_of_this_machine() -> None:
    assert isinstance(system(), Posix)
    assert system() is system()


def test_link_is_not_opened(side: System, tmp_path: Path) -> None:
    (tmp_path / "target").write_text("secret")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    with pytest.raises(OSError, match="link"):
        side.open(tmp_path / "link", os.O_RDONLY)


def test_new_file_is_private_and_not_inherited(side: System, tmp_path: Path) -> None:
    descriptor = side.open(tmp_path / "new", os.O_RDWR | os.O_CREAT)
    assert os.fstat(descriptor).st_mode & 0o777 == 0o600
    assert not os.get_inheritable(descriptor)
    os.close(descriptor)


def test_beginning_is_read_and_written_at_any_position(side: System, tmp_path: Path) -> None:
    descriptor = side.open(tmp_path / "file", os.O_RDWR | os.O_CREAT)
    side.write_start(descriptor, b"first")
    side.write_start(descriptor, b"FI")
    assert (side.read_start(descriptor, 3), side.read_start(descriptor, 99)) == (b"FIr", b"FIrst")
    os.close(descriptor)


@pytest.mark.parametrize(("first", "second", "granted"), [(0, 0, False), (1, 0, False), (0, 1, False), (1, 1, True)])
def test_lock_is_granted_to_readers_or_to_one_writer(
    side: System, tmp_path: Path, first: int, second: int, *, granted: bool
) -> None:
    ours, theirs = (side.open(tmp_path / "file", os.O_RDWR | os.O_CREAT) for _ in range(2))
    assert side.try_lock(ours, shared=bool(first))
    assert side.try_lock(theirs, shared=bool(second)) is granted
    side.unlock(ours)
    assert side.try_lock(theirs, shared=bool(second))
    side.unlock(theirs)
    side.lock(ours)
    assert not side.try_lock(theirs)
    os.close(ours)
    os.close(theirs)


def test_unlocking_twice_does_no_harm(side: System, tmp_path: Path) -> None:
    descriptor = side.open(tmp_path / "file", os.O_RDWR | os.O_CREAT)
    side.lock(descriptor)
    side.unlock(descriptor)
    side.unlock(descriptor)
    os.close(descriptor)


def test_folder_is_locked_until_release(side: System, tmp_path: Path) -> None:
    folder = tmp_path / "dump-1"
    folder.mkdir()
    used = side.lock_folder(folder, shared=True)
    assert used is not None
    assert side.lock_folder(folder, shared=False) is None
    used.release()
    cleaner = side.lock_folder(folder, shared=False)
    assert cleaner is not None
    folder.rmdir()
    cleaner.release()
    assert side.lock_folder(folder, shared=False) is None
    assert list(tmp_path.iterdir()) == []


def test_held_folder_reads_writes_replaces_and_removes(side: System, tmp_path: Path) -> None:
    with side.hold(tmp_path) as top:
        top.make("inner")
        with top.enter("inner") as inner:
            assert inner.mode("file") is None
            os.close(inner.open("new", os.O_WRONLY | os.O_CREAT, 0o600))
            inner.replace("new", "file")
            assert (inner.names(), inner.status("file").st_size == 0) == (["file"], True)
            inner.sync()
            inner.remove("file")
            assert inner.names() == []


def test_held_folder_follows_no_link(side: System, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with side.hold(tmp_path) as top:
        mode = top.mode("link")
        assert mode is not None
        assert mode & 0o170000 == 0o120000
        with pytest.raises(OSError, match=r"link|directory"), top.enter("link"):
            pass
        with pytest.raises(OSError, match="link"):
            top.open("link", os.O_RDONLY)


def test_file_is_no_folder(side: System, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError), side.hold(tmp_path / "file"):
        pass


def test_replacement_has_the_new_text(side: System, tmp_path: Path) -> None:
    (tmp_path / "old").write_text("old")
    (tmp_path / "new").write_text("new")
    side.replace(tmp_path / "new", tmp_path / "old")
    side.sync_names(tmp_path)
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("old", "new")]


def test_path_is_private_after_it_was_made_private(side: System, tmp_path: Path) -> None:
    for path, make in ((tmp_path / "folder", Path.mkdir), (tmp_path / "file", Path.touch)):
        make(path)
        path.chmod(0o755)
        side.make_private(path)
        assert not side.may_others_read(path)


@pytest.mark.parametrize("use", [lambda side: side.end(0x7FFF_FFF0), lambda side: side.open(Path("/no/file"), 0)])
def test_missing_process_or_file_is_a_lookup_error(side: System, use: Callable[[System], object]) -> None:
    with pytest.raises((ProcessLookupError, FileNotFoundError)):
        use(side)


def test_ended_process_has_ended(side: System) -> None:
    assert side.has_ended(0x7FFF_FFF0)
