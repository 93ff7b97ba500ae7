"""A server of the command line one of whose tasks has failed: the next ``serve --detach`` replaces it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import opencode_memory
from opencode_memory.cli.detach import start
from opencode_memory.config.load import Config, load
from opencode_memory.errors import OpencodeMemoryError
from opencode_memory.server import detach, failed_server
from opencode_memory.server.detach import start_detached
from opencode_memory.server.replace import end_replaced_server
from opencode_memory.service.managed import Managed
from opencode_memory.service.server_record import ServerRecord, hold_record
from support.background import Background, end, health_of
from support.services import HEALTH, health_server

BROKEN = """
import os
import sys

if "serve" in sys.orig_argv and "--detach" not in sys.orig_argv:
    import anyio
    from opencode_memory.loops.keeper import Keeper

    async def fail(_):
        pipe = os.open({pipe!r}, os.O_RDONLY | os.O_NONBLOCK)
        await anyio.wait_readable(pipe)
        os.read(pipe, 1)
        os.close(pipe)
        raise KeyError("private")

    Keeper.serve = fail
"""
PROBLEM = "a task of the server has failed (KeyError, see the server log)"


@pytest.fixture
def pipe(tmp_path: Path) -> Iterator[int]:
    """The descriptor of a pipe. A byte in it lets a server fail that runs with the ``PYTHONPATH``."""
    os.mkfifo(tmp_path / "pipe")
    descriptor = os.open(tmp_path / "pipe", os.O_RDWR)
    yield descriptor
    os.close(descriptor)


@pytest.fixture
def path(tmp_path: Path) -> str:
    """The ``PYTHONPATH`` of servers that fail."""
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "sitecustomize.py").write_text(BROKEN.format(pipe=str(tmp_path / "pipe")))
    return f"{broken}:{Path(opencode_memory.__file__).parents[1]}"


@pytest.fixture
def failed(background: Background, config: Config, pipe: int, path: str) -> Any:
    """The JSON of the start of a server that has failed since."""
    started = background.start(PYTHONPATH=path)
    os.write(pipe, b"x")
    while not health_of(config)["task_failed"]:
        pass
    return started


def test_failed_server_is_replaced_by_the_next_start(
    config: Config, failed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(failed_server, "LEAST_UPTIME_SECONDS", 0)
    second = start(config, with_worker=False)
    assert second.replaced is not None
    assert (second.started, second.replaced.pid) == (True, failed["pid"])
    health = health_of(config)
    assert (health["pid"], health["task_failed"], health["problems"]) == (second.pid, False, [])


def test_server_that_failed_soon_is_kept_for_a_while(background: Background, config: Config, failed: Any) -> None:
    code, out, err = background.run("serve", "--detach")
    assert (code, out) == (2, "")
    assert f"the server (process {failed['pid']}) cannot be used: {PROBLEM}" in err
    assert str(config.data_dir / "server.log") in err
    assert "opencode-memory stop" in err
    assert health_of(config)["pid"] == failed["pid"]
    assert background.run("stop")[0] == 0
    assert background.start()["started"]


@pytest.fixture
def failing(config: Config, monkeypatch: pytest.MonkeyPatch) -> Iterator[Config]:
    """The configuration of a server that says that one of its tasks has failed."""
    monkeypatch.setattr(failed_server, "LEAST_UPTIME_SECONDS", 0)
    config.data_dir.mkdir(parents=True)
    health = {**HEALTH, "pid": os.getpid(), "task_failed": True, "problems": [PROBLEM], "uptime_seconds": 90}
    with health_server(health, status=503) as port:
        record = ServerRecord(pid=os.getpid(), host="127.0.0.1", port=port, version="0.1.0", detached=False)
        with hold_record(config.data_dir, record):
            yield load(environment={**config.environment, "OPENCODE_MEMORY_PORT": str(port)})


def test_service_that_failed_is_left_to_its_manager(failing: Config) -> None:
    managed = Managed(name="opencode-memory-serve", stop="stop", is_ours=True)
    assert end_replaced_server(failing, is_configured=True, find_service=lambda _: managed) is None
    with pytest.raises(OpencodeMemoryError, match="cannot be used"):
        start_detached(failing, [sys.executable, "-c", ""])


def test_server_that_fails_at_its_start_does_not_count_as_started(
    failing: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    look, looks = detach._find_running, []

    def late(config: Config, **more: Any) -> Any:
        looks.append(more)
        return None if len(looks) <= 2 else look(config, **more)

    monkeypatch.setattr(detach, "_find_running", late)
    with pytest.raises(OpencodeMemoryError) as raised:
        start_detached(failing, [sys.executable, "-c", ""])
    assert PROBLEM in str(raised.value)


def test_server_in_the_foreground_ends_with_the_reason(
    background: Background, config: Config, pipe: int, path: str
) -> None:
    os.write(pipe, b"x")
    code, _, err = end(background.begin("serve", "--no-worker", PYTHONPATH=path))
    assert code == 2
    assert f"error: {PROBLEM}" in err
    assert "Traceback" in err  # the log of a server in the foreground
    assert health_of(config) is None
