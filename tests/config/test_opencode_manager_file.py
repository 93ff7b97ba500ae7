"""Location and one-time migration of ``memory-config.jsonc``."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from opencode_memory.config.load import load
from opencode_memory.config.opencode_manager import find, migrate
from opencode_memory.config.opencode_manager.file import MAX_BYTES

CONTENT = b'{\r\n  // mine\n  "auditorModel": "a/b",\n}'


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / ".config" / "opencode" / "memory-config.jsonc"


@pytest.fixture
def old_file(tmp_path: Path) -> Path:
    old = tmp_path / ".local" / "share" / "opencode" / "memory" / "config.json"
    old.parent.mkdir(parents=True)
    old.write_bytes(CONTENT)
    return old


def read_tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_old_location_is_read_until_new_file_exists(environment: dict[str, str], file: Path, old_file: Path) -> None:
    config = load(environment=environment)
    assert (config.memory_config, config.opencode.auditor_model) == (old_file, "a/b")
    assert config.origins["opencode.auditor_model"] == "config.json"
    file.parent.mkdir(parents=True)
    file.write_text('{"auditorModel": "c/d"}', encoding="utf-8")
    config = load(environment=environment)
    assert (config.memory_config, config.opencode.auditor_model) == (file, "c/d")


def test_reading_creates_no_files(environment: dict[str, str], old_file: Path, tmp_path: Path) -> None:
    load(environment=environment)
    assert read_tree(tmp_path) == {".local/share/opencode/memory/config.json": CONTENT}


def test_migrate_copies_bytes_for_owner_only(environment: dict[str, str], file: Path, old_file: Path) -> None:
    old_file.chmod(0o644)
    stood = old_file.stat()
    assert migrate(environment) == file
    assert file.read_bytes() == old_file.read_bytes() == CONTENT
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert (old_file.stat().st_mtime_ns, old_file.stat().st_mode) == (stood.st_mtime_ns, stood.st_mode)
    assert sorted(path.name for path in file.parent.iterdir()) == ["memory-config.jsonc"]
    assert load(environment=environment).memory_config == file


def test_migrate_copies_only_once(environment: dict[str, str], file: Path, old_file: Path) -> None:
    migrate(environment)
    assert migrate(environment) is None
    file.unlink()
    assert migrate(environment) is None
    assert not file.exists()
    config = load(environment=environment)
    assert (config.memory_config, config.opencode.auditor_model) == (None, None)


def test_migration_note_names_both_files(
    environment: dict[str, str], file: Path, old_file: Path, tmp_path: Path
) -> None:
    migrate(environment)
    file.unlink()
    note = tmp_path / ".config" / "opencode-memory" / "memory-config.migrated"
    assert (str(old_file) in note.read_text(), str(file) in note.read_text()) == (True, True)
    assert note.stat().st_mode & 0o777 == 0o600
    note.unlink()
    assert migrate(environment) == file


@pytest.mark.parametrize("content", [b"", b"{}"])
def test_existing_file_is_never_replaced(
    environment: dict[str, str], file: Path, old_file: Path, content: bytes
) -> None:
    file.parent.mkdir(parents=True)
    file.write_bytes(content)
    assert migrate(environment) is None
    assert file.read_bytes() == content
    file.unlink()
    assert (migrate(environment), find(environment)) == (None, None)


def test_dangling_link_is_not_replaced(environment: dict[str, str], file: Path, old_file: Path, tmp_path: Path) -> None:
    file.parent.mkdir(parents=True)
    file.symlink_to(tmp_path / "nowhere")
    assert migrate(environment) is None
    assert file.is_symlink()
    assert not (tmp_path / "nowhere").exists()


def test_file_created_during_migration_is_kept(
    environment: dict[str, str], file: Path, old_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = os.link

    def create_file_first(source: str, target: Path) -> None:
        if Path(target) == file:
            file.write_bytes(b"theirs")
        link(source, target)

    monkeypatch.setattr(os, "link", create_file_first)
    assert migrate(environment) is None
    assert file.read_bytes() == b"theirs"
    assert sorted(path.name for path in file.parent.iterdir()) == ["memory-config.jsonc"]


def fail_link(_source: str, _target: Path) -> None:
    raise OSError(1, "Operation not permitted")


def put_file_in_place_of_folder(file: Path, _before: Path) -> None:
    file.parent.parent.mkdir()
    file.parent.write_bytes(b"")


def enlarge_file(_file: Path, old_file: Path) -> None:
    old_file.write_bytes(b" " * (MAX_BYTES + 1))


def replace_by_fifo(_file: Path, old_file: Path) -> None:
    old_file.unlink()
    os.mkfifo(old_file)


@pytest.mark.parametrize("prevent", [put_file_in_place_of_folder, enlarge_file, replace_by_fifo])
def test_failed_migration_is_logged_and_old_file_is_read(
    environment: dict[str, str],
    file: Path,
    old_file: Path,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    prevent: Callable[[Path, Path], None],
) -> None:
    prevent(file, old_file)
    assert migrate(environment) is None
    assert caplog.messages[0].startswith(f"cannot copy {old_file} to {file}: ")
    assert not (tmp_path / ".config" / "opencode-memory").exists()
    assert load(environment=environment).memory_config == old_file


def test_failed_migration_leaves_no_files(
    environment: dict[str, str], file: Path, old_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "link", fail_link)
    assert migrate(environment) is None
    assert list(file.parent.iterdir()) == []
    monkeypatch.undo()
    assert migrate(environment) == file


def test_migrate_without_old_file_creates_no_files(environment: dict[str, str], tmp_path: Path) -> None:
    assert (migrate(environment), find(environment)) == (None, None)
    assert list(tmp_path.iterdir()) == []


def test_migrate_uses_xdg_folders(tmp_path: Path, old_file: Path) -> None:
    moved = tmp_path / "data" / "opencode" / "memory"
    moved.mkdir(parents=True)
    old_file.rename(moved / "config.json")
    environment = {"HOME": "/nowhere", "XDG_DATA_HOME": str(tmp_path / "data"), "XDG_CONFIG_HOME": str(tmp_path / "c")}
    assert find(environment) == moved / "config.json"
    assert migrate(environment) == find(environment) == tmp_path / "c" / "opencode" / "memory-config.jsonc"
    assert (tmp_path / "c" / "opencode-memory" / "memory-config.migrated").exists()


def test_missing_home_means_no_file(tmp_path: Path) -> None:
    assert (find({}), migrate({})) == (None, None)
    given = {"XDG_DATA_HOME": str(tmp_path), "OPENCODE_MEMORY_CONFIG": str(tmp_path / "memory.toml")}
    assert load(environment=given).memory_config is None


@pytest.mark.parametrize("exists", [False, True])
def test_parser_is_imported_only_for_existing_file(environment: dict[str, str], file: Path, *, exists: bool) -> None:
    if exists:
        file.parent.mkdir(parents=True)
        file.write_bytes(CONTENT)
    program = (
        "import sys; from opencode_memory.config.load import environment, load; load(environment=environment()); "
        "loaded = {'json5', 'opencode_memory.config.opencode_manager.keys', 'logging', 'tempfile'} & set(sys.modules); "
        f"assert loaded == {{'json5', 'opencode_memory.config.opencode_manager.keys'}} & loaded and bool(loaded) is {exists}, loaded"
    )
    subprocess.run([sys.executable, "-c", program], check=True, env=environment)
