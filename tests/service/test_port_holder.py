"""Detection of the predecessor and of the process that holds the port."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import ip_address
from pathlib import Path

import pytest

from opencode_memory.service import port_holder
from opencode_memory.service.listeners import find_listeners, find_process, read_command
from opencode_memory.service.port_holder import (
    Incumbent,
    PortHolder,
    explain_holder,
    explain_incumbent,
    find_incumbent,
    find_port_holder,
    hint_for_holder,
)
from support.services import HEALTH, free_port, health_server

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="other systems do not say whose a port is")


@contextmanager
def listen_silently(host: str = "127.0.0.1") -> Iterator[int]:
    """Listen on a port and never answer."""
    with socket.create_server((host, 0)) as server:
        yield server.getsockname()[1]


def build_holder(**known: object) -> PortHolder:
    nothing = {"pid": None, "command": None, "is_ours": False, "is_incumbent": False, "version": None}
    return PortHolder(**(nothing | known))


def write_proc(folder: Path, *rows: str, processes: dict[int, tuple[int, bytes]] | None = None) -> Path:
    (folder / "net").mkdir(parents=True)
    header = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
    (folder / "net" / "tcp").write_text(header + "".join(f"{format_row}\n" for format_row in rows))
    for pid, (inode, command) in (processes or {}).items():
        (folder / str(pid) / "fd").mkdir(parents=True)
        (folder / str(pid) / "fd" / "3").symlink_to(f"socket:[{inode}]")
        (folder / str(pid) / "cmdline").write_bytes(command)
    return folder


def format_row(port: int, *, address: str = "0100007F", state: str = "0A", uid: int = 0, inode: int = 77) -> str:
    return (
        f"   0: {address}:{port:04X} 00000000:0000 {state} 00000000:00000000 00:00000000 00000000 {uid:5} 0 {inode} 1"
    )


def test_no_predecessor_is_none(tmp_path: Path) -> None:
    assert find_incumbent({"HOME": str(tmp_path)}) is None


def test_predecessor_files_are_found_and_not_changed(tmp_path: Path) -> None:
    data, config = tmp_path / "data", tmp_path / "config"
    files = [
        data / "opencode-memory" / "memory.db",
        data / "opencode-memory" / "vectors" / "part.lance",
        config / "opencode-memory" / "config.toml",
        config / "systemd" / "user" / "opencode-memory.service",
        config / "systemd" / "user" / "opencode-memory-worker.service",
        tmp_path / "Library" / "LaunchAgents" / "com.opencode.memory.plist",
    ]
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("")
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    found = find_incumbent({"HOME": str(tmp_path), "XDG_DATA_HOME": str(data), "XDG_CONFIG_HOME": str(config)})
    assert found == Incumbent(
        database=files[0], vectors=files[1].parent, config=files[2], units=(files[3], files[4], files[5])
    )
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


def test_own_files_are_not_the_predecessor(tmp_path: Path) -> None:
    for file in (
        ".local/share/opencode-memory/store/memory.db",
        ".config/opencode-memory/memory.toml",
        ".config/systemd/user/opencode-memory-serve.service",
        "Library/LaunchAgents/dev.opencode-memory.serve.plist",
    ):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text("")
    assert find_incumbent({"HOME": str(tmp_path)}) is None


@pytest.mark.parametrize("written", ["~/elsewhere", "{tmp}/elsewhere"])
def test_configured_folder_of_predecessor_comes_first(tmp_path: Path, written: str) -> None:
    config = tmp_path / ".config" / "opencode-memory" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(f'[storage]\npath = "{written.format(tmp=tmp_path)}"\n')
    for folder in (tmp_path / "elsewhere", tmp_path / ".local" / "share" / "opencode-memory"):
        folder.mkdir(parents=True)
        (folder / "memory.db").write_text("")
    found = find_incumbent({"HOME": str(tmp_path)})
    assert found is not None
    assert found.database == tmp_path / "elsewhere" / "memory.db"


@pytest.mark.parametrize("broken", [b"[storage", b"\xff", b"storage = 3", b"[storage]\npath = 3"])
def test_unreadable_predecessor_configuration_is_ignored(tmp_path: Path, broken: bytes) -> None:
    config = tmp_path / ".config" / "opencode-memory" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_bytes(broken)
    found = find_incumbent({"HOME": str(tmp_path)})
    assert found == Incumbent(database=None, vectors=None, units=(), config=config)
    assert str(config) in explain_incumbent(found, port=9824)


def test_explanation_names_import_and_shared_port() -> None:
    found = Incumbent(
        database=Path("/d/memory.db"), vectors=None, units=(Path("/u/opencode-memory.service"),), config=None
    )
    text = explain_incumbent(found, port=9824)
    assert "/d/memory.db, /u/opencode-memory.service" in text
    assert "Its files are not changed" in text
    assert "opencode-memory import FILE" in text
    assert "opencode-memory config set server.port 9825" in text
    assert "config set" not in explain_incumbent(found, port=9911)


def test_free_port_has_no_holder() -> None:
    assert find_port_holder("127.0.0.1", free_port()) is None
    for name in ("no such host", "a" * 64, "..", "127.0.0.1\r\n"):
        assert find_port_holder(name, 9824) is None


def test_own_server_is_recognized() -> None:
    with health_server(HEALTH) as port:
        found = find_port_holder("127.0.0.1", port)
    assert found is not None
    assert (found.is_ours, found.is_incumbent, found.version, found.http_status) == (True, False, "0.1.0", 200)


def test_unhealthy_own_server_is_recognized() -> None:
    with health_server(HEALTH | {"status": "degraded"}, status=503) as port:
        found = find_port_holder("127.0.0.1", port)
    assert found is not None
    assert (found.is_ours, found.http_status) == (True, 503)


@pytest.mark.parametrize(
    ("document", "version"),
    [
        ({"status": "ok", "server": "opencode-memory"}, None),
        ({"status": "ok", "server": "opencode-memory", "version": "0.68.0", "deploy": {}}, "0.68.0"),
    ],
)
def test_health_without_pid_is_the_predecessor(document: dict[str, object], version: str | None) -> None:
    with health_server(document) as port:
        found = find_port_holder("localhost", port)
    assert found is not None
    assert (found.is_ours, found.is_incumbent, found.version) == (False, True, version)


@pytest.mark.parametrize(
    "document",
    [
        {"status": "ok"},
        [],
        b"<html>",
        b"[" * 60_000,
        b"",
        b"\xff",
        {"server": ["opencode-memory"], "version": "\x1b[31m"},
    ],
)
def test_other_http_server_is_another_program(document: object) -> None:
    with health_server(document) as port:
        found = find_port_holder("127.0.0.1", port)
    assert found is not None
    assert (found.is_ours, found.is_incumbent, found.version, found.http_status) == (False, False, None, 200)


def test_silent_server_holds_port() -> None:
    with listen_silently() as port:
        found = find_port_holder("127.0.0.1", port, timeout_seconds=0.05)
    assert found is not None
    assert (found.is_ours, found.is_incumbent, found.http_status) == (False, False, None)


@on_linux
def test_holder_has_process_and_command() -> None:
    with listen_silently() as port:
        for host in ("127.0.0.1", "localhost", "0.0.0.0"):
            found = find_port_holder(host, port, timeout_seconds=0.05)
            assert found is not None
            assert (found.pid, found.uid) == (os.getpid(), os.getuid())
            assert found.command
            assert "py" in found.command


@on_linux
@pytest.mark.skipif(not socket.has_ipv6, reason="no IPv6")
def test_ipv6_socket_holds_port_of_ipv4() -> None:
    try:
        server = socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True)
    except OSError:
        pytest.skip("no IPv6 here")
    with server:
        found = find_port_holder("127.0.0.1", server.getsockname()[1], timeout_seconds=0.05)
    assert found is not None
    assert found.pid == os.getpid()


@on_linux
@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["-m", "opencode_memory.http_server"], (False, True)),
        (["/venv/bin/opencode-memory-server"], (False, True)),
        (["-P", "-m", "opencode_memory.cli", "serve"], (True, False)),
        (["/venv/bin/opencode-memory", "recall"], (False, False)),
    ],
)
def test_hanging_server_is_recognized_by_command(
    tmp_path: Path, arguments: list[str], expected: tuple[bool, bool]
) -> None:
    with listen_silently() as port:
        command = b"\0".join(part.encode() for part in ["python3", *arguments]) + b"\0"
        proc = write_proc(tmp_path / "proc", format_row(port), processes={123: (77, command)})
        found = find_port_holder("127.0.0.1", port, timeout_seconds=0.05, proc=proc)
    assert found is not None
    assert (found.is_ours, found.is_incumbent) == expected
    assert (found.pid, found.command) == (123, " ".join(["python3", *arguments]))


def test_server_that_starts_or_ends_between_two_looks_is_no_other_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    look = port_holder._find_listener
    with listen_silently() as port:
        command = b"python3\0-m\0opencode_memory.cli\0serve\0"
        proc = write_proc(tmp_path / "proc", format_row(port), processes={123: (77, command)})
        answers = [None, look("127.0.0.1", port, proc=proc)]
        monkeypatch.setattr(port_holder, "_find_listener", lambda *_, **__: answers.pop(0))
        found = find_port_holder("127.0.0.1", port, timeout_seconds=0.05, proc=proc)
        assert found is not None
        assert (found.is_ours, found.pid) == (True, 123)
        answers = [look("127.0.0.1", port, proc=proc), None]
    assert find_port_holder("127.0.0.1", port, proc=proc) is None


def test_command_takes_precedence_over_health(tmp_path: Path) -> None:
    with health_server(HEALTH) as port:
        command = b"python3\0-m\0opencode_memory.http_server\0"
        proc = write_proc(tmp_path / "proc", format_row(port), processes={123: (77, command)})
        found = find_port_holder("127.0.0.1", port, proc=proc)
    assert found is not None
    assert (found.is_ours, found.is_incumbent, found.pid) == (False, True, 123)


def test_socket_of_another_user_has_no_process(tmp_path: Path) -> None:
    proc = write_proc(tmp_path / "proc", format_row(9824, uid=4_000_000_000), processes={123: (99, b"x\0")})
    found = find_port_holder("127.0.0.1", free_port(), proc=proc)
    assert found is None
    (listener,) = find_listeners(9824, proc=proc)
    assert (listener.uid, find_process(listener.inode, proc=proc)) == (4_000_000_000, None)


def test_only_listening_sockets_are_found(tmp_path: Path) -> None:
    proc = write_proc(
        tmp_path / "proc",
        format_row(80, state="01"),
        format_row(80, address="00000000"),
        format_row(80),
        format_row(81),
    )
    v6 = "00000000000000000000000001000000"
    mapped = "0000000000000000FFFF00000100007F"
    header = "  sl  local_address ...\n"
    (proc / "net" / "tcp6").write_text(f"{header}{format_row(80, address=v6)}\n{format_row(80, address=mapped)}\n")
    if sys.byteorder == "little":
        found = [str(listener.address) for listener in find_listeners(80, proc=proc)]
        assert found == ["0.0.0.0", "127.0.0.1", "::1", "127.0.0.1"]
    everywhere, loopback, *_ = find_listeners(80, proc=proc)
    assert everywhere.conflicts_with(ip_address("127.0.0.1"))
    assert loopback.conflicts_with(ip_address("0.0.0.0"))
    assert not loopback.conflicts_with(ip_address("127.0.0.2"))


def test_missing_proc_gives_no_listeners(tmp_path: Path) -> None:
    assert find_listeners(80, proc=tmp_path / "none") == []
    assert find_process(77, proc=tmp_path / "none") is None
    assert read_command(1, proc=tmp_path / "none") == ()


@on_linux
def test_ended_process_has_no_command() -> None:
    true = shutil.which("true")
    assert true is not None
    with subprocess.Popen([true]) as ended:
        pass
    assert read_command(ended.pid) == ()


@pytest.mark.parametrize(
    ("holder", "text", "hint"),
    [
        (
            build_holder(is_ours=True, version="0.1.0", pid=123),
            "Port 9824 of 127.0.0.1 is held by another opencode-memory 0.1.0 (process 123).",
            "use that server, end it with `opencode-memory stop`, or take another port: `opencode-memory config set server.port 9825`",
        ),
        (
            build_holder(is_incumbent=True, version="0.68.0", pid=123, command="python -m opencode_memory.http_server"),
            (
                "Port 9824 of 127.0.0.1 is held by opencode-semantic-memory 0.68.0, a predecessor of the same name "
                "(process 123). It is left unchanged."
            ),
            (
                "to import its memories, run its tool memory_export_memories and then "
                "`opencode-memory import FILE`; stop it, or take another port: "
                "`opencode-memory config set server.port 9825`"
            ),
        ),
        (
            build_holder(pid=123, command="nginx -g 'daemon off;'"),
            "Port 9824 of 127.0.0.1 is held by another program (process 123): nginx -g 'daemon off;'.",
            "stop it, or take another port: `opencode-memory config set server.port 9825`",
        ),
        (
            build_holder(uid=4_000_000_000),
            "Port 9824 of 127.0.0.1 is held by another program of the user 4000000000.",
            "stop it, or take another port: `opencode-memory config set server.port 9825`",
        ),
        (
            build_holder(),
            "Port 9824 of 127.0.0.1 is held by another program.",
            "stop it, or take another port: `opencode-memory config set server.port 9825`",
        ),
    ],
)
def test_holder_is_explained_with_hint(holder: PortHolder, text: str, hint: str) -> None:
    assert explain_holder(holder, "127.0.0.1", 9824) == text
    assert hint_for_holder(holder, 9824) == hint


def test_long_command_is_truncated_and_last_port_suggests_previous() -> None:
    text = explain_holder(build_holder(pid=1, command="x" * 5000), "127.0.0.1", 65_535)
    assert len(text) < 200
    assert hint_for_holder(build_holder(), 65_535).endswith("server.port 65534`")
