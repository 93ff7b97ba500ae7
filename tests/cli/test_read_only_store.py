"""A store that this process cannot write, for example on a read-only file system: reads work, writes are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from opencode_memory.files import access
from support.command_line import CommandLine

READS = (
    ["recall", "staging", "port"],
    ["list"],
    ["stats"],
    ["verify"],
    ["kv", "list"],
    ["backup", "list"],
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
