"""Record of the server of a store, and its lock."""

from __future__ import annotations

import errno
import json
import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from opencode_memory.errors import ConflictError, StorageError
from opencode_memory.service import server_record
from opencode_memory.service.server_record import (
    RECORD_FILE,
    ServerRecord,
    find_server,
    hold_record,
    refuse_second_server,
)

RECORD = ServerRecord(pid=4711, host="0.0.0.0", port=9824, version="1.2.3", detached=True)


def test_record_is_found_as_long_as_it_is_held(tmp_path: Path) -> None:
    assert find_server(tmp_path) is None
    with hold_record(tmp_path, RECORD):
        assert find_server(tmp_path) == RECORD
        assert RECORD.url == "http://127.0.0.1:9824"
        assert stat.S_IMODE((tmp_path / RECORD_FILE).stat().st_mode) == 0o600
    assert find_server(tmp_path) is None


def test_second_holder_gets_address_of_the_first(tmp_path: Path) -> None:
    with hold_record(tmp_path, RECORD):
        with (
            pytest.raises(
                ConflictError, match=r"1\.2\.3 already serves .* at http://127\.0\.0\.1:9824 \(process 4711\)"
            ),
            hold_record(tmp_path, RECORD),
        ):
            pytest.fail("two servers hold the record")
        assert find_server(tmp_path) == RECORD


def test_record_without_lock_is_outdated(tmp_path: Path) -> None:
    file = tmp_path / RECORD_FILE
    file.write_text(
        json.dumps({"pid": 1, "host": "127.0.0.1", "port": 1, "version": "1", "detached": False}) + " " * 99
    )
    file.chmod(0o644)
    assert find_server(tmp_path) is None
    with hold_record(tmp_path, RECORD):
        assert find_server(tmp_path) == RECORD
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_server_may_be_the_first_process_of_a_container(tmp_path: Path) -> None:
    first = replace(RECORD, pid=1)
    with hold_record(tmp_path, first):
        assert find_server(tmp_path) == first
        with pytest.raises(ConflictError, match=r"already serves .* \(process 1\)"):
            refuse_second_server(tmp_path)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"[" * 4000,
        b"\xff",
        b'{"pid": true, "host": "h", "port": 1, "version": "1", "detached": false}',
        b'{"pid": 0, "host": "h", "port": 1, "version": "1", "detached": false}',
        b'{"pid": 9, "host": "h", "port": 99999, "version": "1", "detached": false}',
    ],
)
def test_unreadable_record_of_running_server_is_a_conflict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    monkeypatch.setattr(server_record, "_PATIENCE_SECONDS", 0)
    with hold_record(tmp_path, RECORD):
        (tmp_path / RECORD_FILE).write_bytes(content)
        with pytest.raises(ConflictError, match="is starting or ending"):
            find_server(tmp_path)


def test_link_instead_of_a_record_is_refused(tmp_path: Path) -> None:
    target = tmp_path / "precious"
    target.write_text("kept")
    (tmp_path / RECORD_FILE).symlink_to(target)
    with pytest.raises(StorageError, match=RECORD_FILE), hold_record(tmp_path, RECORD):
        pytest.fail("a link was followed")
    with pytest.raises(StorageError, match=RECORD_FILE):
        find_server(tmp_path)
    assert target.read_text() == "kept"


def test_lock_ends_with_its_process(tmp_path: Path) -> None:
    ready, ended = os.pipe()
    child = os.fork()
    if child == 0:  # pragma: no cover  in the child
        try:
            with hold_record(tmp_path, RECORD):
                os.write(ended, b"x")
                os._exit(0)
        finally:
            os._exit(1)
    assert os.read(ready, 1) == b"x"
    assert os.waitpid(child, 0)[1] == 0
    assert (tmp_path / RECORD_FILE).read_text() != ""
    assert find_server(tmp_path) is None


def test_record_keeps_its_space_when_it_ends(tmp_path: Path) -> None:
    with hold_record(tmp_path, RECORD):
        size = (tmp_path / RECORD_FILE).stat().st_size
    assert (tmp_path / RECORD_FILE).stat().st_size == size
    assert (tmp_path / RECORD_FILE).read_bytes().strip() == b""


def test_longer_record_of_an_earlier_server_is_cut(tmp_path: Path) -> None:
    (tmp_path / RECORD_FILE).write_bytes(b"x" * 4000)
    with hold_record(tmp_path, RECORD):
        assert find_server(tmp_path) == RECORD


def test_record_that_is_written_in_part_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = [7]

    def write_a_part(descriptor: int, data: bytes, at: int) -> int:
        if not answers:
            raise OSError(errno.ENOSPC, "No space left on device")
        return answers.pop()

    monkeypatch.setattr(os, "pwrite", write_a_part)
    with pytest.raises(StorageError, match=r"server\.json: No space left"), hold_record(tmp_path, RECORD):
        pytest.fail("the server runs without a record")
