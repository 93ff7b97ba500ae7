"""``opencode-memory stop``: ends the server of this store, and no other process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from urllib.request import urlopen

import pytest

from opencode_memory.config.load import Config, load
from opencode_memory.errors import ConflictError, OpencodeMemoryError
from opencode_memory.hosts.opencode.token_file import create_token
from opencode_memory.server import stop
from opencode_memory.server.stop import RunningServer, end_server, find_running_server, refuse_managed
from opencode_memory.service.managed import Managed
from opencode_memory.service.server_record import RECORD_FILE, ServerRecord, find_server, hold_record
from support.background import Background, end, health_of
from support.bridge import Plugin, until
from support.services import HEALTH, free_port, health_server

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux reveals the owner of a socket")


def at_port(config: Config, port: int) -> Config:
    return load(environment={**config.environment, "OPENCODE_MEMORY_PORT": str(port)})


def test_stop_ends_server_and_says_which(background: Background, config: Config) -> None:
    started = background.start()
    code, out, err = background.run("stop")
    assert (code, err) == (0, "")
    version = started["version"]
    assert out == f"Stopped opencode-memory {version} at {started['url']} (process {started['pid']}).\n"
    assert health_of(config) is None
    assert (config.data_dir / RECORD_FILE).read_text().strip() == ""

    code, out, err = background.run("stop")
    assert (code, out, err) == (1, f"No server runs for {config.data_dir}.\n", "")


def test_json_of_stop_has_the_server_or_null(background: Background) -> None:
    started = background.start()
    code, out, _ = background.run("stop", "--json")
    about = {name: started[name] for name in ("pid", "url", "version")}
    assert (code, json.loads(out)) == (0, {"stopped": {**about, "plugins": 0}})
    code, out, _ = background.run("stop", "--json")
    assert (code, json.loads(out)) == (1, {"stopped": None})


def test_stop_finds_server_of_earlier_port(background: Background, config: Config) -> None:
    started = background.start()
    code, out, _ = background.run("stop", OPENCODE_MEMORY_PORT=str(free_port()))
    assert (code, f"at {started['url']} (process {started['pid']})" in out) == (0, True)
    assert health_of(config) is None


def test_second_server_ends_with_address_of_the_first(background: Background, config: Config) -> None:
    started = background.start()
    for port in (config.server.port, free_port()):
        code, out, err = end(background.begin("serve", "--no-worker", "--port", str(port)))
        assert (code, out) == (2, "")
        assert f"already serves {config.data_dir} at {started['url']} (process {started['pid']})" in err
        assert "opencode-memory stop" in err
    assert health_of(config)["pid"] == started["pid"]


def test_killed_server_leaves_no_claim(background: Background, config: Config) -> None:
    first = background.start()
    os.killpg(first["pid"], signal.SIGKILL)
    assert background.run("stop")[0] == 1
    second = background.start()
    assert (second["started"], second["pid"] != first["pid"]) == (True, True)


@pytest.mark.parametrize("document", [{"status": "ok"}, {"status": "ok", "server": "opencode-memory"}])
def test_other_program_is_not_stopped(config: Config, document: dict[str, str]) -> None:
    with health_server(document) as port, pytest.raises(ConflictError, match=f"Port {port} of 127.0.0.1 is held by"):
        find_running_server(at_port(config, port))


@on_linux
def test_server_of_other_user_is_not_stopped(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 4_000_000_000)
    with health_server(HEALTH) as port, pytest.raises(ConflictError, match="of the user"):
        find_running_server(at_port(config, port))


def test_server_of_other_store_is_not_stopped(background: Background, config: Config, tmp_path: Path) -> None:
    started = background.start()
    other = load(environment=config.environment, options={"data_dir": str(tmp_path / "other")})
    create_token(other.data_dir)
    with pytest.raises(ConflictError, match="it may serve another store"):
        find_running_server(other)
    assert health_of(config)["pid"] == started["pid"]


def test_server_that_starts_is_found_as_soon_as_it_writes_its_record(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    create_token(config.data_dir)
    with ExitStack() as records, health_server(HEALTH) as port:
        record = ServerRecord(pid=os.getpid(), host="127.0.0.1", port=port, version="0.1.0", detached=True)

        def refuse_token(*_: object) -> bool:
            records.enter_context(hold_record(config.data_dir, record))
            return False

        monkeypatch.setattr(stop, "accepts_token", refuse_token)
        server = find_running_server(at_port(config, port))
        assert server is not None
        assert server.port == port


def test_server_without_record_is_recognized_by_token(background: Background, config: Config) -> None:
    started = background.start()
    # A server of an older version writes no record.
    (config.data_dir / RECORD_FILE).unlink()
    server = find_running_server(config)
    assert server is not None
    assert (server.pid, server.detached) == (started["pid"], None)
    end_server(config, server)
    assert health_of(config) is None


def test_record_that_names_another_process_stops_no_process(config: Config) -> None:
    config.data_dir.mkdir(parents=True)
    with health_server(HEALTH) as port:
        # The parent of this process may be the first process of a container, whose id no record may name.
        record = ServerRecord(pid=os.getpid() + 1, host="127.0.0.1", port=port, version="0.1.0", detached=True)
        with hold_record(config.data_dir, record), pytest.raises(ConflictError, match="but process"):
            find_running_server(config)


def test_record_without_listener_stops_no_process(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stop, "_ENDING_SECONDS", 0)
    config.data_dir.mkdir(parents=True)
    record = ServerRecord(pid=os.getpid(), host="127.0.0.1", port=free_port(), version="0.1.0", detached=True)
    with hold_record(config.data_dir, record), pytest.raises(ConflictError, match="does not listen"):
        find_running_server(config)


def test_other_process_than_the_server_is_not_ended(background: Background, config: Config) -> None:
    started = background.start()
    record = find_server(config.data_dir)
    assert record is not None
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, text=True) as other:
        before = RunningServer(
            pid=other.pid, host=record.host, port=record.port, version=record.version, detached=record.detached
        )
        with pytest.raises(ConflictError, match="no longer the server"):
            end_server(config, before)
        other.communicate("\n")
    assert other.returncode == 0
    assert health_of(config)["pid"] == started["pid"]


def test_stop_says_that_an_open_opencode_starts_the_server_again(background: Background, tmp_path: Path) -> None:
    started = background.start()
    with Plugin(started["url"], tmp_path, headers=background.credentials):
        until(lambda: json.loads(urlopen(f"{started['url']}/stats").read())["plugins"] == 1)
        code, _, err = background.run("stop")
    assert (code, err) == (
        0,
        "An OpenCode is open, whose plugin starts the server again when it needs it.\n",
    )


@on_linux
def test_server_that_does_not_end_in_time_is_reported(background: Background, config: Config) -> None:
    started = background.start()
    server = find_running_server(config)
    assert server is not None
    with pytest.raises(OpencodeMemoryError, match="did not end within 0 s") as late:
        end_server(config, server, patience_seconds=0)
    assert f"kill -KILL {started['pid']}" in (late.value.hint or "")


@pytest.mark.parametrize("is_ours", [True, False])
def test_service_is_refused_with_command_that_stops_it(is_ours: bool) -> None:
    server = RunningServer(pid=7, host="127.0.0.1", port=9824, version="1", detached=False)
    service = Managed(name="memory.service", stop="systemctl --user stop memory.service", is_ours=is_ours)
    with pytest.raises(ConflictError, match=r"process 7\) is the service memory\.service") as refused:
        refuse_managed(server, service)
    hint = refused.value.hint or ""
    assert "`systemctl --user stop memory.service`" in hint
    assert ("service uninstall" in hint) is is_ours
    refuse_managed(server, None)
