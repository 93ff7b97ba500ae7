"""A store that this process cannot write, for example on a read-only file system: reads work, writes are refused."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

import opencode_memory
from opencode_memory import MemoryStore
from opencode_memory.errors import StorageError
from opencode_memory.files import access
from support.command_line import CommandLine

READS = (
    ["recall", "staging", "port"],
    ["list"],
    ["stats"],
    ["verify"],
    ["kv", "list"],
    ["backup", "list"],
    ["learning", "status"],
)
WRITES = (["remember", "the moon is far"], ["kv", "set", "a", "1"], ["ingest", "."])


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(file): file.read_bytes()
        for file in folder.rglob("*")
        if file.is_file() and not file.name.endswith(("-shm", "-wal", ".lock"))
    }


@pytest.fixture
def memory(cli: CommandLine) -> str:
    """A memory in the store of the command line."""
    cli.ok("kv", "set", "known", "1")
    return cli.remember("The staging port is 8081.")


@pytest.fixture
def store_folder(cli: CommandLine, memory: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of that store, which is not writable."""
    assert memory
    folder = cli.folder.parent / "data" / "opencode-memory" / "store"
    assert (folder / "store.db").exists()
    monkeypatch.setattr(access, "is_writable", lambda path: not path.is_relative_to(folder))
    return folder


def test_reads_work_and_change_nothing(cli: CommandLine, memory: str, store_folder: Path) -> None:
    before = contents(store_folder)
    for command in (*READS, ["show", memory], ["history", memory]):
        answer = cli(*command)
        assert answer.code in (0, 1), (command, answer)
        assert "error" not in answer.err, (command, answer)
    assert "8081" in cli.ok("recall", "staging", "port").out
    assert "8081" in cli.ok("show", memory).out
    assert cli.contents() == ["The staging port is 8081."]
    assert contents(store_folder) == before


@pytest.mark.parametrize("command", WRITES, ids=" ".join)
def test_write_is_refused_and_names_the_file(cli: CommandLine, store_folder: Path, command: list[str]) -> None:
    (cli.folder / "notes.md").write_text("# Ports\n\nThe port of staging is 8081.\n")
    before = contents(store_folder)
    answer = cli(*command)
    assert answer.code == 2
    assert f"write to {store_folder / 'store.db'}: the store was opened read-only" in answer.err
    assert contents(store_folder) == before


def test_doctor_reports_a_store_that_is_not_writable(cli: CommandLine, store_folder: Path) -> None:
    checks = cli("doctor", "--json").json["checks"]
    assert f"{store_folder} is not writable, so memories can be read but not stored" in [
        check["text"] for check in checks if check["level"] == "problem"
    ]
    assert [check["level"] for check in checks if check["name"] == "store"] == ["ok"]


def test_doctor_reports_a_file_of_the_store_that_is_not_writable(
    cli: CommandLine, memory: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert memory
    file = cli.folder.parent / "data" / "opencode-memory" / "store" / "store.db"
    monkeypatch.setattr(access, "is_writable", lambda path: path != file)
    [check] = [check for check in cli("doctor", "--json").json["checks"] if check["name"] == "data_dir"]
    assert check["text"] == f"{file} is not writable, so memories can be read but not stored"
    assert check["level"] == "problem"


def test_store_on_a_full_disk_is_read_and_the_reason_is_told(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    cli.remember("The parser is written in Rust")
    open_store = opencode_memory.open

    def refuse_writing(*arguments: Any, read_only: bool, **options: Any) -> MemoryStore:
        if not read_only:
            raise StorageError(
                "open store.db: there is no space left; the failed step changed nothing", path="store.db"
            )
        return open_store(*arguments, read_only=read_only, **options)

    monkeypatch.setattr(opencode_memory, "open", refuse_writing)
    assert cli("recall", "parser").code == 2, "the disk has space, so the error is another one"
    monkeypatch.setattr(access, "is_full", lambda _folder: True)
    answer = cli.ok("recall", "parser")
    assert "written in Rust" in answer.out
    assert "no space left" in answer.err
    refused = cli("remember", "The lexer is written in Rust")
    assert refused.code == 2
    assert "no space left" in refused.err


def test_disk_without_space_for_a_few_pages_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not access.is_full(tmp_path)
    assert not access.is_full(tmp_path / "missing")
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: usage._replace(free=100_000))
    assert access.is_full(tmp_path)
