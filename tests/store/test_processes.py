"""Threads, forks and several processes on one data directory (I1, I2)."""

from __future__ import annotations

import shutil
import signal
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from opencode_memory import ClosedError, OpencodeMemoryError
from opencode_memory.exchange import export_memories, import_memories
from support import processes
from support.stores import NOW_MS, open_store, recalled

PRELUDE = """
    import sys
    from support.stores import *
    data_dir, arguments = Path(sys.argv[1]), sys.argv[2:]
"""


def test_threads_share_one_store(open_store) -> None:
    store = open_store(project="app", background=True)

    def work(worker: int) -> list[str]:
        written = []
        for turn in range(15):
            id = store.remember(f"walrus {worker} {turn}", topic=f"topic {worker}" if turn % 3 == 0 else None).id
            assert f"walrus {worker} {turn}" in recalled(store, f"walrus {worker} {turn}", limit=200)
            if turn % 5 == 1:
                store.edit(id, content=f"walrus {worker} {turn} edited")
            if turn % 5 == 2:
                store.delete(id)
            if turn % 5 == 3:
                store.kv.set(f"{worker}/{turn}", turn)
                store.archive(id)
                store.restore(id)
            store.list(limit=5)
            store.stats()
            written.append(id)
        return written

    with ThreadPoolExecutor(8) as pool:
        ids = [id for written in pool.map(work, range(8)) for id in written]
    # Of 15 memories each worker updated one topic five times in place of four more, and deleted three.
    assert len(set(ids)) == 8 * 11
    assert store.count() == 8 * 8
    assert len(store.kv.list()) == 8 * 3
    assert store.indexes.verify().ok
    store.close()


def test_a_store_that_is_closed_under_working_threads_tells_them(open_store) -> None:
    store = open_store(project="app", background=True)
    started = threading.Barrier(5)

    def work(worker: int) -> BaseException | None:
        started.wait()
        try:
            for turn in range(10_000):
                store.remember(f"walrus {worker} {turn}")
                store.recall("walrus")
        except OpencodeMemoryError as error:
            return error
        return None

    with ThreadPoolExecutor(4) as pool:
        running = [pool.submit(work, worker) for worker in range(4)]
        started.wait()
        store.remember("something")
        store.close()
        ends = [future.result() for future in running]
    assert all(isinstance(end, ClosedError) for end in ends), ends


def test_each_acknowledged_write_is_seen_by_the_next_recall_of_another_process(open_store, data_dir: Path) -> None:
    reader = open_store(project="app")
    writer = processes.start(
        PRELUDE
        + """
    with open_store(data_dir, project="app", background=True) as store:
        for line in sys.stdin:
            word, operation = line.split()
            if operation == "remember":
                id = store.remember(f"the {word} walrus").id
            elif operation == "edit":
                store.edit(id, content=f"the {word} heron")
            else:
                store.delete(id)
            print("done", flush=True)
    """,
        data_dir,
    )
    assert writer.stdin is not None
    assert writer.stdout is not None

    def tell(line: str) -> None:
        writer.stdin.write(f"{line}\n")
        writer.stdin.flush()
        assert writer.stdout.readline() == "done\n"

    for number in range(60):
        word = f"word{number}"
        tell(f"{word} remember")
        assert f"the {word} walrus" in recalled(reader, word)
        tell(f"{word} edit")
        found = recalled(reader, word)
        assert f"the {word} heron" in found
        assert f"the {word} walrus" not in found
        if number % 2:
            tell(f"{word} delete")
            assert f"the {word} heron" not in recalled(reader, word)
        if number == 30:
            reader.indexes.catch_up()
    writer.stdin.close()
    assert writer.wait() == 0
    writer.stdout.close()
    assert len(reader.list(limit=100)) == 30


@pytest.fixture
def big_export(tmp_path: Path) -> Path:
    """An export of 2,000 memories with links, values and history."""
    with open_store(tmp_path / "big", project="app") as store:
        results = store.remember_many(
            {"content": f"walrus number {number}", "topic": f"t{number}", "metadata": {"n": number}}
            for number in range(2000)
        )
        store.edit(results[0].id, content="walrus number zero")
        for one, other in zip(results[:100], results[100:200], strict=True):
            store.link(one.id, other.id)
        store.kv.set("k", 1, ttl_seconds=None)
        export_memories(store, tmp_path / "big.json")
    return tmp_path / "big.json"


IMPORTER = (
    PRELUDE
    + """
    from opencode_memory.exchange import import_memories

    def said(done, total):
        print(done, total, flush=True)
    with open_store(data_dir, project="app", clock_ms=NOW_MS + 1000) as store:
        print("ready", flush=True)
        sys.stdin.readline()
        import_memories(store, arguments[0], progress=said)
    """
)


