"""Where ``memory-config.jsonc`` is looked for, that it moves from its old place once, and what reading it costs."""

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
def environment(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path)}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / ".config" / "opencode" / "memory-config.jsonc"


@pytest.fixture
def before(tmp_path: Path) -> Path:
    old = tmp_path / ".local" / "share" / "opencode" / "memory" / "config.json"
    old.parent.mkdir(parents=True)
    old.write_bytes(CONTENT)
    return old


def everything_under(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_old_place_is_read_until_there_is_a_new_one(environment: dict[str, str], file: Path, before: Path) -> None:
    config = load(environment=environment)
    assert (config.memory_config, config.opencode.auditor_model) == (before, "a/b")
    assert config.origins["opencode.auditor_model"] == "config.json"
    file.parent.mkdir(parents=True)
    file.write_text('{"auditorModel": "c/d"}', encoding="utf-8")
    config = load(environment=environment)
    assert (config.memory_config, config.opencode.auditor_model) == (file, "c/d")


def test_reading_writes_nothing(environment: dict[str, str], before: Path, tmp_path: Path) -> None:
    load(environment=environment)
    assert everything_under(tmp_path) == {".local/share/opencode/memory/config.json": CONTENT}


def test_it_is_copied_as_it_is_for_its_owner_alone(environment: dict[str, str], file: Path, before: Path) -> None:
    before.chmod(0o644)
    stood = before.stat()
    assert migrate(environment) == file
    assert file.read_bytes() == before.read_bytes() == CONTENT
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert (before.stat().st_mtime_ns, before.stat().st_mode) == (stood.st_mtime_ns, stood.st_mode)
    assert sorted(path.name for path in file.parent.iterdir()) == ["memory-config.jsonc"]
    assert load(environment=environment).memory_config == file


def test_it_is_copied_once_and_who_deletes_it_is_rid_of_it(
    environment: dict[str, str], file: Path, before: Path
) -> None:
    migrate(environment)
    assert migrate(environment) is None
    file.unlink()
    assert migrate(environment) is None
    assert not file.exists()
    config = load(environment=environment)
    assert (config.memory_config, config.opencode.auditor_model) == (None, None)


def test_the_note_says_what_happened_and_how_to_undo_it(
    environment: dict[str, str], file: Path, before: Path, tmp_path: Path
) -> None:
    migrate(environment)
    file.unlink()
    note = tmp_path / ".config" / "opencode-memory" / "memory-config.migrated"
    assert (str(before) in note.read_text(), str(file) in note.read_text()) == (True, True)
    assert note.stat().st_mode & 0o777 == 0o600
    note.unlink()
    assert migrate(environment) == file


@pytest.mark.parametrize("content", [b"", b"{}"])
def test_a_newer_file_is_never_replaced_and_settles_the_matter(
    environment: dict[str, str], file: Path, before: Path, content: bytes
) -> None:
    file.parent.mkdir(parents=True)
    file.write_bytes(content)
    assert migrate(environment) is None
    assert file.read_bytes() == content
    file.unlink()
    assert (migrate(environment), find(environment)) == (None, None)


def test_a_link_that_leads_nowhere_is_not_written_through(
    environment: dict[str, str], file: Path, before: Path, tmp_path: Path
) -> None:
    file.parent.mkdir(parents=True)
    file.symlink_to(tmp_path / "nowhere")
    assert migrate(environment) is None
    assert file.is_symlink()
    assert not (tmp_path / "nowhere").exists()


def test_a_file_that_appears_meanwhile_wins(
    environment: dict[str, str], file: Path, before: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = os.link

    def someone_is_quicker(source: str, target: Path) -> None:
        if Path(target) == file:
            file.write_bytes(b"theirs")
        link(source, target)

    monkeypatch.setattr(os, "link", someone_is_quicker)
    assert migrate(environment) is None
    assert file.read_bytes() == b"theirs"
    assert sorted(path.name for path in file.parent.iterdir()) == ["memory-config.jsonc"]


def without_links(_source: str, _target: Path) -> None:
    raise OSError(1, "Operation not permitted")


def a_file_instead_of_a_folder(file: Path, _before: Path) -> None:
    file.parent.parent.mkdir()
    file.parent.write_bytes(b"")


def too_large(_file: Path, before: Path) -> None:
    before.write_bytes(b" " * (MAX_BYTES + 1))


def a_pipe(_file: Path, before: Path) -> None:
    before.unlink()
    os.mkfifo(before)


@pytest.mark.parametrize("hinder", [a_file_instead_of_a_folder, too_large, a_pipe])
def test_what_hinders_the_copy_is_logged_and_stops_nothing(
    environment: dict[str, str],
    file: Path,
    before: Path,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    hinder: Callable[[Path, Path], None],
) -> None:
    hinder(file, before)
    assert migrate(environment) is None
    assert caplog.messages[0].startswith(f"cannot copy {before} to {file}: ")
    assert not (tmp_path / ".config" / "opencode-memory").exists()
    assert load(environment=environment).memory_config == before


def test_a_copy_that_fails_leaves_nothing_half_done(
    environment: dict[str, str], file: Path, before: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "link", without_links)
    assert migrate(environment) is None
    assert list(file.parent.iterdir()) == []
    monkeypatch.undo()
    assert migrate(environment) == file


def test_without_an_old_file_nothing_is_written(environment: dict[str, str], tmp_path: Path) -> None:
    assert (migrate(environment), find(environment)) == (None, None)
    assert list(tmp_path.iterdir()) == []


def test_the_folders_of_the_desktop_standard_are_honoured(tmp_path: Path, before: Path) -> None:
    moved = tmp_path / "data" / "opencode" / "memory"
    moved.mkdir(parents=True)
    before.rename(moved / "config.json")
    environment = {"HOME": "/nowhere", "XDG_DATA_HOME": str(tmp_path / "data"), "XDG_CONFIG_HOME": str(tmp_path / "c")}
    assert find(environment) == moved / "config.json"
    assert migrate(environment) == find(environment) == tmp_path / "c" / "opencode" / "memory-config.jsonc"
    assert (tmp_path / "c" / "opencode-memory" / "memory-config.migrated").exists()


def test_without_a_home_there_is_no_such_file(tmp_path: Path) -> None:
    assert (find({}), migrate({})) == (None, None)
    given = {"XDG_DATA_HOME": str(tmp_path), "OPENCODE_MEMORY_CONFIG": str(tmp_path / "memory.toml")}
    assert load(environment=given).memory_config is None


@pytest.mark.parametrize("exists", [False, True])
def test_the_parser_is_loaded_only_for_a_file_that_is_there(
    environment: dict[str, str], file: Path, *, exists: bool
) -> None:
    if exists:
        file.parent.mkdir(parents=True)
        file.write_bytes(CONTENT)
    program = (
        "import sys; from opencode_memory.config.load import environment, load; load(environment=environment()); "
        "loaded = {'json5', 'opencode_memory.config.opencode_manager.keys', 'logging', 'tempfile'} & set(sys.modules); "
        f"assert loaded == {{'json5', 'opencode_memory.config.opencode_manager.keys'}} & loaded and bool(loaded) is {exists}, loaded"
    )
    subprocess.run([sys.executable, "-c", program], check=True, env=environment)
