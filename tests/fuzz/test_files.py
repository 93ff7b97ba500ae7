"""Every kind of file that is read, damaged: it is read or refused with an error of ours, and the store stays sound."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencode_memory import MemoryStore, OpencodeMemoryError
from opencode_memory.config.opencode_manager.read import read as read_memory_config
from opencode_memory.exchange import export_memories, import_memories
from opencode_memory.hosts.opencode.feed.database import OpenCodeDatabase
from opencode_memory.hosts.opencode.setup.npm_stub import read_object
from opencode_memory.notes.bootstrap import bootstrap
from opencode_memory.notes.fact_sheet.sheet import describe_project
from opencode_memory.notes.folder import ingest
from support.memory_files import Scene, git, remember
from support.mutation import corpus, damaged, fuzzed, fuzzing
from support.opencode import FIRST_ENGINE, FORKS, SECOND_ENGINE, all_messages

SECONDS = 20
EXPORTS = Path(__file__).parents[1] / "data" / "exports"
MANIFESTS = {
    "package.json": b'{"name": "shop", "description": "Sells honey.", "packageManager": "pnpm@9.1.0", "workspaces": ["a"],'
    b' "scripts": {"build": "tsc -p .", "test": "vitest"}, "devDependencies": {"typescript": "5"}, "bin": {"shop": "s.js"}}',
    "pyproject.toml": b'[project]\nname = "shop"\ndescription = "Sells honey."\nscripts = {shop = "shop:main"}\n'
    b'dependencies = ["httpx"]\n[tool.pytest.ini_options]\ntestpaths = ["tests"]\n[tool.ruff]\n[build-system]\nrequires = ["hatchling"]\n',
    "Cargo.toml": b'[package]\nname = "shop"\ndescription = "Sells honey."\n[workspace]\nmembers = ["a"]\n[[bin]]\nname = "shop"\n',
    "go.mod": b"module example.org/shop\n\ngo 1.22\n",
    "Makefile": b"check: ## all checks\n\ttrue\nbuild test: check\n",
    "README.md": b"# Shop\n\nA shop that sells honey to bees.\n",
}
NOTE = b"""---
title: Setup
date: 2026-03-01
tags: [port, "shop"]
---
# Setup

Run the walrus first.

## Ports

- The shop listens on 5128.

```sh
# no heading
make
```

