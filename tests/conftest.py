"""Fixtures of all tests. No test reads or writes what belongs to the person who runs it."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from opencode_memory import MemoryStore
from support import stores
from support.command_line import CommandLine

# A machine under load is slow, not wrong.
hypothesis.settings.register_profile("default", deadline=None)
hypothesis.settings.register_profile("fast", deadline=None, max_examples=20)
hypothesis.settings.register_profile("slow", deadline=None, max_examples=2000)
hypothesis.settings.load_profile("default")

# A shell starts programs in the background with this signal ignored, and the processes of tests would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

OpenStore = Callable[..., MemoryStore]


@pytest.fixture(autouse=True)
def _no_files_of_the_person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    """A data directory that does not exist yet."""
    return tmp_path / "store"


@pytest.fixture
def open_store(data_dir: Path) -> Iterator[OpenStore]:
    """Open stores in ``data_dir`` or elsewhere, as ``support.stores.open_store`` does; all are closed in the end."""
    opened: list[MemoryStore] = []

    def open_one(folder: Path | None = None, **options: Any) -> MemoryStore:
        opened.append(stores.open_store(folder or data_dir, **options))
        return opened[-1]

    yield open_one
    for store in opened:
        store.close()


@pytest.fixture
def store(open_store: OpenStore) -> MemoryStore:
    """An empty store of the project ``app``, at ``stores.NOW_MS``, without threads."""
    return open_store(project="app")


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> CommandLine:
    """The command line, in a project folder and a home of its own."""
    folder = tmp_path / "shop"
    folder.mkdir()
    for name in ("NO_COLOR", "OPENCODE_MEMORY_PROJECT", "OPENCODE_MEMORY_DATA_DIR", "OPENCODE_MEMORY_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(folder)
    return CommandLine(monkeypatch, capsys, folder)
