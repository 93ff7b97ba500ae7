"""The side of Windows on Windows itself, and the engine there. Other systems skip this file.

It needs the installed package and no fixture of other tests: ``pytest --noconftest tests/platform/test_on_windows.py``.
"""

from __future__ import annotations

import sys

import pytest

if sys.platform != "win32":
    pytest.skip("needs Windows", allow_module_level=True)

import _winapi
import ctypes
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import opencode_memory
from opencode_memory.platform import System, system
from opencode_memory.platform.windows import Windows
from opencode_memory.platform.windows_api import WindowsApi

# Wine keeps permissions of POSIX for files, and has no junctions.
not_in_wine = pytest.mark.skipif(hasattr(ctypes.WinDLL("ntdll"), "wine_get_version"), reason="Wine lacks it")

_PRELUDE = """
import os, subprocess, sys
from pathlib import Path
import opencode_memory
from opencode_memory.platform import system
side = system()
def say(text):
    print(text, flush=True)
"""
_BEGIN_TO_WAIT = "say('ready'); sys.stdin.read()"


@contextmanager
def child(program: str) -> Iterator[subprocess.Popen[str]]:
    """Run a program until the context ends; its standard input is a pipe that nothing is written to."""
    command = [sys.executable, "-c", _PRELUDE + program]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def read_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


@pytest.fixture
def side() -> System:
    return system()


def test_lock_of_another_process_holds_until_it_ends(side: System, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("text")
    locking = f"descriptor = side.open(Path({str(file)!r}), os.O_RDWR); assert side.try_lock(descriptor)\n"
    descriptor = side.open(file, os.O_RDWR)
    with child(locking + _BEGIN_TO_WAIT) as other:
        assert read_line(other) == "ready"
        assert not side.try_lock(descriptor)
        assert not side.try_lock(descriptor, shared=True)
        # The locked byte is far behind the end, so the text can be read.
        assert side.read_start(descriptor, 9) == b"text"
    side.lock(descriptor)
    side.unlock(descriptor)
    os.close(descriptor)


@not_in_wine
def test_new_files_of_a_private_folder_are_private(side: System, tmp_path: Path) -> None:
    folder = tmp_path / "private"
    side.make_folder(folder)
    (folder / "file").touch()
    assert not side.may_others_read(folder)
    assert not side.may_others_read(folder / "file")


def test_file_is_replaced_when_its_reader_closes_it(tmp_path: Path) -> None:
    (tmp_path / "old").write_text("old")
    (tmp_path / "new").write_text("new")
    reader = (tmp_path / "old").open()
    pauses: list[float] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        reader.close()

    Windows(WindowsApi(), pause).replace(tmp_path / "new", tmp_path / "old")
    assert ((tmp_path / "old").read_text(), len(pauses)) == ("new", 1)


def test_process_is_seen_and_ended(side: System) -> None:
    with child(_BEGIN_TO_WAIT) as other:
        assert read_line(other) == "ready"
        assert not side.has_ended(other.pid)
        side.end(other.pid)
        assert other.wait(30) != 0
        assert side.has_ended(other.pid)
    assert not side.has_ended(os.getpid())


def test_children_end_with_the_process_that_bound_them(side: System) -> None:
    middle = (
        "side.bind_children()\n"
        "inner = subprocess.Popen([sys.executable, '-c', 'import sys; sys.stdin.read()'], stdin=subprocess.PIPE)\n"
        "say(inner.pid)\n"
        "sys.stdin.read()"
    )
    synchronize = 0x10_0000
    with child(middle) as other:
        handle = _winapi.OpenProcess(synchronize, False, int(read_line(other)))
        assert _winapi.WaitForSingleObject(handle, 0) != 0
        side.end(other.pid)
        assert _winapi.WaitForSingleObject(handle, 30_000) == 0
    _winapi.CloseHandle(handle)


def test_input_of_a_pipe_is_seen(side: System) -> None:
    reading, writing = os.pipe()
    assert not side.wait_for_input(reading, 0.01)
    os.write(writing, b"x")
    assert side.wait_for_input(reading, 0.01)
    os.close(writing)
    os.close(reading)


@not_in_wine
def test_junction_is_not_followed(side: System, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    _winapi.CreateJunction(str(tmp_path / "elsewhere"), str(tmp_path / "link"))
    with side.hold(tmp_path) as top, pytest.raises(OSError, match="link"), top.enter("link"):
        pass


def test_store_in_a_folder_with_any_name_is_read_by_another_process(tmp_path: Path) -> None:
    folder = tmp_path / "Jörg's 記憶 %41 & more"
    reading = (
        f"with opencode_memory.open({str(folder)!r}, project='p', background=False) as store:\n"
        "    say(len(store.recall('deploy to production')))\n"
        "    say(store.remember('Releases are made on Mondays.').status.value)\n"
    )
    with opencode_memory.open(folder, project="p", background=False) as store:
        store.remember("Deploys to production need a second person.")
        assert store.indexes.reindex().texts == 1
        with child(reading) as other:
            assert (read_line(other), read_line(other)) == ("1", "stored")
        assert store.recall("releases on Mondays")[0].memory.content == "Releases are made on Mondays."
        assert store.backups.restore(store.backups.create(tmp_path / "copy.db")) == 2
        assert [backup.path for backup in store.backups.list()] == [tmp_path / "copy.db"]
    with opencode_memory.open(folder, project="p", background=False) as store:
        assert store.recall("deploy to production")[0].memory.content == "Deploys to production need a second person."
