"""``opencode-memory service``: its output and exit codes."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from opencode_memory.cli import main
from opencode_memory.cli.context import Invocation
from opencode_memory.cli.options import GlobalOptions
from opencode_memory.cli.service import ServiceRequest, install_service, print_status, uninstall_service
from opencode_memory.service.launchd import Launchd
from opencode_memory.service.manager import CommandResult
from opencode_memory.service.systemd import UNIT, Systemd
from support.services import HEALTH, NO_BUS, Commands, free_port, health_server

DOCUMENT = Path(__file__).parents[2] / "docs" / "service.md"
SHOW = "systemctl --user show"
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="needs systemd's platform")


def show_running(pid: int) -> dict[str, CommandResult]:
    output = f"LoadState=loaded\nUnitFileState=enabled\nActiveState=active\nSubState=running\nMainPID={pid}"
    return {SHOW: CommandResult(0, output)}


@pytest.fixture
def supervisor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Systemd:
    """The supervisor in an empty home folder, with a free port for the server."""
    for name in os.environ:
        if name.startswith("OPENCODE_MEMORY_"):
            monkeypatch.delenv(name)
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("OPENCODE_MEMORY_PORT", str(free_port()))
    return Systemd(tmp_path / ".config" / "systemd" / "user")


@pytest.fixture
def run_body(supervisor: Systemd, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str]]:
    """Function that runs the body of a command and returns its exit code and output."""

    def run(body: Any, commands: Commands | None = None, *, dry_run: bool = False, as_json: bool = False) -> Any:
        request = ServiceRequest(supervisor=supervisor, run_command=commands or Commands(), dry_run=dry_run)
        code = body(Invocation(GlobalOptions(as_json=as_json)), request)
        output = capsys.readouterr()
        return code, json.loads(output.out) if as_json else output.out + output.err

    return run


def test_install_prints_file_commands_and_url(run_body: Any, supervisor: Systemd) -> None:
    code, output = run_body(install_service)
    assert code == 0
    assert output.splitlines() == [
        f"Wrote {supervisor.path}",
        "Ran systemctl --user daemon-reload",
        f"Ran systemctl --user enable --now {UNIT}",
        f"The server runs in the background, now and after every login: http://127.0.0.1:{os.environ['OPENCODE_MEMORY_PORT']}",
        "To check that it answers: opencode-memory service status",
    ]
    assert (
        f"-P -m opencode_memory.cli serve --port {os.environ['OPENCODE_MEMORY_PORT']}\n" in supervisor.path.read_text()
    )
    assert run_body(install_service)[1].startswith(f"Unchanged: {supervisor.path}\n")


def test_dry_run_shows_file_and_commands_without_changes(run_body: Any, supervisor: Systemd) -> None:
    commands = Commands()
    code, output = run_body(install_service, commands, dry_run=True)
    assert code == 0
    assert not supervisor.path.parent.exists()
    assert commands.ran == []
    run_body(install_service)
    assert (
        f"Would write {supervisor.path}:\n\n{supervisor.path.read_text()}\nWould run systemctl --user daemon-reload\n"
        in output
    )
    assert output.endswith(f"Would run systemctl --user enable --now {UNIT}\n")
    code, output = run_body(uninstall_service, commands, dry_run=True)
    assert (code, commands.ran) == (0, [])
    assert (
        f"Would remove {supervisor.path}:\n\n{supervisor.path.read_text()}\nWould run systemctl --user disable --now"
        in output
    )


def test_install_without_bus_prints_commands_for_later(run_body: Any, supervisor: Systemd) -> None:
    code, output = run_body(install_service, Commands({"systemctl": NO_BUS}))
    assert code == 1
    assert supervisor.path.exists()
    assert "systemctl --user daemon-reload failed: Failed to connect to bus: No medium found\n" in output
    assert "was not started. Run these commands later, in a login session (not through su or sudo):\n" in output
    assert output.endswith(f"  systemctl --user daemon-reload\n  systemctl --user enable --now {UNIT}\n")


def test_json_contains_text_changes_and_commands(run_body: Any, supervisor: Systemd) -> None:
    code, output = run_body(install_service, as_json=True)
    assert code == 0
    assert (output["path"], output["change"], output["dry_run"]) == (str(supervisor.path), "created", False)
    assert output["text"] == supervisor.path.read_text()
    assert output["commands"][0] == {"command": ["systemctl", "--user", "daemon-reload"], "code": 0, "said": ""}
    assert (output["left"], output["notes"]) == ([], [])
    code, output = run_body(uninstall_service, as_json=True)
    assert (code, output["change"], output["left"]) == (0, "removed", [])
    code, output = run_body(uninstall_service, as_json=True)
    assert (code, "change" in output) == (1, False)


def test_uninstall_prints_changes_and_warns_if_server_may_run(run_body: Any, supervisor: Systemd) -> None:
    assert run_body(uninstall_service) == (1, f"There is no service: {supervisor.path} does not exist.\n")
    run_body(install_service)
    code, output = run_body(uninstall_service)
    assert code == 0
    assert output.startswith(f"Removed {supervisor.path}\nRan systemctl --user disable --now {UNIT}\n")
    run_body(install_service)
    code, output = run_body(uninstall_service, Commands({"systemctl": NO_BUS}))
    assert code == 1
    assert "may still be running. Run these commands later" in output
    assert not supervisor.path.exists()


def test_install_reports_predecessor_without_changing_it(run_body: Any, supervisor: Systemd, tmp_path: Path) -> None:
    database = tmp_path / ".local" / "share" / "opencode-memory" / "memory.db"
    unit = supervisor.folder / "opencode-memory.service"
    for file in (database, unit):
        file.parent.mkdir(parents=True)
        file.write_text("theirs")
    code, output = run_body(install_service)
    assert code == 0
    assert f"{database}, {unit}" in output
    assert "Its files are not changed" in output
    assert "opencode-memory import FILE" in output
    run_body(uninstall_service)
    assert (database.read_text(), unit.read_text()) == ("theirs", "theirs")


def test_install_reports_holder_of_port(run_body: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with health_server({"status": "ok", "server": "opencode-memory"}) as port:
        monkeypatch.setenv("OPENCODE_MEMORY_PORT", str(port))
        _, output = run_body(install_service, dry_run=True)
        _, answer = run_body(install_service, dry_run=True, as_json=True)
    assert f"Port {port} of 127.0.0.1 is held by opencode-semantic-memory" in output
    assert f"`opencode-memory config set server.port {port + 1}`" in output
    assert len(answer["notes"]) == 1


@on_linux
def test_install_does_not_report_its_own_service(run_body: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with health_server(HEALTH) as port:
        monkeypatch.setenv("OPENCODE_MEMORY_PORT", str(port))
        assert run_body(install_service, Commands(show_running(os.getpid())), as_json=True)[1]["notes"] == []
        (note,) = run_body(install_service, Commands(show_running(os.getpid() + 1)), as_json=True)[1]["notes"]
    assert "is held by another opencode-memory 0.1.0" in note


def test_api_key_of_shell_fails_install_without_changes(
    run_body: Any, supervisor: Systemd, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENCODE_MEMORY_API_KEY", "s3cret")
    for dry_run in (True, False):
        with pytest.raises(Exception, match=r"server\.api_key comes from OPENCODE_MEMORY_API_KEY"):
            run_body(install_service, dry_run=dry_run)
    assert not supervisor.path.exists()
    assert run_body(print_status)[0] == 1


def test_status_of_answering_service_exits_with_0(
    run_body: Any, supervisor: Systemd, monkeypatch: pytest.MonkeyPatch
) -> None:
    with health_server(HEALTH) as port:
        monkeypatch.setenv("OPENCODE_MEMORY_PORT", str(port))
        run_body(install_service)
        # The unit contains its port, so the shell that asks for the status need not set it.
        monkeypatch.delenv("OPENCODE_MEMORY_PORT")
        code, output = run_body(print_status, Commands(show_running(4711)))
        assert code == 0
        assert output.splitlines() == [
            f"file     {supervisor.path}",
            "service  active (running), enabled",
            f"server   opencode-memory 0.1.0 answers at http://127.0.0.1:{port}",
            f"logs     journalctl --user --unit {UNIT}",
        ]
        code, answer = run_body(print_status, Commands(show_running(4711)), as_json=True)
        assert (code, answer["running"], answer["installed"], answer["answers"]) == (0, True, True, True)
        assert (answer["service"]["pid"], answer["url"]) == (4711, f"http://127.0.0.1:{port}")
        # systemd may be unreachable, for example from cron, while the server still answers.
        assert run_body(print_status, Commands({SHOW: NO_BUS}))[0] == 0
        inactive = Commands({SHOW: CommandResult(0, "LoadState=loaded\nActiveState=failed\nSubState=failed")})
        assert run_body(print_status, inactive)[0] == 1


def test_status_of_unhealthy_server_names_health_url(run_body: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with health_server(HEALTH, status=503) as port:
        monkeypatch.setenv("OPENCODE_MEMORY_PORT", str(port))
        run_body(install_service)
        code, output = run_body(print_status, Commands(show_running(4711)))
    assert code == 0
    assert f"answers at http://127.0.0.1:{port}, but reports a problem (see http://127.0.0.1:{port}/health)" in output


def test_status_without_service_exits_with_1(
    run_body: Any, supervisor: Systemd, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, output = run_body(
        print_status, Commands({SHOW: CommandResult(0, "LoadState=not-found\nActiveState=inactive\nSubState=dead")})
    )
    assert code == 1
    assert "file     not installed; run `opencode-memory service install`\n" in output
    assert "server   no answer at http://127.0.0.1:" in output
    supervisor.folder.mkdir(parents=True)
    supervisor.path.write_text("[Service]\n")
    code, answer = run_body(print_status, Commands({SHOW: NO_BUS}), as_json=True)
    assert (code, answer["installed"], answer["foreign"]) == (1, False, True)
    with health_server(HEALTH) as port:
        monkeypatch.setenv("OPENCODE_MEMORY_PORT", str(port))
        assert run_body(print_status, Commands({SHOW: NO_BUS}))[0] == 1


def test_status_names_holder_of_port(run_body: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with health_server({"status": "ok"}) as port:
        monkeypatch.setenv("OPENCODE_MEMORY_PORT", str(port))
        run_body(install_service)
        code, output = run_body(print_status, Commands(show_running(4711)))
    assert code == 1
    assert f"server   Port {port} of 127.0.0.1 is held by another program" in output
    assert "hint: stop it, or take another port: " in output


@on_linux
def test_server_of_another_user_does_not_count(run_body: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with health_server(HEALTH) as port:
        monkeypatch.setenv("OPENCODE_MEMORY_PORT", str(port))
        run_body(install_service)
        monkeypatch.setattr(os, "geteuid", lambda: 4_000_000_000)
        code, output = run_body(print_status, Commands(show_running(4711)))
    assert code == 1
    assert "is held by another opencode-memory 0.1.0 of the user " in output


def test_status_names_log_file(run_body: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENCODE_MEMORY_SERVER_LOG_FILE", "/var/log/my memory.log")
    run_body(install_service)
    monkeypatch.delenv("OPENCODE_MEMORY_SERVER_LOG_FILE")
    assert "logs     tail -f '/var/log/my memory.log'\n" in run_body(print_status)[1]


@pytest.mark.usefixtures("supervisor")
def test_launchd_service_logs_to_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    request = ServiceRequest(supervisor=Launchd(home=tmp_path, uid=501), run_command=Commands())
    assert install_service(Invocation(GlobalOptions()), request) == 0
    assert print_status(Invocation(GlobalOptions()), request) == 1
    assert f"logs     tail -f {tmp_path}/Library/Logs/opencode-memory/serve.log\n" in capsys.readouterr().out


@pytest.fixture
def fake_systemctl(supervisor: Systemd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """Replace systemctl by a program that records its commands; return a function that reads the changes."""
    systemctl = tmp_path / "bin" / "systemctl"
    systemctl.parent.mkdir()
    systemctl.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/asked\n')
    systemctl.chmod(0o755)
    monkeypatch.setenv("PATH", f"{systemctl.parent}:{os.environ['PATH']}")

    def read() -> list[str]:
        lines = (tmp_path / "asked").read_text().splitlines() if (tmp_path / "asked").exists() else []
        return [line for line in lines if " show " not in line]

    return read


@on_linux
def test_documented_commands_work(
    fake_systemctl: Callable[[], list[str]], supervisor: Systemd, capsys: pytest.CaptureFixture[str]
) -> None:
    blocks = re.findall(r"```sh\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    lines = [shlex.split(line, comments=True) for block in blocks for line in block.splitlines()]
    for program, *arguments in lines:
        if program == "opencode-memory":
            code = main(arguments)
            # The test starts no server, so the status exits with 1, and so does `stop`.
            assert code == (1 if arguments in (["service", "status"], ["stop"]) else 0), (
                arguments,
                capsys.readouterr(),
            )
        else:
            assert program in {"systemctl", "journalctl", "loginctl", "launchctl", "tail"}
            assert program not in {"systemctl", "journalctl"} or UNIT.removesuffix(".service") in arguments
    assert any("restart" in line for line in lines)
    assert fake_systemctl()
    assert not supervisor.path.exists()


@on_linux
def test_service_commands_run_from_command_line(
    fake_systemctl: Callable[[], list[str]], supervisor: Systemd, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["service", "install", "--dry-run", "--data-dir", "100% $mine"]) == 0
    assert fake_systemctl() == []
    assert main(["service", "install", "--data-dir", "100% $mine"]) == 0
    assert '/100%% $$mine"' in supervisor.path.read_text()
    assert main(["service", "status", "--json"]) == 1
    assert main(["service", "uninstall"]) == 0
    assert not supervisor.path.exists()
    assert fake_systemctl() == [
        "--user daemon-reload",
        f"--user enable --now {UNIT}",
        f"--user disable --now {UNIT}",
        "--user daemon-reload",
    ]
    supervisor.path.write_text("[Service]\n")
    assert main(["service", "uninstall"]) == 2
    assert "left unchanged" in capsys.readouterr().err
