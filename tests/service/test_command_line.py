"""What ``opencode-memory service`` says and answers."""

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
from support.services import HEALTH, Commands, free_port, health_server

DOCUMENT = Path(__file__).parents[2] / "docs" / "service.md"
NO_BUS = CommandResult(1, "Failed to connect to bus: No medium found")
SHOW = "systemctl --user show"
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="needs systemd's platform")


def running(pid: int) -> dict[str, CommandResult]:
    said = f"LoadState=loaded\nUnitFileState=enabled\nActiveState=active\nSubState=running\nMainPID={pid}"
    return {SHOW: CommandResult(0, said)}


@pytest.fixture
def supervisor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Systemd:
    """Where units are, in a home in which nothing is; the port is free."""
    for name in os.environ:
        if name.startswith("OPENCODE_MEMORY_"):
            monkeypatch.delenv(name)
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("OPENCODE_MEMORY_PORT", str(free_port()))
    return Systemd(tmp_path / ".config" / "systemd" / "user")


@pytest.fixture
def ask(supervisor: Systemd, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str]]:
    """Run a body and return its code and all that it printed."""

    def run(body: Any, commands: Commands | None = None, *, dry_run: bool = False, as_json: bool = False) -> Any:
        request = ServiceRequest(supervisor=supervisor, run_command=commands or Commands(), dry_run=dry_run)
        code = body(Invocation(GlobalOptions(as_json=as_json)), request)
        said = capsys.readouterr()
        return code, json.loads(said.out) if as_json else said.out + said.err

    return run


def test_installing_says_what_was_written_run_and_where_it_answers(ask: Any, supervisor: Systemd) -> None:
    code, said = ask(install_service)
    assert code == 0
    assert said.splitlines() == [
        f"Wrote {supervisor.path}",
        "Ran systemctl --user daemon-reload",
        f"Ran systemctl --user enable --now {UNIT}",
        f"The server runs in the background, now and after every login: http://127.0.0.1:{os.environ['OPENCODE_MEMORY_PORT']}",
        "To check that it answers: opencode-memory service status",
    ]
    assert (
        f"-P -m opencode_memory.cli serve --port {os.environ['OPENCODE_MEMORY_PORT']}\n" in supervisor.path.read_text()
    )
    assert ask(install_service)[1].startswith(f"Unchanged: {supervisor.path}\n")


def test_a_dry_run_shows_the_whole_file_and_every_command_and_does_nothing(ask: Any, supervisor: Systemd) -> None:
    commands = Commands()
    code, said = ask(install_service, commands, dry_run=True)
    assert code == 0
    assert not supervisor.path.parent.exists()
    assert commands.ran == []
    ask(install_service)
    assert (
        f"Would write {supervisor.path}:\n\n{supervisor.path.read_text()}\nWould run systemctl --user daemon-reload\n"
        in said
    )
    assert said.endswith(f"Would run systemctl --user enable --now {UNIT}\n")
    code, said = ask(uninstall_service, commands, dry_run=True)
    assert (code, commands.ran) == (0, [])
    assert (
        f"Would remove {supervisor.path}:\n\n{supervisor.path.read_text()}\nWould run systemctl --user disable --now"
        in said
    )


def test_without_a_bus_the_commands_for_later_are_told(ask: Any, supervisor: Systemd) -> None:
    code, said = ask(install_service, Commands({"systemctl": NO_BUS}))
    assert code == 1
    assert supervisor.path.exists()
    assert "systemctl --user daemon-reload failed: Failed to connect to bus: No medium found\n" in said
    assert "was not started. Run these commands later, in a login session (not through su or sudo):\n" in said
    assert said.endswith(f"  systemctl --user daemon-reload\n  systemctl --user enable --now {UNIT}\n")


def test_everything_is_in_the_json_answer(ask: Any, supervisor: Systemd) -> None:
    code, said = ask(install_service, as_json=True)
    assert code == 0
    assert (said["path"], said["change"], said["dry_run"]) == (str(supervisor.path), "created", False)
    assert said["text"] == supervisor.path.read_text()
    assert said["commands"][0] == {"command": ["systemctl", "--user", "daemon-reload"], "code": 0, "said": ""}
    assert (said["left"], said["notes"]) == ([], [])
    code, said = ask(uninstall_service, as_json=True)
    assert (code, said["change"], said["left"]) == (0, "removed", [])
    code, said = ask(uninstall_service, as_json=True)
    assert (code, "change" in said) == (1, False)


