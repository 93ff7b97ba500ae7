"""Ingest and bootstrap skip files that this program wrote itself, so that no memory is stored twice."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from opencode_memory import MemoryStore
from opencode_memory.exchange import export_memories
from opencode_memory.memory_file.frame import NEW
from opencode_memory.mirror.page import EMPTY
from opencode_memory.notes.bootstrap import bootstrap
from opencode_memory.notes.folder import ingest
from support.stores import texts

NOT_OURS = {
    "manual.md": "# Manual\n\n<!-- opencode-memory:begin v2 0123456789abcdef -->\n<!-- opencode-memory:end -->\n",
    "exports.md": "# Exports\n\nThe first line is:\n\n<!-- opencode-memory export 1 -->\n",
    "MEMORY.md": "# Memory\n\nKept by hand.\n",
    "zettel.md": "---\nid: 3f2b8c1e-5a4d-4c3b-9e2f-1a2b3c4d5e6f\ncategory: fact\ndate: 2026-11-01\n---\n\nA note.\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    return folder


def _write_export(store: MemoryStore, folder: Path) -> str:
    export_memories(store, folder / "all.md", format="markdown")
    return "all.md"


def _write_memory_file(store: MemoryStore, folder: Path) -> str:
    (folder / "MEMORY.md").write_bytes(NEW.with_body([f"- {memory.content}" for memory in store.list()]))
    return "MEMORY.md"


def _write_page(store: MemoryStore, folder: Path) -> str:
    (folder / "page.md").write_bytes(EMPTY.with_memory(store.list()[0]))
    return "page.md"


def _write_shared_page(store: MemoryStore, folder: Path) -> str:
    (folder / "page.md").write_bytes(EMPTY.with_memory(store.list()[0], is_shared=True))
    return "page.md"


@pytest.mark.parametrize(
    ("write", "reason"),
    [
        (_write_export, "opencode-memory import"),
        (_write_memory_file, "opencode-memory memory-file"),
        (_write_page, "opencode-memory files"),
        (_write_shared_page, "opencode-memory files"),
    ],
)
@pytest.mark.parametrize("by_name", [True, False])
def test_file_written_by_this_program_is_skipped_with_a_reason(
    store: MemoryStore, folder: Path, write, reason: str, by_name: bool
) -> None:
    store.remember("Bees like clover.", tags=["bee"])
    name = write(store, folder)
    (folder / "other.md").write_text("# Walrus\n\nIt swims.\n")
    report = ingest(store, folder / name if by_name else folder, top=folder)
    assert (report.files, report.added) == ((0, 0) if by_name else (1, 1))
    [skipped] = report.skipped
    assert Path(skipped.file).name == name
    assert reason in skipped.reason


@pytest.mark.parametrize("name", NOT_OURS)
def test_note_that_resembles_a_file_of_this_program_is_read(store: MemoryStore, folder: Path, name: str) -> None:
    (folder / name).write_text(NOT_OURS[name])
    report = ingest(store, folder, top=folder)
    assert (report.files, report.skipped) == (1, ())


def test_bootstrap_stores_no_memory_of_the_memory_file_again(store: MemoryStore, folder: Path) -> None:
    (folder / ".opencode").mkdir()
    store.remember("Bees like clover.", tags=["bee"])
    name = _write_memory_file(store, folder / ".opencode")
    (folder / "README.md").write_text("# Walrus\n\nIt swims.\n")
    report = bootstrap(store, folder, project="walrus")
    assert (report.files, report.added) == (("README.md",), 1)
    assert [Path(skipped.file).name for skipped in report.skipped] == [name]
    assert texts(store.list(project="*")).count("Bees like clover.") == 1


def test_bootstrap_shortens_scripts_and_their_names_and_stores_no_part_of_a_secret(
    store: MemoryStore, folder: Path
) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    scripts = {"x" * 200_000: "make", "deploy": f"{'y' * 184} {secret}"}
    (folder / "package.json").write_text(json.dumps({"name": "walrus", "scripts": scripts}))
    bootstrap(store, folder, project="walrus")
    (memory,) = store.list(project="walrus")
    assert "walrus" in memory.content
    assert secret[:8] not in memory.content


def test_bootstrap_reads_a_memory_file_kept_by_hand(store: MemoryStore, folder: Path) -> None:
    (folder / ".opencode").mkdir()
    (folder / ".opencode" / "MEMORY.md").write_text(NOT_OURS["MEMORY.md"])
    assert bootstrap(store, folder, project="walrus").files == (".opencode/MEMORY.md",)