def _check_import(data_dir: Path, export: Path, tmp_path: Path) -> None:
    with open_store(data_dir, project="app", clock_ms=NOW_MS + 2000) as store:
        assert store.count() == 2000
        assert store.indexes.verify().ok
        first = store.recall("walrus number zero", limit=1)[0].memory
        assert [entry.kind for entry in store.history(first.id)] == ["create", "edit"]
        assert len(store.related(first.id)) == 1
        assert store.kv.get("k") == 1
        before = store.stats().seq
        import_memories(store, export)
        assert store.stats().seq == before


def test_two_importers_at_once_give_one_result(data_dir: Path, big_export: Path, tmp_path: Path) -> None:
    importers = [processes.start(IMPORTER, data_dir, big_export) for _ in range(2)]
    for importer in importers:
        assert importer.stdout is not None
        assert importer.stdout.readline() == "ready\n"
    for importer in importers:
        importer.communicate("go\n")
    assert [importer.returncode for importer in importers] == [0, 0]
    _check_import(data_dir, big_export, tmp_path)


@pytest.mark.parametrize("batches", [0, 1, 2])
def test_an_importer_that_is_killed_is_resumed_to_the_complete_result(
    data_dir: Path, big_export: Path, tmp_path: Path, batches: int
) -> None:
    importer = processes.start(IMPORTER, data_dir, big_export)
    assert importer.stdin is not None
    assert importer.stdout is not None
    assert importer.stdout.readline() == "ready\n"
    importer.stdin.write("go\n")
    importer.stdin.flush()
    acknowledged = 0
    for _ in range(batches):
        acknowledged = int(importer.stdout.readline().split()[0])
    importer.send_signal(signal.SIGKILL)
    importer.communicate()
    assert importer.returncode == -signal.SIGKILL
    with open_store(data_dir, project="app") as store:
        # One of what was acknowledged is the project itself.
        assert store.count() >= acknowledged - 1
        assert store.indexes.verify().ok
    again = processes.start(IMPORTER, data_dir, big_export)
    again.communicate("go\n")
    assert again.returncode == 0
    _check_import(data_dir, big_export, tmp_path)


@pytest.mark.parametrize("end", ["sys.exit()", "os._exit(0)", "raise SystemExit(0)", "os.kill(os.getpid(), 9)", "pass"])
def test_program_that_ends_without_closing_keeps_all_memories(data_dir: Path, end: str) -> None:
    done = processes.run(
        PRELUDE
        + f"""
    import os
    store = open_store(data_dir, project="app", background=True)
    for number in range(20):
        store.remember(f"walrus {{number}}")
    {end}
    """,
        data_dir,
    )
    assert done.returncode == (-9 if "kill" in end else 0), done.stderr
    assert done.stderr == ""
    with open_store(data_dir, project="app") as store:
        assert len(store.list()) == 20
        assert recalled(store, "walrus 7")[0] == "walrus 7"
        assert store.indexes.verify().ok


def test_unreferenced_store_is_closed(data_dir: Path) -> None:
    before = threading.active_count()
    store = open_store(data_dir, background=True)
    store.remember("a walrus")
    store.indexes.embed_pending()
    del store
    import gc

    gc.collect()
    for thread in threading.enumerate():
        if thread.name == "opencode-memory-embedding":
            thread.join()
    assert threading.active_count() == before
    with open_store(data_dir) as again:
        assert recalled(again, "walrus") == ["a walrus"]


def _can_unshare() -> bool:
    unshare = shutil.which("unshare")
    return (
        unshare is not None
        and subprocess.run([unshare, "-rn", "true"], capture_output=True, check=False).returncode == 0
    )


@pytest.mark.skipif(not _can_unshare(), reason="this machine does not let a test leave the network")
def test_everything_works_without_a_network(data_dir: Path) -> None:
    done = processes.run(
        """
    import socket, sys
    import opencode_memory
    try:
        socket.create_connection(("192.0.2.1", 80), timeout=5)
    except OSError as error:
        assert not isinstance(error, TimeoutError), "there is a network"
    with opencode_memory.open(sys.argv[1]) as store:
        store.remember("The cat sat on the windowsill")
        store.remember("We deploy with a shell script")
        store.indexes.embed_pending()
        print(store.recall("feline", limit=1)[0].memory.content)
        print(store.indexes.reindex().texts, store.indexes.verify().ok)
    """,
        data_dir,
        prefix=("unshare", "-rn"),
    )
    assert done.stdout == "The cat sat on the windowsill\n2 True\n", done.stderr
    assert done.stderr == ""
