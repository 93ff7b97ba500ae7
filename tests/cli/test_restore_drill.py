"""Restore drill: for each kind of damage, the alarm is raised and a backup brings every memory back."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from opencode_memory.platform import system
from opencode_memory.store import recovery
from opencode_memory.store.backups import Backups
from opencode_memory.store.documents import Change
from support.command_line import CommandLine
from support.stores import open_store

TEXTS = ("Deploys need a green build.", "The staging port is 8081.", "Invoices are rendered with Typst.")
PAGE = 4096
FORMATS = Path(__file__).parents[2] / "rust" / "core" / "tests" / "formats"


def overwrite(file: Path) -> None:
    file.write_bytes(os.urandom(file.stat().st_size))


def cut_in_half(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)


def cut_by_one_page(file: Path) -> None:
    os.truncate(file, file.stat().st_size - PAGE)


def zero_header(file: Path) -> None:
    content = file.read_bytes()
    file.write_bytes(b"\0" * 100 + content[100:])


def flip_schema_page(file: Path) -> None:
    content = bytearray(file.read_bytes())
    for place in range(100, PAGE, 7):
        content[place] ^= 0xFF
    file.write_bytes(content)


def empty(file: Path) -> None:
    file.write_bytes(b"")


def remove(file: Path) -> None:
    file.unlink()


DAMAGES = (overwrite, cut_in_half, cut_by_one_page, zero_header, flip_schema_page, empty, remove)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "data" / "opencode-memory" / "store"


def spoil_index(file: Path, former: str, other: str) -> str:
    """Build an index of SQLite as if its definition had other words, as a lost or old page of it does; return its name."""
    name = "memory_by_text"
    with closing(sqlite3.connect(file)) as connection, connection:
        [(sql,)] = connection.execute("SELECT sql FROM sqlite_schema WHERE name = ?", (name,)).fetchall()
        assert former in sql
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("UPDATE sqlite_schema SET sql = replace(sql, ?, ?) WHERE name = ?", (former, other, name))
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute(f"REINDEX {name}")
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("UPDATE sqlite_schema SET sql = ? WHERE name = ?", (sql, name))
    return name


@pytest.fixture
def backup(cli: CommandLine, folder: Path) -> Path:
    with open_store(folder) as store:
        for text in TEXTS:
            store.remember(text)
        store.documents.write([Change(kind="plan", name="a", expected=0, body={"title": "Parse empty files"})])
        store.indexes.catch_up()
    return Path(cli.ok("backup", "create", "--json").json["path"])


@pytest.mark.parametrize("damage", DAMAGES)
def test_backup_restores_every_memory(
    damage: Callable[[Path], None], cli: CommandLine, folder: Path, backup: Path
) -> None:
    damage(folder / "store.db")
    damaged = (folder / "store.db").read_bytes() if (folder / "store.db").exists() else None

    alarm = cli("list", "--all-projects")
    assert alarm.code == 2 or cli("verify").code == 1
    listed = cli.ok("backup", "list", "--json").json
    assert [entry["path"] for entry in listed["backups"]] == [str(backup)]
    restored = cli.ok("backup", "restore", "--yes", str(backup))
    assert f"Restored {len(TEXTS)} memories." in restored.out
    with open_store(folder) as store:
        assert [plan.body["title"] for plan in store.documents.list("plan")] == ["Parse empty files"]

    assert sorted(cli.contents("--all-projects")) == sorted(TEXTS)
    assert cli("verify").code == 0
    assert cli.ok("recall", "which port has staging?", "--json").json["hits"]
    aside = [path.read_bytes() for path in folder.glob("damaged-*/store.db")]
    assert aside == ([] if damaged is None else [damaged])
    cli.ok("remember", "The store works again.")


def test_restore_of_a_sound_store_keeps_the_file_and_makes_a_backup(
    cli: CommandLine, folder: Path, backup: Path
) -> None:
    inode = (folder / "store.db").stat().st_ino
    cli.ok("remember", "A later memory.")
    answer = cli.ok("backup", "restore", "--yes", str(backup), "--json").json
    assert (answer["memories"], answer["aside"]) == (len(TEXTS), None)
    assert Path(answer["before"]).exists()
    assert (folder / "store.db").stat().st_ino == inode
    assert sorted(cli.contents("--all-projects")) == sorted(TEXTS)


def test_damaged_backup_changes_nothing(cli: CommandLine, folder: Path, backup: Path) -> None:
    overwrite(backup)
    zero_header(folder / "store.db")
    before = (folder / "store.db").read_bytes()
    answer = cli("backup", "restore", "--yes", str(backup))
    assert (answer.code, str(backup) in answer.err) == (2, True)
    assert (folder / "store.db").read_bytes() == before
    assert list(folder.glob("damaged-*")) == list(folder.glob("restoring")) == []


def test_backup_with_a_damaged_index_is_refused_and_its_rows_can_be_rescued(
    cli: CommandLine, folder: Path, backup: Path, tmp_path: Path
) -> None:
    index = spoil_index(backup, "content_hash", "id")
    cli.ok("remember", "A later memory.")
    answer = cli("backup", "restore", "--yes", str(backup))
    assert (answer.code, f"{backup}: is damaged: " in answer.err, index in answer.err) == (2, True, True)
    assert "opencode-memory --data-dir FOLDER repair" in answer.err
    assert sorted(cli.contents("--all-projects")) == sorted([*TEXTS, "A later memory."])
    assert list((folder / "backups").iterdir()) == [backup]

    rescued = tmp_path / "rescued"
    rescued.mkdir()
    backup.rename(rescued / "store.db")
    assert "Repaired: SQLite:" in cli.ok("--data-dir", str(rescued), "repair").out
    fixed = cli.ok("--data-dir", str(rescued), "backup", "create", "--json").json["path"]
    cli.ok("backup", "restore", "--yes", fixed)
    assert sorted(cli.contents("--all-projects")) == sorted(TEXTS)


def test_backup_of_a_damaged_store_says_so_and_replaces_no_older_one(
    cli: CommandLine, folder: Path, backup: Path
) -> None:
    cli.ok("config", "set", "backup.keep", "1")
    index = spoil_index(folder / "store.db", "content_hash", "id")
    answer = cli("backup", "create")
    assert (answer.code, "cannot be restored" in answer.err, index in answer.err) == (1, True, True)
    assert backup.exists()
    assert index in cli("backup", "create", "--json").json["damage"]
    cli.ok("repair")
    made = cli.ok("backup", "create", "--json").json
    assert (made["damage"], backup.exists()) == (None, False)


@pytest.mark.parametrize("damage", [zero_header, lambda _file: None], ids=["damaged", "sound"])
def test_restore_beside_another_one_is_refused_and_changes_nothing(
    damage: Callable[[Path], None], cli: CommandLine, folder: Path, tmp_path: Path, backup: Path
) -> None:
    if damage is not zero_header:
        # A copy of an older backup is migrated in a folder with a fixed name.
        backup = Path(shutil.copy(FORMATS / "v1" / "store.db", tmp_path))
    damage(folder / "store.db")
    before = sorted(folder.glob("**/*.db"))
    other = os.open(folder / "restore.lock", os.O_RDWR | os.O_CREAT)
    assert system().try_lock(other)
    answer = cli("backup", "restore", "--yes", str(backup))
    assert (answer.code, f"error: another process is restoring a backup into {folder}\n" in answer.err) == (2, True)
    assert sorted(folder.glob("**/*.db")) == before
    os.close(other)
    cli.ok("backup", "restore", "--yes", str(backup))


@pytest.mark.parametrize("is_restored", [False, True])
def test_interrupted_restore_keeps_the_former_store_only_if_it_was_replaced(
    folder: Path, backup: Path, monkeypatch: pytest.MonkeyPatch, is_restored: bool
) -> None:
    do = Backups.restore

    def interrupt(self: Backups, source: Path) -> int:
        if is_restored:
            do(self, source)
        raise KeyboardInterrupt

    monkeypatch.setattr(Backups, "restore", interrupt)
    with pytest.raises(KeyboardInterrupt):
        recovery.restore(folder, backup, open_store=lambda: open_store(folder))
    assert len(list((folder / "backups").iterdir())) == (2 if is_restored else 1)


def test_doctor_names_what_killed_backups_and_restores_left(cli: CommandLine, folder: Path, backup: Path) -> None:
    assert [check for check in cli("doctor", "--json").json["checks"] if check["name"] == "backups"] == []
    (folder / "restoring").mkdir()
    for left in (f"{backup.name}.partial", f"{backup.name}.partial-journal"):
        (folder / "backups" / left).write_bytes(b"begun")
    checks = [check for check in cli("doctor", "--json").json["checks"] if check["name"] == "backups"]
    assert [check["level"] for check in checks] == ["note"] * 3
    assert {check["text"].split(" is left of ")[0] for check in checks} == {
        f"{backup}.partial",
        f"{backup}.partial-journal",
        str(folder / "restoring"),
    }
    assert "if no backup is being written, delete this file" in {check["hint"] for check in checks}


def test_backup_list_names_what_a_damaged_store_hides(cli: CommandLine, folder: Path, backup: Path) -> None:
    overwrite(folder / "store.db")
    (folder / "store.db-wal").write_bytes(b"left behind")
    answer = cli.ok("backup", "list")
    assert "is damaged (file is not a database)" in answer.err
    assert str(backup) in answer.out
    assert "Only the backups in the folder of the store are listed." in answer.err


@pytest.mark.parametrize("damage", [empty, remove])
@pytest.mark.parametrize("left", ["backups", "lexical"])
def test_lost_store_with_traces_is_an_alarm(
    damage: Callable[[Path], None], left: str, cli: CommandLine, folder: Path, backup: Path
) -> None:
    for other in {"backups", "lexical", "vectors"} - {left}:
        if (folder / other).exists():
            (folder / other).rename(folder.parent / other)
    damage(folder / "store.db")
    for command in (["recall", "port"], ["remember", "A memory."], ["verify"], ["stats"], ["learning", "status"]):
        answer = cli(*command)
        assert (answer.code, "backup list" in answer.err) == (2, True), command
    assert not (folder / "store.db").exists() or (folder / "store.db").stat().st_size == 0
    assert cli("doctor").code == 1


def test_new_folder_and_folder_of_an_interrupted_first_start_are_no_alarm(cli: CommandLine, folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "store.db").touch()
    cli.ok("remember", "A first memory.")
    assert cli.contents("--all-projects") == ["A first memory."]


def test_repair_rebuilds_an_index_of_sqlite(cli: CommandLine, folder: Path, backup: Path) -> None:
    name = spoil_index(folder / "store.db", "project)", "project) WHERE 0")
    found = cli("verify")
    assert found.code == 1
    assert f"missing from index {name}" in found.out or f"in index {name}" in found.out
    checks = [check for check in cli("doctor", "--json").json["checks"] if check["name"] == "store"]
    assert [check["level"] for check in checks] == ["ok", "problem"]
    assert f"in index {name}" in checks[1]["text"] or f"from index {name}" in checks[1]["text"]
    assert "opencode-memory repair" in checks[1]["hint"]
    assert "Repaired: SQLite:" in cli.ok("repair").out
    assert cli("verify").code == 0
    assert [check["level"] for check in cli("doctor", "--json").json["checks"] if check["name"] == "store"] == ["ok"]
    assert sorted(cli.contents("--all-projects")) == sorted(TEXTS)


def test_verify_finds_a_flipped_bit_and_names_what_it_does_not_check(
    cli: CommandLine, folder: Path, backup: Path
) -> None:
    assert "Not checked: backups, the numbers in vectors, earlier versions in the history" in cli.ok("verify").out
    with closing(sqlite3.connect(folder / "store.db")) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    content = bytearray((folder / "store.db").read_bytes())
    for number, text in enumerate(TEXTS):
        place = content.find(text.encode())
        content[place + 3 + number] ^= 1
    (folder / "store.db").write_bytes(content)
    found = cli("verify")
    assert found.code == 1
    assert found.out.count("its hash differs") == len(TEXTS)