| a | b |
|---|---|
"""
CONFIG = b"""{
  // comment
  "embedding": {"provider": "openai", "model": "x", "dimensions": 384},
  "dataDir": "~/data", "logging": {"enabled": true, "file": "a.log"},
  "messagesTransform": {"enabled": true}, "loop": {"maxIterations": 5, "model": "a/b"}, /* end */
}
"""


@contextmanager
def in_time() -> Iterator[None]:
    """Allow errors of ours, and fail if the work takes too long."""
    begin = monotonic()
    with suppress(OpencodeMemoryError):
        yield
    assert monotonic() - begin < SECONDS


def assert_sound(store: MemoryStore) -> None:
    report = store.indexes.verify()
    assert (report.store_problems, report.index_problems) == ((), ())


def exports(store: MemoryStore) -> list[bytes]:
    """Exports of a small store in our formats, and those of other systems."""
    first = store.remember("Deploy on Thursdays.", topic="deploy", tags=["ops"], entities=["!12"], pinned=True)
    second = store.remember("Deploys need a review.", category="directive", metadata={"n": [1, None, "é"]})
    store.link(first.id, second.id, "related", "both about deploys")
    store.edit(first.id, content="Deploy on Tuesdays.")
    store.kv.set("plan", {"step": 1}, ttl_seconds=None)
    found = [path.read_bytes() for path in sorted(EXPORTS.iterdir())]
    for format in ("json", "markdown"):
        out = io.StringIO()
        export_memories(store, out, format=format)
        found.append(out.getvalue().encode())
    return found


def dump(store: MemoryStore) -> list[str]:
    return sorted(json.dumps(row, sort_keys=True, default=str) for row in store.rows.dump())


@fuzzing(150)
@given(st.data())
def test_damaged_import_is_refused_whole_or_stored(
    store: MemoryStore, open_store: Callable[..., MemoryStore], tmp_path: Path, data: st.DataObject
) -> None:
    folder = tmp_path / "seeds"
    seeds = [path.read_bytes() for path in sorted(folder.glob("*"))] if folder.exists() else []
    if not seeds:
        seeds = exports(open_store(tmp_path / "other", project="app"))
        folder.mkdir()
        for number, seed in enumerate(seeds):
            (folder / f"{number}").write_bytes(seed)
    file = tmp_path / "import"
    file.write_bytes(data.draw(damaged(seeds)))
    before = dump(store)
    try:
        begin = monotonic()
        import_memories(store, file, project=data.draw(st.sampled_from([None, "app"])))
    except OpencodeMemoryError:
        assert dump(store) == before
    assert monotonic() - begin < SECONDS


def test_store_is_sound_after_damaged_imports(
    store: MemoryStore, open_store: Callable[..., MemoryStore], tmp_path: Path
) -> None:
    seeds = exports(open_store(tmp_path / "other", project="app"))

    @fuzzing(40)
    @given(damaged(seeds))
    def imported(damaged: bytes) -> None:
        (tmp_path / "import").write_bytes(damaged)
        with in_time():
            import_memories(store, tmp_path / "import")

    imported()
    assert_sound(store)


DATABASES = [path.read_bytes() for path in (FIRST_ENGINE, SECOND_ENGINE, FORKS)]


@fuzzing(60)
@given(damaged(DATABASES, flips_only=True))
def test_damaged_database_of_opencode_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, damaged: bytes
) -> None:
    file = tmp_path_factory.getbasetemp() / "damaged.db"
    file.write_bytes(damaged)
    with in_time(), OpenCodeDatabase(file) as database:
        for head in database.sessions():
            all_messages(database, head.info.id)
            database.message_ids(head.info.id)


@fuzzed(300, [CONFIG, *corpus("memory_config")])
def test_damaged_memory_config_never_raises(tmp_path_factory: pytest.TempPathFactory, damaged: bytes) -> None:
    folder = tmp_path_factory.getbasetemp()
    file = folder / "memory-config.jsonc"
    file.write_bytes(damaged)
    reading = read_memory_config(file, environment={"HOME": str(folder)}, data_dir=folder)
    assert all(notice.text.isprintable() for notice in reading.notices)


@fuzzed(150, [b'{"name": "x", "dependencies": {"a": "1"}, "private": true}', *corpus("package")])
def test_damaged_package_of_the_plugin_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, damaged: bytes
) -> None:
    file = tmp_path_factory.getbasetemp() / "package.json"
    file.write_bytes(damaged)
    with in_time():
        assert isinstance(read_object(file), dict)


@fuzzing(300)
@given(st.data())
def test_damaged_manifests_are_described_or_left_out(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.getbasetemp() / "manifests"
    folder.mkdir(exist_ok=True)
    broken = data.draw(st.sampled_from(sorted(MANIFESTS)))
    for name, valid in MANIFESTS.items():
        (folder / name).write_bytes(data.draw(damaged([valid])) if name == broken else valid)
    text = describe_project(folder)
    assert text is not None
    text.encode()
    assert len(text) < 20_000


def test_damaged_notes_and_manifests_leave_the_store_sound(store: MemoryStore, tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()

    @fuzzing(20)
    @given(st.data())
    def taken(data: st.DataObject) -> None:
        for name, valid in (MANIFESTS | {"AGENTS.md": NOTE}).items():
            (folder / name).write_bytes(data.draw(damaged([valid])) if data.draw(st.booleans()) else valid)
        with in_time():
            bootstrap(store, folder, project="app")
        with in_time():
            ingest(store, folder / "AGENTS.md", project="app")

    taken()
    assert_sound(store)


def test_damaged_note_is_ingested_or_refused(store: MemoryStore, tmp_path: Path) -> None:
    @fuzzed(40, [NOTE, *corpus("notes")])
    def ingested(damaged: bytes) -> None:
        file = tmp_path / "note.md"
        file.write_bytes(damaged)
        with in_time():
            ingest(store, file, project="app")

    ingested()
    assert_sound(store)


def test_damaged_memory_file_is_synchronised_or_left_alone(store: MemoryStore, tmp_path: Path) -> None:
    remember(store)
    folder = tmp_path / "shop"
    folder.mkdir()
    git(folder, "init", "-q")
    scene = Scene(store, folder)
    assert scene.sync(create=True).written
    seed = scene.file.read_bytes()

    @fuzzing(50)
    @given(damaged([seed, b"# Mine\n\n" + seed + b"\nmore\n"]))
    def synchronised(damaged: bytes) -> None:
        scene.file.write_bytes(damaged)
        with in_time():
            scene.sync(create=True)
            after = scene.file.read_bytes()
            assert not scene.sync(create=True).written
            assert scene.file.read_bytes() == after

    synchronised()
    assert_sound(store)