def test_uninstalling_says_what_is_gone_and_whether_it_may_still_run(ask: Any, supervisor: Systemd) -> None:
    assert ask(uninstall_service) == (1, f"There is no service: {supervisor.path} does not exist.\n")
    ask(install_service)
    code, said = ask(uninstall_service)
    assert code == 0
    assert said.startswith(f"Removed {supervisor.path}\nRan systemctl --user disable --now {UNIT}\n")
    ask(install_service)
    code, said = ask(uninstall_service, Commands({"systemctl": NO_BUS}))
    assert code == 1
    assert "may still be running. Run these commands later" in said
    assert not supervisor.path.exists()


def test_the_predecessor_is_told_at_the_installation_and_stays(ask: Any, supervisor: Systemd, tmp_path: Path) -> None:
    database = tmp_path / ".local" / "share" / "opencode-memory" / "memory.db"
    unit = supervisor.folder / "opencode-memory.service"
    for file in (database, unit):
        file.parent.mkdir(parents=True)
        file.write_text("theirs")
    code, said = ask(install_service)
    assert code == 0
    assert f"{database}, {unit}" in said
    assert "Its files are not changed" in said
    assert "opencode-memory import FILE" in said
    ask(uninstall_service)
    assert (database.read_text(), unit.read_text()) == ("theirs", "theirs")


