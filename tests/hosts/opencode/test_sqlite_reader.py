"""Reading another program's SQLite file without leaving anything behind."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from opencode_memory.errors import BusyError, InvalidInputError, StorageError
from opencode_memory.hosts.opencode.feed import sqlite_reader
from opencode_memory.hosts.opencode.feed.sqlite_reader import BesideReader


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A database in WAL mode that no program has open."""
    file = tmp_path / "other.db"
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("CREATE TABLE t (a)")
        connection.execute("INSERT INTO t VALUES (1)")
    return file


def write(file: Path, number: int) -> None:
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("INSERT INTO t VALUES (?)", (number,))


def numbers(connection: sqlite3.Connection) -> list[int]:
    return [number for (number,) in connection.execute("SELECT a FROM t")]


def read(file: Path):
    reader = BesideReader(file)
    try:
        return reader.ask(numbers)
    finally:
        reader.close()


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_reading_a_closed_database_leaves_no_files(file):
    assert read(file) == [1]
    assert names(file.parent) == {"other.db"}


def test_rows_in_the_wal_are_read(file):
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("INSERT INTO t VALUES (2)")
        assert read(file) == [1, 2]


def test_the_other_program_can_write_while_a_reader_is_open(file):
    reader = BesideReader(file)
    assert reader.ask(numbers) == [1]
    with closing(sqlite3.connect(file, isolation_level=None, timeout=0)) as other:
        other.execute("INSERT INTO t VALUES (2)")
        assert reader.ask(numbers) == [1, 2]
        other.execute("INSERT INTO t VALUES (3)")
        assert reader.ask(numbers) == [1, 2, 3]
        assert other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0, "nothing may be in its way"
    assert reader.ask(numbers) == [1, 2, 3]
    reader.close()


def test_a_question_is_asked_again_when_the_file_changed_under_it(file):
    asked: list[list[int]] = []

    def question(connection):
        found = numbers(connection)
        if not asked:
            write(file, 2)
        asked.append(found)
        return found

    reader = BesideReader(file)
    assert reader.ask(question) == [1, 2]
    assert asked == [[1], [1, 2]]
    reader.close()


def test_a_torn_page_is_no_error_when_the_file_changed_meanwhile(file):
    asked: list[int] = []

    def question(connection):
        asked.append(1)
        if len(asked) == 1:
            write(file, 2)
            raise sqlite3.DatabaseError("database disk image is malformed")
        return numbers(connection)

    reader = BesideReader(file)
    assert reader.ask(question) == [1, 2]
    reader.close()


def test_a_file_that_never_stands_still_is_busy(file):
    reader = BesideReader(file)
    with pytest.raises(BusyError, match="changes faster"):
        reader.ask(lambda connection: write(file, 0))
    reader.close()


def test_a_file_that_is_replaced_by_another_is_read_anew(file, tmp_path):
    reader = BesideReader(file)
    assert reader.ask(numbers) == [1]
    with closing(sqlite3.connect(tmp_path / "new.db", isolation_level=None)) as connection:
        connection.execute("CREATE TABLE t (a)")
        connection.execute("INSERT INTO t VALUES (9)")
    (tmp_path / "new.db").replace(file)
    assert reader.ask(numbers) == [9]
    reader.close()


@pytest.mark.parametrize("name", ["what?.db", "a#b.db", "100%.db", "zwölf ü.db", "mode=rwc&x.db", "a%3fb.db"])
def test_any_name_of_a_file_is_taken_as_it_is(file, name):
    file.rename(file.with_name(name))
    assert read(file.with_name(name)) == [1]
    assert names(file.parent) == {name}


def test_reader_cannot_write(file):
    reader = BesideReader(file)
    with pytest.raises(StorageError, match="readonly"):
        reader.ask(lambda connection: connection.execute("INSERT INTO t VALUES (2)"))
    reader.close()


def test_missing_file_is_named_with_a_hint(tmp_path):
    with pytest.raises(StorageError, match=r"no database at .*none\.db") as caught:
        read(tmp_path / "none.db")
    assert "opencode db path" in str(caught.value.hint)
    assert caught.value.path == str(tmp_path / "none.db")
    assert names(tmp_path) == set()


def test_file_of_another_kind_differs_from_a_missing_file(tmp_path):
    (tmp_path / "notes.txt").write_text("These are notes, and long enough that they could be a header of something.")
    with pytest.raises(InvalidInputError, match=r"notes\.txt is not a SQLite database"):
        read(tmp_path / "notes.txt")
    with pytest.raises(InvalidInputError, match="is a folder"):
        read(tmp_path)


def test_a_damaged_file_is_an_error_of_storage(file):
    damaged = file.read_bytes()
    file.write_bytes(damaged[:100] + b"\xff" * (len(damaged) - 100))
    with pytest.raises(StorageError, match="malformed") as caught:
        read(file)
    assert "recover" in str(caught.value.hint)


def test_a_file_that_another_program_keeps_locked_is_busy(file, monkeypatch):
    monkeypatch.setattr(sqlite_reader, "BUSY_MS", 1)
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("PRAGMA journal_mode=DELETE")
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(BusyError, match="locked"):
            read(file)


def test_a_text_that_is_not_utf_8_does_not_stop_the_reading(file):
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("INSERT INTO t VALUES (CAST(x'61ff' AS TEXT))")
    assert read(file) == [1, "a\ufffd"]
