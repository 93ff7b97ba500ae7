"""The side of Windows, on an API in memory."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import opencode_memory
from opencode_memory.errors import InvalidInputError, StorageError
from opencode_memory.files.atomic import write_atomically
from opencode_memory.loops.start import start_loop
from opencode_memory.memory_file import disk
from opencode_memory.platform import windows as side
from opencode_memory.platform.windows import Windows
from opencode_memory.store.snapshots import private_folder, remove_leftovers
from opencode_memory.text.clock import now
from support.windows_api import SID, FakeApi


@pytest.fixture
def pauses() -> list[float]:
    return []


@pytest.fixture
def api() -> FakeApi:
    return FakeApi()


@pytest.fixture
def windows(api: FakeApi, pauses: list[float]) -> Windows:
    return Windows(api, pauses.append)


@pytest.fixture
def on_windows(windows: Windows, monkeypatch: pytest.MonkeyPatch) -> Windows:
    """Let the package run on the side of Windows."""
    for module in ("files.atomic", "memory_file.confined", "store.snapshots", "store.open_store", "loops.start"):
        monkeypatch.setattr(f"opencode_memory.{module}.system", lambda: windows)
    return windows


def fail_times(times: int, call: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that is refused some times, as while a reader has the file open."""
    left = [times]

    def replace(*arguments: Any) -> Any:
        left[0] -= 1
        if left[0] >= 0:
            raise PermissionError(13, "Access is denied")
        return call(*arguments)

    return replace


def test_replacement_waits_for_a_reader(
    windows: Windows, pauses: list[float], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "new").write_text("new")
    monkeypatch.setattr(os, "replace", fail_times(3, os.replace))
    windows.replace(tmp_path / "new", tmp_path / "old")
    assert (tmp_path / "old").read_text() == "new"
    assert pauses == [0.01, 0.02, 0.05]


def test_replacement_gives_up_within_a_second(
    windows: Windows, pauses: list[float], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "replace", fail_times(99, os.replace))
    with pytest.raises(PermissionError):
        windows.replace(tmp_path / "new", tmp_path / "old")
    assert sum(pauses) < 1


def test_access_list_names_this_user_alone(windows: Windows, api: FakeApi, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    windows.make_private(tmp_path)
    windows.make_private(file)
    assert api.access == {str(tmp_path): f"D:P(A;OICI;FA;;;{SID})", str(file): f"D:P(A;;FA;;;{SID})"}


@pytest.mark.parametrize(
    ("access", "others"),
    [
        (f"D:P(A;OICI;FA;;;{SID})", False),
        (f"D:AI(A;ID;FA;;;SY)(A;ID;FA;;;BA)(A;ID;FA;;;{SID})", False),
        (f"D:(D;;FA;;;WD)(A;;FA;;;{SID})", False),
        (f"D:(A;;FR;;;BU)(A;;FA;;;{SID})", True),
        (f"D:(A;;FR;;;WD)(A;;FA;;;{SID})", True),
        ("D:(A;;FA;;;S-1-5-21-1-2-3-1002)", True),
        ("D:(A;;FA;;;LA)", True),
        ("D:NO_ACCESS_CONTROL", True),
        ("", True),
        ("D:(A;;FA)", True),
    ],
)
def test_access_of_others_is_recognised(
    windows: Windows, api: FakeApi, tmp_path: Path, access: str, *, others: bool
) -> None:
    api.access[str(tmp_path)] = access
    assert windows.may_others_read(tmp_path) is others


def test_built_in_administrator_has_a_short_name(api: FakeApi, windows: Windows, tmp_path: Path) -> None:
    api.sid = "S-1-5-21-1-2-3-500"
    api.access[str(tmp_path)] = "D:(A;;FA;;;LA)"
    assert not windows.may_others_read(tmp_path)


def test_lock_waits_for_another_process(
    windows: Windows, api: FakeApi, pauses: list[float], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = iter([False, False, True])
    monkeypatch.setattr(api, "lock", lambda _descriptor, *, shared: not shared and next(answers))
    windows.lock(1)
    assert len(pauses) == 2


@pytest.mark.parametrize(("tag", "leads_elsewhere"), [(0xA000_000C, True), (0xA000_0003, True), (0x9000_001A, False)])
def test_junction_is_a_link_and_a_file_in_the_cloud_is_none(tag: int, *, leads_elsewhere: bool) -> None:
    found: Any = SimpleNamespace(st_mode=stat.S_IFDIR, st_reparse_tag=tag)
    assert side._leads_elsewhere(found) is leads_elsewhere


@pytest.mark.parametrize(("looks", "seconds", "expected"), [(0, 0, True), (3, 1, True), (99, 1, False), (1, 0, False)])
def test_input_is_waited_for(
    windows: Windows, api: FakeApi, pauses: list[float], looks: int, seconds: float, *, expected: bool
) -> None:
    api.input_after = looks
    assert windows.wait_for_input(0, seconds) is expected
    assert sum(pauses) <= seconds + 0.06


def test_process_is_ended_at_once(windows: Windows, api: FakeApi) -> None:
    api.running = {7}
    assert not windows.has_ended(7)
    windows.end(7)
    windows.lower_priority()
    windows.bind_children()
    assert (api.ended, api.priority_is_low, api.children_are_bound) == ([7], True, True)
    assert (windows.user_id(), windows.user_name(7)) == (None, "7")


def test_background_process_has_a_console_without_a_window(windows: Windows) -> None:
    create_no_window, detached_process = 0x0800_0000, 0x8
    assert windows.detached_flags & (create_no_window | detached_process) == create_no_window


def test_file_is_replaced_in_one_step(on_windows: Windows, tmp_path: Path) -> None:
    write_atomically(tmp_path / "file", b"one")
    write_atomically(tmp_path / "file", b"two", mode=0o644)
    assert [(found.name, found.read_bytes()) for found in tmp_path.iterdir()] == [("file", b"two")]


def test_memory_file_is_written_and_read(on_windows: Windows, tmp_path: Path) -> None:
    assert disk.read(tmp_path) is None
    disk.write(tmp_path, b"one", before=None, at=now())
    found = disk.read(tmp_path)
    assert found is not None
    disk.write(tmp_path, b"two", before=found, at=now())
    assert (tmp_path / disk.RELATIVE).read_bytes() == b"two"


def test_copy_in_use_is_kept_and_an_abandoned_one_is_removed(on_windows: Windows, tmp_path: Path) -> None:
    (tmp_path / "dump-abandoned").mkdir()
    with private_folder(tmp_path) as folder:
        assert remove_leftovers(tmp_path) == [folder]
        assert not (tmp_path / "dump-abandoned").exists()
    assert list(tmp_path.iterdir()) == []


def test_store_makes_its_folder_private_once(on_windows: Windows, api: FakeApi, tmp_path: Path) -> None:
    folder = tmp_path / "data" / "store"
    opencode_memory.open(folder, background=False).close()
    assert list(api.access) == [str(folder)]
    api.access.clear()
    opencode_memory.open(folder, background=False).close()
    assert api.access == {}


def test_store_names_a_folder_that_cannot_be_made(on_windows: Windows, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="cannot create"):
        opencode_memory.open(tmp_path / "file" / "store")


def test_loop_is_refused(on_windows: Windows) -> None:
    config: Any = SimpleNamespace(loop=SimpleNamespace(enabled=True))
    nothing: Any = None
    with pytest.raises(InvalidInputError, match="not on Windows"):
        start_loop(nothing, nothing, nothing, config=config, at=now())