def test_whoever_holds_the_port_is_told_at_the_installation(ask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with health_server({"status": "ok", "server": "opencode-memory"}) as port:
        monkeypatch.setenv("OPENCODE_MEMORY_PORT", str(port))
        _, said = ask(install_service, dry_run=True)
        _, answer = ask(install_service, dry_run=True, as_json=True)
    assert f"Port {port} of 127.0.0.1 is held by opencode-semantic-memory" in said
    assert f"`opencode-memory config set server.port {port + 1}`" in said
    assert len(answer["notes"]) == 1


@on_linux
def test_the_service_that_holds_the_port_itself_is_no_news(ask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with health_server(HEALTH) as port:
        monkeypatch.setenv("OPENCODE_MEMORY_PORT", str(port))
        assert ask(install_service, Commands(running(os.getpid())), as_json=True)[1]["notes"] == []
        (note,) = ask(install_service, Commands(running(os.getpid() + 1)), as_json=True)[1]["notes"]
    assert "is held by another opencode-memory 0.1.0" in note


def test_a_key_of_this_shell_ends_the_installation_before_anything_is_written(
    ask: Any, supervisor: Systemd, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENCODE_MEMORY_API_KEY", "s3cret")
    for dry_run in (True, False):
        with pytest.raises(Exception, match=r"server\.api_key comes from OPENCODE_MEMORY_API_KEY"):
            ask(install_service, dry_run=dry_run)
    assert not supervisor.path.exists()
    assert ask(print_status)[0] == 1


def test_the_status_of_a_service_that_answers_is_0(
    ask: Any, supervisor: Systemd, monkeypatch: pytest.MonkeyPatch
) -> None:
    with health_server(HEALTH) as port:
        monkeypatch.setenv("OPENCODE_MEMORY_PORT", str(port))
        ask(install_service)
        # The unit knows its port; the shell in which the question is asked need not.
        monkeypatch.delenv("OPENCODE_MEMORY_PORT")
        code, said = ask(print_status, Commands(running(4711)))
        assert code == 0
        assert said.splitlines() == [
            f"file     {supervisor.path}",
            "service  active (running), enabled",
            f"server   opencode-memory 0.1.0 answers at http://127.0.0.1:{port}",
            f"logs     journalctl --user --unit {UNIT}",
        ]
        code, answer = ask(print_status, Commands(running(4711)), as_json=True)
        assert (code, answer["running"], answer["installed"], answer["answers"]) == (0, True, True, True)
        assert (answer["service"]["pid"], answer["url"]) == (4711, f"http://127.0.0.1:{port}")
        # systemd may be out of reach, as for cron; the server is not.
        assert ask(print_status, Commands({SHOW: NO_BUS}))[0] == 0
        inactive = Commands({SHOW: CommandResult(0, "LoadState=loaded\nActiveState=failed\nSubState=failed")})
        assert ask(print_status, inactive)[0] == 1


def test_a_server_that_is_not_well_says_where_it_tells_why(ask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with health_server(HEALTH, status=503) as port:
        monkeypatch.setenv("OPENCODE_MEMORY_PORT", str(port))
        ask(install_service)
        code, said = ask(print_status, Commands(running(4711)))
    assert code == 0
    assert f"answers at http://127.0.0.1:{port}, but reports a problem (see http://127.0.0.1:{port}/health)" in said


def test_the_status_without_a_service_is_1(ask: Any, supervisor: Systemd, monkeypatch: pytest.MonkeyPatch) -> None:
    code, said = ask(
        print_status, Commands({SHOW: CommandResult(0, "LoadState=not-found\nActiveState=inactive\nSubState=dead")})
    )
    assert code == 1
    assert "file     not installed; run `opencode-memory service install`\n" in said
    assert "server   no answer at http://127.0.0.1:" in said
    supervisor.folder.mkdir(parents=True)
    supervisor.path.write_text("[Service]\n")
    code, answer = ask(print_status, Commands({SHOW: NO_BUS}), as_json=True)
    assert (code, answer["installed"], answer["foreign"]) == (1, False, True)
    with health_server(HEALTH) as port:
        monkeypatch.setenv("OPENCODE_MEMORY_PORT", str(port))
        assert ask(print_status, Commands({SHOW: NO_BUS}))[0] == 1


def test_the_status_tells_who_is_in_the_way(ask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with health_server({"status": "ok"}) as port:
        monkeypatch.setenv("OPENCODE_MEMORY_PORT", str(port))
        ask(install_service)
        code, said = ask(print_status, Commands(running(4711)))
    assert code == 1
    assert f"server   Port {port} of 127.0.0.1 is held by another program" in said
    assert "hint: stop it, or take another port: " in said


@on_linux
def test_a_server_of_another_user_is_not_ours_to_count_on(ask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with health_server(HEALTH) as port:
        monkeypatch.setenv("OPENCODE_MEMORY_PORT", str(port))
        ask(install_service)
        monkeypatch.setattr(os, "getuid", lambda: 4_000_000_000)
        code, said = ask(print_status, Commands(running(4711)))
    assert code == 1
    assert "is held by another opencode-memory 0.1.0 of the user " in said


def test_the_log_file_is_where_the_logs_are(ask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENCODE_MEMORY_SERVER_LOG_FILE", "/var/log/my memory.log")
    ask(install_service)
    monkeypatch.delenv("OPENCODE_MEMORY_SERVER_LOG_FILE")
    assert "logs     tail -f '/var/log/my memory.log'\n" in ask(print_status)[1]


@pytest.mark.usefixtures("supervisor")
def test_launchd_has_the_log_in_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    request = ServiceRequest(supervisor=Launchd(home=tmp_path, uid=501), run_command=Commands())
    assert install_service(Invocation(GlobalOptions()), request) == 0
    assert print_status(Invocation(GlobalOptions()), request) == 1
    assert f"logs     tail -f {tmp_path}/Library/Logs/opencode-memory/serve.log\n" in capsys.readouterr().out


@pytest.fixture
def asked(supervisor: Systemd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """Put a systemctl in the way that only remembers; return what it was told to change."""
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
def test_every_command_of_the_documentation_works(
    asked: Callable[[], list[str]], supervisor: Systemd, capsys: pytest.CaptureFixture[str]
) -> None:
    blocks = re.findall(r"```sh\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    lines = [shlex.split(line, comments=True) for block in blocks for line in block.splitlines()]
    for program, *arguments in lines:
        if program == "opencode-memory":
            code = main(arguments)
            # Nothing is started here, so a status finds no server.
            assert code == (1 if arguments == ["service", "status"] else 0), (arguments, capsys.readouterr())
        else:
            assert program in {"systemctl", "journalctl", "loginctl", "launchctl", "tail"}
            assert program not in {"systemctl", "journalctl"} or UNIT.removesuffix(".service") in arguments
    assert any("restart" in line for line in lines)
    assert asked()
    assert not supervisor.path.exists()


@on_linux
def test_the_commands_as_they_are_typed(
    asked: Callable[[], list[str]], supervisor: Systemd, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["service", "install", "--dry-run", "--data-dir", "100% $mine"]) == 0
    assert asked() == []
    assert main(["service", "install", "--data-dir", "100% $mine"]) == 0
    assert '/100%% $$mine"' in supervisor.path.read_text()
    assert main(["service", "status", "--json"]) == 1
    assert main(["service", "uninstall"]) == 0
    assert not supervisor.path.exists()
    assert asked() == [
        "--user daemon-reload",
        f"--user enable --now {UNIT}",
        f"--user disable --now {UNIT}",
        "--user daemon-reload",
    ]
    supervisor.path.write_text("[Service]\n")
    assert main(["service", "uninstall"]) == 2
    assert "left unchanged" in capsys.readouterr().err
