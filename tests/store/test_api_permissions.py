"""Files of the data directory are private to their owner."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from opencode_memory import MemoryStore
from opencode_memory._core import Engine
from opencode_memory.exchange import export_memories
from support.embedders import WordEmbedder
from support.stores import NOW_MS, bound_store


@pytest.fixture(autouse=True, params=[0o022, 0o000, 0o077], ids=oct)
def _careless_umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


def _open_to_others(folder: Path) -> dict[str, str]:
    """What somebody else may touch, with its mode."""
    modes = {path: stat.S_IMODE(path.lstat().st_mode) for path in (folder, *folder.rglob("*"))}
    return {str(path): oct(mode) for path, mode in modes.items() if mode & 0o077}


def test_files_are_private_after_every_operation(tmp_path: Path) -> None:
    data_dir = tmp_path / "deep" / "store"
    engine = Engine(data_dir, graph_from=10, background=False, clock_ms=NOW_MS)
    store = bound_store(engine, project="app", embedder=WordEmbedder(dimension=16))
    steps: dict[str, Callable[[], object]] = {
        "opened": lambda: None,
        "written": lambda: store.remember_many({"content": f"walrus {number}"} for number in range(20)),
        "embedded": store.indexes.embed_pending,
        "caught up": store.indexes.catch_up,
        "written again": lambda: store.remember("a heron"),
        "reindexed": store.indexes.reindex,
        "backed up": store.backups.create,
        "purged": lambda: store.purge(store.list(limit=1)[0].id),
        "maintained": store.maintain,
        "exported": lambda: _during_an_export(store, data_dir),
        "closed": store.close,
    }
    for name, step in steps.items():
        step()
        assert _open_to_others(data_dir) == {}, name
    assert any((data_dir / "vectors").iterdir())
    assert any((data_dir / "lexical").iterdir())


def _during_an_export(store: MemoryStore, data_dir: Path) -> None:
    rows = store.rows.dump()
    next(rows)
    assert _open_to_others(data_dir) == {}
    rows.close()


def test_a_backup_elsewhere_and_an_export_are_private_too(tmp_path: Path) -> None:
    engine = Engine(tmp_path / "store", background=False, clock_ms=NOW_MS)
    with bound_store(engine, project=None, embedder=WordEmbedder()) as store:
        store.remember("a walrus")
        store.backups.create(tmp_path / "backup.db")
        export_memories(store, tmp_path / "export.json")
    for name in ("backup.db", "export.json"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600


def test_a_folder_that_was_there_is_closed_to_others_or_left_as_its_owner_made_it(tmp_path: Path) -> None:
    data_dir = tmp_path / "store"
    data_dir.mkdir(mode=0o700)
    (data_dir / "notes").write_text("not ours")
    before = stat.S_IMODE((data_dir / "notes").stat().st_mode)
    Engine(data_dir, background=False).close()
    assert stat.S_IMODE((data_dir / "notes").stat().st_mode) == before
    assert stat.S_IMODE((data_dir / "store.db").stat().st_mode) == 0o600
