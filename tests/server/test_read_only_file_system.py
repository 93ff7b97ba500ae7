"""``serve`` on a store on a read-only file system: reads are answered, writes are refused with the path."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path

import pytest

import opencode_memory
from benches.soak.client import RefusedError, ToolClient
from support.services import free_port

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="mounts a folder read-only")

PATIENCE_SECONDS = 60
TEXT = "The staging port is 8081."
MOUNT_READ_ONLY = 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && shift && exec "$@"'


def contents(folder: Path) -> dict[str, bytes]:
    return {str(file): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def read_only(folder: Path, command: list[str]) -> list[str]:
    """Return a command line in whose mounts a folder is read-only; the test ends here where that is not permitted."""
    user = [] if os.geteuid() == 0 else ["--map-root-user"]
    wrapped = ["unshare", *user, "--mount", "sh", "-c", MOUNT_READ_ONLY, "sh", str(folder)]
    try:
        subprocess.run([*wrapped, "true"], check=True, capture_output=True, timeout=PATIENCE_SECONDS)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this user may not mount")
    return [*wrapped, *command]


def status(port: int) -> int | None:
    connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE_SECONDS)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().status
    except ConnectionError:
        return None
    finally:
        connection.close()


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    """The folder of a store with one memory."""
    folder = tmp_path / "store"
    with opencode_memory.open(folder, background=False) as store:
        store.remember(TEXT)
        store.indexes.embed_pending()
    return folder


@pytest.fixture
def client(tmp_path: Path, data_dir: Path) -> Iterator[ToolClient]:
    """A client of a server that cannot write the folder of its store."""
    home, port = tmp_path / "home", free_port()
    home.mkdir()
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "OPENCODE_MEMORY_DATA_DIR": str(data_dir)}
    command = [sys.executable, "-m", "opencode_memory.cli", "serve", "--port", str(port)]
    process = subprocess.Popen(read_only(data_dir, command), env=environment, stderr=subprocess.PIPE, text=True)
    pause = threading.Event()
    try:
        for _ in range(PATIENCE_SECONDS * 4):
            if (found := status(port)) is not None:
                break
            assert process.poll() is None, process.stderr and process.stderr.read()
            pause.wait(0.25)
        assert found == 503  # ``doctor`` calls the same state a problem.
        tools = ToolClient(port, home)
        yield tools
        tools.close()
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE_SECONDS)


def test_reads_are_answered_and_writes_name_the_path(client: ToolClient, data_dir: Path) -> None:
    before = contents(data_dir)
    assert TEXT in client.call("recall", query="staging port").text
    assert client.call("get_boot_context").text
    for tool, arguments in (
        ("remember", {"content": "The moon is far.", "category": "fact"}),
        ("kv_set", {"key": "a", "value": 1}),
    ):
        with pytest.raises(RefusedError, match=f"{data_dir / 'store.db'}.*read-only"):
            client.call(tool, **arguments)
    assert contents(data_dir) == before


def test_doctor_names_the_folder_and_finds_no_damage(data_dir: Path) -> None:
    doctor = [sys.executable, "-m", "opencode_memory.cli", "--data-dir", str(data_dir), "doctor", "--json"]
    done = subprocess.run(read_only(data_dir, doctor), check=False, capture_output=True, timeout=PATIENCE_SECONDS)
    checks = json.loads(done.stdout)["checks"]
    assert [(check["level"], check["text"]) for check in checks if check["name"] == "store"] == [
        ("ok", "1 memory in 0 projects")
    ]
    [problem] = [check for check in checks if check["name"] == "data_dir"]
    assert problem["text"] == f"{data_dir} is not writable, so memories can be read but not stored"
    assert problem["hint"] == "make it writable for this user, or set data_dir to another folder"
