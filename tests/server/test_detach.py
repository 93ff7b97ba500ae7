"""``opencode-memory serve --detach``: one server in the background for several concurrent starts."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from opencode_memory.config.load import Config, load
from opencode_memory.errors import ConfigError, ConflictError, OpencodeMemoryError, StorageError
from opencode_memory.server import LOG_FILE, detach
from opencode_memory.server.detach import start_detached
from opencode_memory.service.server_record import ServerRecord, hold_record
from support.background import Background, end, health_of
from support.command_line import CommandLine
from support.services import HEALTH, free_port, health_server

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux reveals the owner of a socket")


@pytest.fixture
def begin(background: Background) -> Callable[..., subprocess.Popen[str]]:
    """Begin ``serve --detach`` in the home of ``config``."""
    return partial(background.begin, "serve", "--detach")


def record_of(port: int) -> ServerRecord:
    return ServerRecord(pid=os.getpid(), host="127.0.0.1", port=port, version="0.1.0", detached=True)


def print_and_exit(text: str, code: int) -> list[str]:
    """The command line of a program that prints a text and exits."""
    return [sys.executable, "-c", f"print({text!r}, flush=True); raise SystemExit({code})"]


def test_detach_returns_when_the_background_server_is_ready(
    begin: Callable[..., subprocess.Popen[str]], config: Config
) -> None:
    code, out, err = end(begin("--json"))
    assert (code, err) == (0, "")
    printed, health = json.loads(out), health_of(config)
    assert printed == {
        "url": f"http://127.0.0.1:{config.server.port}",
        "pid": health["pid"],
        "version": health["version"],
        "started": True,
        "log": str(config.data_dir / LOG_FILE),
        "replaced": None,
    }
    assert os.getsid(health["pid"]) == health["pid"]
    if sys.platform == "linux":
        process = Path("/proc") / str(health["pid"])
        assert (process / "cwd").readlink() == Path("/")
        # The server keeps neither the terminal's streams nor the pipes of the process that started it.
        links = [str((process / "fd" / str(number)).readlink()) for number in range(3)]
        assert links == [os.devnull, printed["log"], printed["log"]]
    log = config.data_dir / LOG_FILE
    assert f"serves http://127.0.0.1:{config.server.port}/mcp" in log.read_text()
    assert stat.S_IMODE(log.stat().st_mode) == 0o600

    code, out, _ = end(begin())
    assert code == 0
    assert f"already answers at http://127.0.0.1:{config.server.port} (process {health['pid']})" in out
    assert health_of(config)["pid"] == health["pid"]


def test_two_concurrent_starts_start_one_server(begin: Callable[..., subprocess.Popen[str]], config: Config) -> None:
    answers = [end(process) for process in [begin("--json", "--no-worker") for _ in range(3)]]
    assert [code for code, *_ in answers] == [0, 0, 0], answers
    printed = [json.loads(out) for _, out, _ in answers]
    assert sorted(one["started"] for one in printed) == [False, False, True]
    assert {one["pid"] for one in printed} == {health_of(config)["pid"]}
    # The other processes did not start a server.
    [line] = (config.data_dir / LOG_FILE).read_text().splitlines()
    assert "serves http://" in line


def test_output_of_a_server_that_exits_is_shown(config: Config) -> None:
    with pytest.raises(OpencodeMemoryError, match="exited with 3 before it was ready") as died:
        start_detached(config, print_and_exit("\n".join(f"line {number}" for number in range(50)), 3))
    assert str(died.value).endswith("its last output:\n" + "\n".join(f"line {number}" for number in range(38, 50)))
    assert str(config.data_dir / LOG_FILE) in (died.value.hint or "")
    with pytest.raises(OpencodeMemoryError, match="it wrote no output"):
        start_detached(config, [sys.executable, "-c", "raise SystemExit(1)"])
    # Earlier output stays in the log, but is not part of the message.
    assert (config.data_dir / LOG_FILE).read_text().startswith("line 0\n")


def test_command_exits_with_2_if_the_server_exits(cli: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    answer = cli("serve", "--detach", "--port", str(free_port()), "--data-dir", str(tmp_path / "file" / "store"))
    assert (answer.code, answer.out) == (2, "")
    assert "cannot start a server" in answer.err


def test_server_that_never_gets_ready_is_killed(config: Config) -> None:
    command = [sys.executable, "-c", "import signal; print('I begin', flush=True); signal.pause()"]
    with pytest.raises(OpencodeMemoryError, match="was not ready in time"):
        start_detached(config, command, patience_seconds=0)


def test_server_of_another_process_that_bound_first_is_used(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    config.data_dir.mkdir(parents=True)
    with health_server({**HEALTH, "pid": 4711}) as port, hold_record(config.data_dir, record_of(port)):
        there = load(environment={**config.environment, "OPENCODE_MEMORY_PORT": str(port)})
        look, looks = detach._find_running, []

        def late(config: Config, **more: Any) -> Any:
            looks.append(more)
            return None if len(looks) <= 2 else look(config, **more)

        monkeypatch.setattr(detach, "_find_running", late)
        done = start_detached(there, print_and_exit("the port is taken", 2))
    assert (done.started, done.version) == (False, "0.1.0")
    assert len(looks) >= 3


@pytest.mark.parametrize("document", [{"status": "ok"}, {"status": "ok", "server": "opencode-memory"}])
def test_port_held_by_another_program_is_a_conflict(config: Config, document: dict[str, str]) -> None:
    with health_server(document) as port:
        there = load(environment={**config.environment, "OPENCODE_MEMORY_PORT": str(port)})
        with pytest.raises(ConflictError, match=f"Port {port} of 127.0.0.1 is held by") as taken:
            start_detached(there, print_and_exit("never", 0))
    assert "take another port" in (taken.value.hint or "")
    assert not config.data_dir.exists()


@on_linux
def test_server_of_another_user_is_a_conflict(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    with health_server(HEALTH) as port:
        there = load(environment={**config.environment, "OPENCODE_MEMORY_PORT": str(port)})
        monkeypatch.setattr(os, "geteuid", lambda: 4_000_000_000)
        with pytest.raises(ConflictError, match="of the user"):
            start_detached(there, print_and_exit("never", 0))


def test_own_server_that_does_not_answer_is_a_conflict(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    holder = detach.PortHolder(pid=1, command="x", is_ours=True, is_incumbent=False, version=None)
    monkeypatch.setattr(detach, "find_port_holder", lambda *_: holder)
    monkeypatch.setattr(detach, "_PATIENCE_SECONDS", 0)
    with pytest.raises(ConflictError, match="another opencode-memory"):
        start_detached(config, print_and_exit("never", 0))


@on_linux
def test_port_that_a_server_hands_over_is_looked_at_again(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    moving = detach.PortHolder(pid=None, command=None, is_ours=False, is_incumbent=False, version=None, uid=os.getuid())
    found = [moving, moving, None]
    monkeypatch.setattr(detach, "find_port_holder", lambda *_: found.pop(0))
    assert detach._find_running(config) is None
    monkeypatch.setattr(detach, "_MOVING_SECONDS", 0)
    monkeypatch.setattr(detach, "find_port_holder", lambda *_: moving)
    with pytest.raises(ConflictError, match="another program"):
        detach._find_running(config)


def test_server_of_another_store_on_the_port_is_a_conflict(
    cli: CommandLine, config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(detach, "_MOVING_SECONDS", 0)
    with health_server(HEALTH) as port, hold_record(tmp_path, record_of(port)):
        answer = cli("serve", "--detach", "--port", str(port), "--data-dir", str(config.data_dir))
    assert (answer.code, answer.out) == (2, "")
    assert f"which serves another store than {config.data_dir}" in answer.err
    assert "--port" in answer.err
    assert not config.data_dir.exists()


def test_server_that_ends_while_it_still_answers_is_no_conflict(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    ending = detach.PortHolder(
        pid=1, command="x", is_ours=True, is_incumbent=False, version="0.1.0", uid=os.getuid(), http_status=200
    )
    found = [ending, None]
    monkeypatch.setattr(detach, "find_port_holder", lambda *_: found.pop(0))
    assert detach._find_running(config) is None


def test_port_0_is_refused(config: Config) -> None:
    anywhere = load(environment={**config.environment, "OPENCODE_MEMORY_PORT": "0"})
    with pytest.raises(ConfigError, match=r"server\.port is 0"):
        start_detached(anywhere, print_and_exit("never", 0))


def test_large_log_is_rotated_once(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(detach, "_MOST_LOG_BYTES", 10)
    log = config.data_dir / LOG_FILE
    for word in ("first", "the second one", "third"):
        with pytest.raises(OpencodeMemoryError, match=word):
            start_detached(config, print_and_exit(word, 1))
    assert log.read_text() == "third\n"
    assert log.with_name(f"{LOG_FILE}.1").read_text() == "first\nthe second one\n"
    assert sorted(path.name for path in config.data_dir.glob(f"{LOG_FILE}*")) == [LOG_FILE, f"{LOG_FILE}.1"]
    assert {stat.S_IMODE(path.stat().st_mode) for path in config.data_dir.iterdir()} == {0o600}


def test_missing_program_is_named(config: Config, tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="gone/python: No such file"):
        start_detached(config, [str(tmp_path / "gone" / "python")])


def test_relative_configuration_file_is_made_absolute(
    config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    here = load(environment={**config.environment, "OPENCODE_MEMORY_CONFIG": "my.toml"})
    code = "import os; print(os.environ['OPENCODE_MEMORY_CONFIG'], os.getcwd()); raise SystemExit(1)"
    with pytest.raises(OpencodeMemoryError, match=f"{tmp_path}/my.toml /$"):
        start_detached(here, [sys.executable, "-c", code])


def test_detach_with_stdio_is_refused(cli: CommandLine) -> None:
    answer = cli("serve", "--detach", "--stdio")
    assert (answer.code, "--detach goes with HTTP" in answer.err) == (2, True)
