"""An error of a read names the damaged file, also if the damage shows long after the store was opened."""

from __future__ import annotations

from pathlib import Path

import pytest

from opencode_memory import CorruptStoreError
from support.stores import open_store

PAGE_BYTES = 4096
TEXT = b"about the walrus"


def test_read_of_a_page_that_was_damaged_later_names_the_file(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    with open_store(folder) as store:
        store.remember_many({"content": f"Note {number} {TEXT.decode()}"} for number in range(500))
    with open_store(folder) as store:
        file = folder / "store.db"
        content = bytearray(file.read_bytes())
        # The first pages of the file stay readable, so that the damage shows while rows are read.
        for begin in range(0, len(content), PAGE_BYTES):
            if TEXT in content[begin : begin + PAGE_BYTES]:
                content[begin : begin + PAGE_BYTES] = b"\xff" * PAGE_BYTES
        with file.open("r+b") as opened:
            opened.write(content)
        for read in (lambda: store.list(limit=1000), store.indexes.catch_up):
            with pytest.raises(CorruptStoreError) as error:
                read()
            assert str(file) in str(error.value)
